"""Dedup: lines in, the first spelling of each distinct resource out, and what merged the rest."""

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, Protocol

from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, Refused
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.batch.summary import Answer, Summary
from canonry.crawler.files.lines import Cut, Line
from canonry.crawler.refusal import Refusal
from canonry.storage import Candidate, Store
from canonry.storage.learned.equivalences import Equivalences
from canonry.storage.rows.urls import spellings

_BATCH = 50_000


class Entry(NamedTuple):
    """A line that is a URL."""

    spelling: str
    canonical: Canonical


class Repeat(NamedTuple):
    """What a line repeats: a spelling, and what makes them one where that is known."""

    spelling: str
    rules: str | None = None


class Seen(Protocol):
    """Where dedup looks up what it has seen."""

    def claim(self, entries: Sequence[Entry]) -> list[Repeat | None]:
        """Return for each entry what it repeats, None for the first of its resource."""
        ...


class SeenInMemory:
    """Remembers keys in memory: about 150 bytes for each distinct resource."""

    def __init__(self) -> None:
        """Begin with nothing seen."""
        # The spelling, where it is not the identity itself; most are.
        self._spelled: dict[bytes, str | None] = {}

    def claim(self, entries: Sequence[Entry]) -> list[Repeat | None]:
        """Return for each entry what it repeats, None for the first of its resource."""
        answers: list[Repeat | None] = []
        spelled = self._spelled
        for spelling, (_url, identity, key) in entries:
            if key in spelled:
                answers.append(Repeat(spelled[key] or identity))
            else:
                spelled[key] = None if spelling == identity else spelling
                answers.append(None)
        return answers


class SeenInStore:
    """Remembers in a store, beside all that it has seen before: new URLs join its queue.

    What it has learned applies: a URL that leads to a known one for good, or that a rule makes one
    with it, repeats that.
    """

    def __init__(self, store: Store, connection: Connection) -> None:
        """Work inside one transaction, which the caller commits when the output is safe.

        Args:
            store: with the judge of its rules, and what names the rules that merge.
            connection: of the transaction.
        """
        self._store = store
        self._connection = connection
        self._known = Equivalences(connection)

    def claim(self, entries: Sequence[Entry]) -> list[Repeat | None]:
        """Return for each entry what it repeats, None for the first of its resource."""
        candidates = [
            Candidate(
                url=canonical.url,
                spelling=spelling,
                key=canonical.key,
                host=host_of(canonical.url),
                depth=0,
                held=None if is_fetched(canonical.url) else Refusal.SCHEME.label,
                listed=True,
            )
            for spelling, canonical in entries
        ]
        given = self._store.admit_in(self._connection, candidates, time.time())
        led = self._known.of_many({answer.row for answer in given})
        ends = {row: led[row].row if row in led else row for row in {a.row for a in given}}
        new = {answer.row for answer in given if answer.new} & set(ends.values())
        known = spellings(self._connection, set(ends.values()) - new)
        found: list[Repeat | None] = []
        for (spelling, _), answer in zip(entries, given, strict=True):
            end = ends[answer.row]
            if end in new and end not in known:  # by whatever name it comes first
                known[end] = spelling
                found.append(None)
                continue
            steps = led[answer.row].steps if answer.row in led else ()
            ways = dict.fromkeys(f"alias-{s.kind}" for s in steps if s.kind != "rule")
            found.append(Repeat(known[end], " + ".join(ways) or None))
        return found


def dedup(
    lines: Iterable[Line | Cut],
    canonicalizer: Canonicalizer,
    seen: Seen,
    summary: Summary,
    taught: Canonicalizer | None = None,
) -> Iterator[Answer]:
    """Yield what became of each line that is not blank, in input order.

    Args:
        lines: as `canonry.crawler.files.blocks.lines_of` gives them.
        canonicalizer: makes the identities.
        seen: what was seen before, and takes what is new.
        summary: is kept up to date.
        taught: names what merges, where learned rules take part in that.
    """
    stream = iter(lines)
    while batch := list(islice(stream, _BATCH)):
        yield from _batch(batch, canonicalizer, seen, summary, taught or canonicalizer)


def _batch(
    batch: Sequence[Line | Cut],
    canonicalizer: Canonicalizer,
    seen: Seen,
    summary: Summary,
    taught: Canonicalizer,
) -> Iterator[Answer]:
    """Answer a batch of lines with one claim."""
    read: list[Line] = []
    for line in batch:
        if isinstance(line, Cut):
            summary.cut.append(str(line))
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
            repeat = next(claims)
            answer = Answer(line, None, "")
            if repeat is not None:
                rules = repeat.rules or merging_rules(taught, entry.spelling, repeat.spelling)
                answer = Answer(line, repeat.spelling, rules)
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
