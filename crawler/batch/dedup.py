"""Dedup: lines in, the first spelling of each distinct resource out, and what merged the rest."""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Protocol

from sqlalchemy import Connection

from canon import Canonical, Canonicalizer, Refused, redact
from canon.percent import to_text
from crawler.batch.lines import Cut, Line
from crawler.door import is_fetched, why
from crawler.refusal import Refusal
from crawler.scope import host_of
from storage import Candidate, Store
from storage.urls import spellings

_BATCH = 50_000


class Entry(NamedTuple):
    """A line that is a URL."""

    spelling: str
    canonical: Canonical


class Answer(NamedTuple):
    """What became of a line: ``same_as`` is None for the first of its resource."""

    line: Line
    same_as: str | None
    rules: str  # what merged it; "" when it was spelled alike
    refused: str | None = None  # why it is no URL; then the rest means nothing


class Seen(Protocol):
    """Where dedup looks up what it has seen."""

    def claim(self, entries: Sequence[Entry]) -> list[str | None]:
        """Return for each entry the spelling it repeats, None for the first of its resource."""
        ...


class SeenInMemory:
    """Remembers keys in memory: about 150 bytes for each distinct resource."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        # The spelling, where it is not the identity itself; most are.
        self._spelled: dict[bytes, str | None] = {}

    def claim(self, entries: Sequence[Entry]) -> list[str | None]:
        """Return for each entry the spelling it repeats, None for the first of its resource."""
        answers: list[str | None] = []
        spelled = self._spelled
        for spelling, (_url, identity, key) in entries:
            if key in spelled:
                answers.append(spelled[key] or identity)
            else:
                spelled[key] = None if spelling == identity else spelling
                answers.append(None)
        return answers


class SeenInStore:
    """Remembers in a store, beside all that it has seen before: new URLs join its queue."""

    def __init__(
        self, store: Store, connection: Connection, explain: Callable[[str, str], str]
    ) -> None:
        """Work inside one transaction, which the caller commits when the output is safe."""
        self._store = store
        self._connection = connection
        self._why = explain

    def claim(self, entries: Sequence[Entry]) -> list[str | None]:
        """Return for each entry the spelling it repeats, None for the first of its resource."""
        candidates = [
            Candidate(
                url=canonical.url,
                spelling=spelling,
                key=canonical.key,
                host=host_of(canonical.url),
                depth=0,
                held=None if is_fetched(canonical.url) else Refusal.SCHEME.label,
            )
            for spelling, canonical in entries
        ]
        given = self._store.admit_in(self._connection, candidates, time.time(), self._why)
        known = spellings(self._connection, {answer.row for answer in given if not answer.new})
        return [None if answer.new else known[answer.row] for answer in given]


@dataclass(slots=True)
class Summary:
    """What a dedup did, counted; samples are one for each kind."""

    lines: int = 0
    blank: int = 0
    distinct: int = 0
    exact: int = 0  # lines that repeat a spelling
    merged: dict[str, int] = field(default_factory=dict)
    merged_samples: dict[str, tuple[str, str]] = field(default_factory=dict)
    refused: dict[str, int] = field(default_factory=dict)
    refused_samples: dict[str, str] = field(default_factory=dict)
    cut: list[str] = field(default_factory=list)

    def add(self, answer: Answer) -> None:
        """Count one answer."""
        if answer.refused is not None:
            line = answer.line
            self.refuse(answer.refused, line.source, line.number, line.text)
        elif answer.same_as is None:
            self.distinct += 1
        elif not answer.rules:
            self.exact += 1
        else:
            text = answer.line.text.decode("utf-8", "replace")
            self.merge(answer.rules, text, answer.same_as)

    def refuse(self, reason: str, source: str, number: int, text: bytes) -> None:
        """Count a line that is no URL; the first of each reason is kept."""
        self.refused[reason] = self.refused.get(reason, 0) + 1
        if reason not in self.refused_samples:
            shown = redact(text[:200].decode("utf-8", "replace"))
            self.refused_samples[reason] = f"{source}:{number}: {shown}"

    def merge(self, rules: str, text: str, same_as: str) -> None:
        """Count a line that rules merged; the first of each is kept."""
        self.merged[rules] = self.merged.get(rules, 0) + 1
        if rules not in self.merged_samples:
            self.merged_samples[rules] = (redact(text), redact(same_as))


def dedup(
    lines: Iterable[Line | Cut], canonicalizer: Canonicalizer, seen: Seen, summary: Summary
) -> Iterator[Answer]:
    """Yield what became of each line that is not blank, in input order.

    Args:
        lines: as `crawler.batch.blocks.lines_of` gives them.
        canonicalizer: makes the identities.
        seen: what was seen before, and takes what is new.
        summary: is kept up to date.
    """
    stream = iter(lines)
    while batch := list(islice(stream, _BATCH)):
        yield from _batch(batch, canonicalizer, seen, summary)


def _batch(
    batch: Sequence[Line | Cut], canonicalizer: Canonicalizer, seen: Seen, summary: Summary
) -> Iterator[Answer]:
    """Answer a batch of lines with one claim."""
    read: list[Line] = []
    for line in batch:
        if isinstance(line, Cut):
            summary.cut.append(line.told())
            continue
        summary.lines += 1
        if line.refused is None and (line.text.isspace() or not line.text):
            summary.blank += 1
        else:
            read.append(line)
    found = iter(canonicalizer.many([line.text for line in read if line.refused is None]))
    entries = [_entry(line, found) for line in read]
    claims = iter(seen.claim([entry for entry in entries if isinstance(entry, Entry)]))
    for line, entry in zip(read, entries, strict=True):
        if isinstance(entry, Entry):
            same_as = next(claims)
            rules = "" if same_as is None else why(canonicalizer, entry.spelling, same_as)
            answer = Answer(line, same_as, rules)
        else:
            answer = Answer(line, None, "", entry)
        summary.add(answer)
        yield answer


def _entry(line: Line, found: Iterator[Canonical | Refused]) -> Entry | str:
    """Take what comes of a line; return why where it is no URL."""
    if line.refused is not None:
        return line.refused
    canonical = next(found)
    if isinstance(canonical, Refused):
        return canonical.reason.name.lower()
    return Entry(to_text(line.text), canonical)
