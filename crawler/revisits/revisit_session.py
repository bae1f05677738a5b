"""The recrawl of a crawl: what each visit shows is written, with when the page is due again.

All in the transaction that records the outcomes. If the process is killed, the queue has what is
left to be asked, and the rows of pages say what is known of them.
"""

import struct
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.revisits.change_rates import (
    PATIENCE,
    RATES,
    HostHistory,
    IntervalLimits,
    LastmodTrust,
    PageHistory,
    Shares,
    interval,
    is_moved,
    is_too_fast,
    shares_of,
)
from canonry.crawler.revisits.page_changes import HostPlaces, changed_places, folded, folded_bytes
from canonry.storage.http_status import OK
from canonry.storage.records import Outcome, RecordedOutcome
from canonry.storage.recrawls import revisit_rows
from canonry.storage.recrawls.revisit_rows import LIST, PAGE, SEED, Revisited, RevisitedHost
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.bulk import rows_of

_SECONDS = struct.Struct(f"<{len(RATES)}d")


@dataclass(slots=True)
class HostState:
    """A host: how its pages change, where by themselves, and what its dates are worth."""

    history: HostHistory
    trust: LastmodTrust
    places: HostPlaces
    has_new_dates: bool = False  # a sitemap or feed of it was read in this run

    @classmethod
    def of(cls, row: RevisitedHost | None) -> "HostState":
        """Return what a row says; None is a host of which nothing is known."""
        if row is None:
            return cls(HostHistory(), LastmodTrust(), HostPlaces())
        trust = LastmodTrust(row.moved_changed, row.moved_same, row.rested_changed, row.rested_same)
        return cls(HostHistory(_SECONDS.unpack(row.rates)), trust, HostPlaces(row.places))

    def as_row(self, host_id: int, limits: IntervalLimits) -> RevisitedHost:
        """Return the row that says this."""
        rates, places = _SECONDS.pack(*self.history.watched), self.places.encoded()
        first = self.first_interval(limits) if self.history.is_known(limits) else None
        return RevisitedHost(host_id, first, *self.trust, rates, places)

    def first_interval(self, limits: IntervalLimits) -> float:
        """Return the seconds until a page is visited again for the first time."""
        if not self.history.is_known(limits):
            return limits.first
        return interval(self.history.shares(limits), limits)


_MOST_CONTROLS = 20  # of a host, in a run
_DAY = 86_400.0
_PAGES = "SELECT url_id, digest, fetched_at FROM pages WHERE url_id"


class StoredPage(NamedTuple):
    """What the store has of a page before it is fetched again."""

    digest: bytes
    fetched_at: float


class RevisitNews(NamedTuple):
    """What a crawl has to do after visits were recorded."""

    controls: tuple[Probe, ...] = ()  # pages to ask once more at once
    queued: int = 0  # pages that are in the queue again, since they have a new date


class _Awaited(NamedTuple):
    """A visit whose changes may be none: a control will say."""

    row: Revisited  # before the visit
    places: bytes  # of the visit
    changed: Mapping[int, int]
    at: float


