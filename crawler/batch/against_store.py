"""Dedup against a store: URLs that a crawl or an earlier dedup has seen count as repeats, too."""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, Refused
from canonry.canon.pipeline import merging_rules
from canonry.canon.syntax import to_text
from canonry.crawler import opening
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.batch.dedup_job import Job
from canonry.crawler.batch.results import Fate, Results, as_read
from canonry.crawler.batch.summary import Summary
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.crawler.learn.rules.rule_store import active_in
from canonry.storage import Candidate, Store
from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.rows.urls import raw_urls

_TOLD = 50_000  # lines of which it is remembered what they repeat


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

    def claim(self, entries: Sequence[tuple[str, Canonical]]) -> list[tuple[str, str] | None]:
        """Claim URLs.

        Args:
            entries: raw URLs with their canonical forms.

        Returns:
            For each, None if it is the first of its resource; else the raw URL that it repeats, and
            the rules that merged the two, "" for the same raw URL.
        """
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
        repeats: list[tuple[str, str] | None] = []
        for (raw_url, _), claim in zip(entries, claims, strict=True):
            end = ends[claim.url_id]
            if end in new and end not in first_raw_urls:
                first_raw_urls[end] = raw_url  # the first of all that lead there
                repeats.append(None)
                continue
            steps = led[claim.url_id].steps if claim.url_id in led else ()
            ways = dict.fromkeys(f"alias-{s.kind}" for s in steps if s.kind != "rule")
            rules = " + ".join(ways) or self._store.merging_rules(raw_url, first_raw_urls[end])
            repeats.append((first_raw_urls[end], rules))
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


def dedup(job: Job, claims: Claims, results: Results) -> Summary:
    """Do a job against a store, and write the results block by block."""
    summary = Summary()
    told: dict[bytes, tuple[str, str]] = {}  # what lines repeat
    for block in job.blocks(summary):
        mask, rows = np.zeros(block.size, np.bool_), list[Fate]()
        lines = block.lines()
        found = list(job.canonicalizer.many(lines))
        refused = {
            n: one.reason.name.lower() for n, one in enumerate(found) if isinstance(one, Refused)
        }
        refused |= block.refused
        entries = [
            (to_text(line), one)
            for n, (line, one) in enumerate(zip(lines, found, strict=True))
            if n not in refused and not isinstance(one, Refused)
        ]
        repeats = iter(claims.claim(entries))
        for n, line in enumerate(lines):
            same_as = ""
            if n not in refused:
                # A later line may represent its resource: what was told of a text stays so.
                repeat = told.get(line, next(repeats))
                mask[n] = repeat is None
                if len(told) >= _TOLD:
                    told.clear()
                told[line] = (as_read(line), "") if repeat is None else repeat
                same_as, rules = (as_read(line), "first") if repeat is None else repeat
                if repeat is None:
                    summary.distinct += 1
                elif not rules:
                    summary.exact += 1
                    rules = "repeated"
                else:
                    summary.merge(rules, line.decode("utf-8", "replace"), same_as)
            elif n not in block.refused and (not line or line.isspace()):
                summary.blank += 1
                continue
            else:
                summary.refuse(refused[n], block.source, block.first + n, line)
                rules = f"refused: {refused[n]}"
            rows.append((as_read(line), same_as, rules, block.source, block.first + n))
        summary.lines += block.size
        results.keep(block, mask)
        results.map(rows)
    results.close()
    return summary
