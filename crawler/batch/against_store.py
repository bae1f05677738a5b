"""Dedup against a store: URLs that a crawl or an earlier dedup has seen count as repeats, too."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import groupby, islice
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, Refused
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler import opening
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.batch.dedup_job import Plan
from canonry.crawler.batch.results import DistinctLines, Results, map_row
from canonry.crawler.batch.summary import Answer, Summary
from canonry.crawler.files import blocks
from canonry.crawler.files.line_streams import Cut, Line
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.crawler.learn.rules.rule_store import active_in
from canonry.storage import Candidate, Store
from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.rows.urls import raw_urls

_BATCH = 50_000  # lines that are claimed at once
_SOME = 10_000  # answers that are written at once


class Entry(NamedTuple):
    """A line that is a URL."""

    raw_url: str
    canonical: Canonical


class Repeat(NamedTuple):
    """The raw URL that a line repeats."""

    raw_url: str
    rules: str  # that merged the two; "" for the same raw URL


class Claims:
    """Claims URLs in a store, where the new ones join the queue.

    What the store has learned applies: a URL that permanently redirects to a known one repeats it,
    and so does one that an active rule merges with it.
    """

    def __init__(self, store: Store, connection: Connection) -> None:
        """Work in one transaction, which the caller commits when the output is safe.

        Args:
            store: with its learned rules, and the function that names the rules that merge.
            connection: of the transaction.
        """
        self._store = store
        self._connection = connection
        self._known = Equivalences(connection)

    def claim(self, entries: Sequence[Entry]) -> list[Repeat | None]:
        """Return for each entry what it repeats, or None if it is the first of its resource."""
        candidates = [
            Candidate(
                url=canonical.url,
                raw_url=raw_url,
                key=canonical.key,
                host=host_of(canonical.url),
                depth=0,
                held=None if is_fetched(canonical.url) else HoldReason.SCHEME.label,
                listed=True,
            )
            for raw_url, canonical in entries
        ]
        claims = self._store.admit_in(self._connection, candidates, time.time())
        led = self._known.of_many({claim.url_id for claim in claims})
        ends = {
            url_id: led[url_id].url_id if url_id in led else url_id
            for url_id in {c.url_id for c in claims}
        }
        new = {claim.url_id for claim in claims if claim.new} & set(ends.values())
        first_raw_urls = raw_urls(self._connection, set(ends.values()) - new)
        repeats: list[Repeat | None] = []
        for (raw_url, _), claim in zip(entries, claims, strict=True):
            end = ends[claim.url_id]
            if end in new and end not in first_raw_urls:
                first_raw_urls[end] = raw_url  # the first of all that lead there
                repeats.append(None)
                continue
            steps = led[claim.url_id].steps if claim.url_id in led else ()
            ways = dict.fromkeys(f"alias-{s.kind}" for s in steps if s.kind != "rule")
            rules = " + ".join(ways) or self._store.merging_rules(raw_url, first_raw_urls[end])
            repeats.append(Repeat(first_raw_urls[end], rules))
        return repeats


@contextmanager
def claims_in(
    url: str, canonicalizer: Canonicalizer, notify: Callable[[str], None]
) -> Iterator[Claims]:
    """Open a store for one transaction, which is committed when the block succeeds.

    Args:
        url: of the store.
        canonicalizer: with the policy under which the store is used.
        notify: called with sentences for people.
    """
    store = opening.open_store(url, canonicalizer.policy, notify)
    try:
        store.rules = StoredRules(canonicalizer)
        with store.transaction() as connection:
            rules = active_in(connection, canonicalizer.policy)
            taught = Canonicalizer(canonicalizer.policy, rules)
            store.merging_rules = partial(merging_rules, taught)
            yield Claims(store, connection)
    finally:
        store.close()


def dedup(plan: Plan, claims: Claims, results: Results) -> Summary:
    """Run a plan against a store, and write the results batch by batch."""
    summary = Summary()
    answers = _answers(plan, claims, summary)
    while some := list(islice(answers, _SOME)):
        first = [a.line for a in some if a.same_as is None and a.refused is None]
        if isinstance(results.distinct, DistinctLines):
            for source, lines in groupby(first, key=lambda line: line.source):
                here = list(lines)
                results.distinct.write(source, [n.number for n in here], [n.text for n in here])
        results.map(map(map_row, some))
    results.close()
    return summary


def _answers(plan: Plan, claims: Claims, summary: Summary) -> Iterator[Answer]:
    """Yield an answer for each line that is not blank, in input order, and count it."""
    found = blocks.read(plan.files, plan.advance, plan.input_format)
    stream = blocks.lines_of(found)
    while batch := list(islice(stream, _BATCH)):
        summary.cut += [str(one) for one in batch if isinstance(one, Cut)]
        lines = [one for one in batch if isinstance(one, Line)]
        summary.lines += len(lines)
        for answer in _claimed([line for line in lines if not _is_blank(line)], plan, claims):
            summary.add(answer)
            yield answer
        summary.blank += sum(map(_is_blank, lines))


def _is_blank(line: Line) -> bool:
    return line.refused is None and (not line.text or line.text.isspace())


def _claimed(lines: Sequence[Line], plan: Plan, claims: Claims) -> Iterator[Answer]:
    """Claim a batch of lines, and yield their answers."""
    urls = [line.text for line in lines if line.refused is None]
    canonicals = plan.canonicalizer.many(urls)
    entries = [_entry(line, canonicals) for line in lines]
    repeats = iter(claims.claim([entry for entry in entries if isinstance(entry, Entry)]))
    for line, entry in zip(lines, entries, strict=True):
        if not isinstance(entry, Entry):
            yield Answer(line, None, "", entry)
        elif (repeat := next(repeats)) is None:
            yield Answer(line, None, "")
        else:
            yield Answer(line, repeat.raw_url, repeat.rules)


def _entry(line: Line, canonicals: Iterator[Canonical | Refused]) -> Entry | str:
    """Return the entry of a line, or the reason why it is not a URL."""
    if line.refused is not None:
        return line.refused
    canonical = next(canonicals)
    if isinstance(canonical, Refused):
        return canonical.reason.name.lower()
    return Entry(to_text(line.text), canonical)