class RevisitSession:
    """Writes what visits show, for one crawl. Only the writer thread may call it."""

    def __init__(self, limits: IntervalLimits, began: float) -> None:
        """Start a run.

        Args:
            limits: of intervals.
            began: seconds since 1970; what was fetched since is not asked again for its date.
        """
        self._limits = limits
        self._began = began
        self._sent: Counter[int] = Counter()  # controls, by host
        self._awaited: dict[str, _Awaited] = {}  # by URL
        self._listed: set[int] = set()  # hosts of which a sitemap or feed was read

    def stored(self, connection: Connection, outcomes: Iterable[Outcome]) -> dict[int, StoredPage]:
        """Return by id the pages that outcomes are about to replace."""
        found = rows_of(connection, _PAGES, [outcome.url_id for outcome in outcomes])
        return {url_id: StoredPage(bytes(digest), at) for url_id, digest, at in found}

    def record(
        self,
        connection: Connection,
        recorded: Sequence[RecordedOutcome],
        stored: Mapping[int, StoredPage],
        now: float,
    ) -> RevisitNews:
        """Write what visits have shown.

        Args:
            connection: of the transaction that recorded the outcomes.
            recorded: outcomes; late ones and retries do not count.
            stored: the pages that they have replaced.
            now: seconds since 1970.
        """
        settled = {
            one.outcome.url_id: one.outcome
            for one in recorded
            if not one.late and one.outcome.retry_at is None
        }
        pages = {url_id: one for url_id, one in settled.items() if _is_page(one)}
        revisit_rows.postpone(connection, settled.keys() - pages.keys(), now + self._limits.first)
        host_ids = revisit_rows.host_ids_of(connection, pages)
        queued = sum(
            self._list(connection, host_ids[one.url_id], one, pages, now)
            for one in pages.values()
            if one.listed
        )
        rows = revisit_rows.read(connection, pages)
        self._listed.update(host_ids[row.url_id] for row in rows.values() if row.role == LIST)
        hosts = self._hosts(connection, host_ids.values())
        controls: list[Probe] = []
        for url_id, outcome in pages.items():
            row, host_id = rows.get(url_id), host_ids[url_id]
            host = hosts[host_id]
            if row is None:
                rows[url_id] = self._first(outcome, stored.get(url_id), host, now)
            elif row.role == LIST or outcome.listed:
                rows[url_id] = self._seen(outcome, row._replace(role=LIST), host, now)
            elif self._needs_control(outcome, row, host_id, host, now):
                controls.append(Probe(outcome.queued.url, is_control=True))
                rows[url_id] = self._seen(outcome, row, host, now)
            else:
                rows[url_id] = self._visited(outcome, row, host, now)
        revisit_rows.put(connection, rows.values())
        self._put_hosts(connection, hosts)
        return RevisitNews(tuple(controls), queued)

    def observe(self, connection: Connection, probe: Probe, found: Outcome) -> None:
        """Learn from a control which of a page's changes are none, and write its visit."""
        awaited = self._awaited.pop(probe.url, None)
        rows = {} if awaited is None else revisit_rows.read(connection, [awaited.row.url_id])
        if awaited is None or not rows:
            return
        [(url_id, row)] = rows.items()
        [host_id] = revisit_rows.host_ids_of(connection, [url_id]).values()
        hosts = self._hosts(connection, [host_id])
        host = hosts[host_id]
        host.places.note_control(
            awaited.changed, changed_places(awaited.places, _places_of(found) or awaited.places)
        )
        changed = bool(host.places.counting(awaited.changed))
        visited = self._counted(awaited.row, host, awaited.at, changed=changed)
        visited = visited._replace(places=row.places, listed=row.listed, role=row.role)
        revisit_rows.put(connection, [visited])
        self._put_hosts(connection, hosts)

    def _hosts(self, connection: Connection, host_ids: Iterable[int]) -> dict[int, HostState]:
        wanted = set(host_ids)
        rows = revisit_rows.read_hosts(connection, wanted)
        hosts = {host_id: HostState.of(rows.get(host_id)) for host_id in wanted}
        for host_id in self._listed & wanted:
            hosts[host_id].has_new_dates = True
        return hosts

    def _put_hosts(self, connection: Connection, hosts: Mapping[int, HostState]) -> None:
        rows = [host.as_row(host_id, self._limits) for host_id, host in sorted(hosts.items())]
        revisit_rows.put_hosts(connection, rows)

    def _first(
        self, outcome: Outcome, stored: StoredPage | None, host: HostState, now: float
    ) -> Revisited:
        """Return the row of a page that has none yet.

        If it was fetched before, equal bytes say that it has not changed. What else they say is not
        known: the text that it had is nowhere.
        """
        role = LIST if outcome.listed else PAGE if outcome.queued.depth else SEED
        wait = self._limits.least if role == LIST else host.first_interval(self._limits)
        row = Revisited(outcome.url_id, now + wait, now, role=role)
        digest = None if outcome.page is None else outcome.page.digest
        if stored is not None and (outcome.unchanged or digest == stored.digest):
            row = self._counted(row._replace(seen_at=stored.fetched_at), host, now, changed=False)
        return row._replace(places=_places_of(outcome))

    def _needs_control(
        self, outcome: Outcome, row: Revisited, host_id: int, host: HostState, now: float
    ) -> bool:
        """Return True if a page has to be asked again, to see what of it changes by itself."""
        places = _places_of(outcome)
        if places is None or row.places is None:
            return False
        if self._sent[host_id] >= _MOST_CONTROLS:
            return False
        changed = changed_places(row.places, places)
        if not any(map(host.places.is_unsure, host.places.counting(changed))):
            return False
        self._sent[host_id] += 1
        self._awaited[outcome.queued.url] = _Awaited(row, places, changed, now)
        return True

    def _seen(self, outcome: Outcome, row: Revisited, host: HostState, now: float) -> Revisited:
        """Return the row of a page after a visit that shows nothing, or not yet."""
        places = _places_of(outcome) or row.places
        return row._replace(due=now + self._wait(row, host), seen_at=now, places=places)

    def _visited(self, outcome: Outcome, row: Revisited, host: HostState, now: float) -> Revisited:
        """Return the row of a page after a visit."""
        places = _places_of(outcome) or row.places
        if row.places is None and not outcome.unchanged:
            return self._seen(outcome, row, host, now)
        changed = changed_places(row.places or b"", places or b"")
        host.places.note_changes(changed)
        is_other = bool(host.places.counting(changed))
        return self._counted(row, host, now, changed=is_other)._replace(places=places)

    def _counted(self, row: Revisited, host: HostState, now: float, *, changed: bool) -> Revisited:
        """Return a row with one more visit, which counts for its host, too."""
        seconds = max(now - row.seen_at, 0.0)
        history = _history(row).after(seconds, changed=changed)
        host.history = host.history.after(seconds, self._shares(history, host))
        if row.listed is not None and host.has_new_dates:
            moved = is_moved(row.listed, row.listed_then, row.seen_at)
            host.trust = host.trust.after(moved=moved, changed=changed)
        row = row._replace(seen_at=now, listed_then=row.listed, **history._asdict())
        return row._replace(due=now + self._wait(row, host))

    def _shares(self, history: PageHistory, host: HostState) -> Shares:
        """Return how likely each rate is for a page."""
        return shares_of(history, host.history.shares(self._limits))

    def _wait(self, row: Revisited, host: HostState) -> float:
        """Return the seconds until the next visit of a page."""
        if row.role == LIST:
            return self._limits.least
        shares = self._shares(_history(row), host)
        wait = interval(shares, self._limits, is_followed=row.role == SEED)
        tells = row.listed is not None and host.trust.is_believed
        if tells and not is_too_fast(shares, self._limits):
            wait = min(wait * PATIENCE, self._limits.most)
        return wait

    def _list(
        self,
        connection: Connection,
        host_id: int,
        outcome: Outcome,
        visited: Container[int],
        now: float,
    ) -> int:
        """Write the dates that a sitemap or feed gives for pages of its host.

        Pages with a new date are queued, if the host's dates were right before.

        Args:
            connection: of the transaction.
            host_id: the host.
            outcome: the sitemap or feed.
            visited: pages that were just visited.
            now: seconds since 1970.

        Returns:
            How many were queued.
        """
        dates = {key: at for key, at in outcome.listed if at <= now + _DAY}
        ids = url_ids_of_keys(connection, list(dates))
        rows = revisit_rows.read(connection, ids.values())
        own = revisit_rows.host_ids_of(connection, rows)
        listed = {
            url_id: dates[key]
            for key, url_id in ids.items()
            if url_id in rows and own[url_id] == host_id and url_id != outcome.url_id
        }
        revisit_rows.put_dates(connection, listed)
        self._listed.add(host_id)
        host = self._hosts(connection, [host_id])[host_id]
        if not host.trust.is_believed:
            return 0
        moved = [
            row._replace(listed=listed[url_id], due=now)
            for url_id, row in rows.items()
            if url_id in listed
            and url_id not in visited
            and row.seen_at < self._began
            and is_moved(listed[url_id], row.listed_then, row.seen_at)
            and (
                row.role == SEED or not is_too_fast(self._shares(_history(row), host), self._limits)
            )
        ]
        revisit_rows.put(connection, moved)
        return revisit_rows.bring_forward(connection, [row.url_id for row in moved])


def _is_page(outcome: Outcome) -> bool:
    """Return True if a visit found a page, or found that the stored one is current."""
    return outcome.unchanged or (outcome.page is not None and outcome.page.status == OK)


def _places_of(outcome: Outcome) -> bytes | None:
    """Return the places of a page; None if its answer had no body."""
    if outcome.page is None:
        return None
    return folded_bytes(outcome.page.digest) if outcome.blocks is None else folded(outcome.blocks)


def _history(row: Revisited) -> PageHistory:
    return PageHistory(row.visits, row.changes, row.changed_for, row.same_for)
