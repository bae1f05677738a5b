"""The store session: one worker's calls to the store, each on the writer thread."""

from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from functools import partial, wraps
from types import MappingProxyType
from typing import Any, Concatenate, NamedTuple, ParamSpec, TypeVar

from sqlalchemy import Connection

from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.learn.session import Learned, LearningSession, surviving_learning
from canonry.crawler.revisits.revisit_session import RevisitNews, RevisitSession
from canonry.crawler.run.job.lease_owners import LEASE_SECONDS, has_ended
from canonry.storage import Admission, Candidate, LeasedHost, Outcome, Queued, Store, facts
from canonry.storage.records import CachedRobots, RecordedOutcome, redirect_targets
from canonry.storage.recrawls import absences
from canonry.storage.rows import (
    address_rows,
    budgets,
    host_rows,
    leases,
    little_new,
    waiting,
)
from canonry.storage.rows.little_new import LittleNew
from canonry.storage.rows.requeueing import Requeue
from canonry.storage.rows.waiting import HeldHosts, WaitingHost
from canonry.storage.sql.engine import Writer
from canonry.storage.steering import blocked_hosts, short_steps

_P = ParamSpec("_P")
_R = TypeVar("_R")
PER_HOST = 256  # URLs of one host that wait in memory at most


class Pace(NamedTuple):
    """When hosts may get the next request, and the seconds that they want between requests."""

    ready: dict[str, float]
    delays: dict[str, float | None]


class Leased(NamedTuple):
    """What the store answers to a worker that wants hosts."""

    hosts: list[LeasedHost]  # that are ours
    lost: set[str]  # that were ours: the leases had expired, and other workers took them


class FromOthers(NamedTuple):
    """What people have changed in the queue, and which workers want hosts."""

    withdrawn: set[int] | None  # ids of loaded URLs; None: nothing was changed
    wanting: list[str]  # workers that have no hosts


class Recorded(NamedTuple):
    """What the store answers to recorded outcomes."""

    # One list for each outcome, as `Store.record` returns them; or for each link recorded alone.
    admissions: list[list[Admission]]
    promoted: dict[str, list[Queued]]  # by host: to be requested before ordinary URLs
    merged_by: dict[str, str]  # of links, as `Store.merged_by` returns it
    learned: Learned = Learned()
    again: int = 0  # known URLs that are queued again


def _on_writer(
    method: Callable[Concatenate["StoreSession", _P], _R],
) -> Callable[Concatenate["StoreSession", _P], Coroutine[Any, Any, _R]]:
    """Let a method run on the writer thread, and its callers await it."""

    @wraps(method)
    async def call(session: "StoreSession", /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        return await session.writer.call(partial(method, session, *args, **kwargs))

    return call


class StoreSession:
    """One worker's session with the store."""

    def __init__(
        self,
        store: Store,
        writer: Writer,
        *,
        worker: str,
        delay: float,
        level_by_level: bool,
        notify: Callable[[str], None],
        learning: LearningSession | None = None,
        revisits: RevisitSession | None = None,
        rest: Requeue | None = None,
    ) -> None:
        """Bind the store and its thread.

        Args:
            store: only the writer thread uses it.
            writer: that thread.
            worker: the name under which hosts are leased.
            delay: seconds between two requests to a host.
            level_by_level: lease only URLs of the lowest queued depth, so that depths are exact.
            notify: receives sentences for people.
            learning: learns from outcomes; None learns nothing.
            revisits: of a recrawl that learns how often pages change; None for other crawls.
            rest: queues what waits until all else is done; None: nothing does.
        """
        self._store = store
        self.writer = writer
        self._worker = worker
        self._delay = delay
        self._level_by_level = level_by_level
        self._notify = notify
        self._learning = learning
        self._revisits = revisits
        self._rest = rest
        self._generation = -1  # the store's number of the latest change that people made
        self._told_of_overflow = False
        self._wants_hosts = False  # True: other workers were asked for some
        self._has_absences: bool | None = None  # None: not known
        self.queued = 0  # queued URLs in the store, as of the last call
        self.fetched = 0  # pages in the store that live; both include those of other workers
        self.learning_seconds = 0.0  # of CPU time
        self.learning_failed = 0  # 1 once it was switched off

    @_on_writer
    def lease(
        self,
        now: float,
        limit: int,
        loaded: dict[str, frozenset[int]],
        pace: Pace,
        *,
        waiting: Mapping[str, int] = MappingProxyType({}),
        deferred: Mapping[str, int] = MappingProxyType({}),
        overflow: bool = True,
    ) -> Leased:
        """Write the pace of our hosts, extend their leases and lease further hosts."""
        with self._store.leasing() as connection:
            leases.pace(connection, *pace, self._worker)
            self._count(connection)
            lost = leases.renew(connection, self._worker, list(loaded), now + LEASE_SECONDS)
            hosts = leases.lease(
                connection,
                self._worker,
                now=now,
                seconds=LEASE_SECONDS,
                limit=limit,
                per_host=PER_HOST,
                loaded=loaded,
                room={name: max(PER_HOST - number, 0) for name, number in waiting.items()},
                deferred=deferred,
                level_by_level=self._level_by_level,
                overflow=overflow,
            )
        names = {host.name for host in hosts}
        granted = names if self._wants_hosts else set()
        self._wants_hosts = self._wants_hosts and not hosts
        self._forget(lost | granted | {host.name for host in hosts if host.taken_over})
        return Leased(hosts, lost - names)

    @_on_writer
    def renew(self, now: float, names: list[str], pace: Pace) -> set[str]:
        """Write the pace of our hosts and extend their leases; return those that we have lost."""
        with self._store.leasing() as connection:
            leases.pace(connection, *pace, self._worker)
            lost = leases.renew(connection, self._worker, names, now + LEASE_SECONDS)
        self._forget(lost)
        return lost

    @_on_writer
    def follow(self, url_ids: Collection[int], now: float) -> FromOthers:
        """Return which loaded URLs people have held, and which workers want hosts.

        Some of what is still queued on blocked hosts is held, too.

        Args:
            url_ids: of the URLs that are loaded.
            now: seconds since 1970.
        """
        with self._store.leasing() as connection:
            generation = facts.generation(connection, facts.QUEUE)
            is_unfinished = bool(blocked_hosts.unfinished(connection))
            changed = generation != self._generation or is_unfinished
            gone = short_steps.withdrawn(connection, url_ids) if changed else None
            wanting = host_rows.wanting(connection, self._worker, now)
        self._generation = generation
        if is_unfinished:
            with self._store.transaction() as connection:
                blocked_hosts.finish(connection)
                self._count(connection)
        return FromOthers(gone, wanting)

    @_on_writer
    def hand_over(
        self, now: float, to: str, names: list[str], pace: Pace, addresses: Collection[str] = ()
    ) -> set[str]:
        """Give hosts to another worker, with their pace; return those that are no longer ours.

        No request to them may be under way.

        Args:
            now: seconds since 1970.
            to: the other worker.
            names: of the hosts.
            pace: of these.
            addresses: that go with them.
        """
        with self._store.leasing() as connection:
            until = now + LEASE_SECONDS
            gone = host_rows.grant(connection, self._worker, to, names, *pace, until)
            address_rows.give(connection, sorted(addresses), self._worker, to)
        self._forget(gone)
        return gone

    @_on_writer
    def claim_addresses(self, addresses: list[str], now: float) -> dict[str, str]:
        """Claim addresses; return those that belong to other workers, with these."""
        with self._store.leasing() as connection:
            owners = address_rows.claim(connection, self._worker, addresses, now)
        return {one: owner for one, owner in owners.items() if owner != self._worker}

    @_on_writer
    def next_due(self, clock: Callable[[], float]) -> float | None:
        """Return when the next queued URL may be tried; None when none is left.

        If a URL is due and other workers hold hosts, those of dead workers are reclaimed, and live
        ones are asked for some of theirs.

        Args:
            clock: seconds since 1970. It is read again once workers are known to be dead: they
                sent nothing after that, so their hosts pause from then.
        """
        now = clock()
        with self._store.leasing() as connection:
            due = leases.next_due(connection)
            is_due = due is not None and due <= now
            owners = leases.HOSTS.holders(connection) if is_due else set()
            if owners - {self._worker}:
                host_rows.want(connection, self._worker, now)
                self._wants_hosts = True
        if ended := [owner for owner in owners if has_ended(owner)]:
            with self._store.transaction() as connection:
                leases.reclaim(connection, ended, clock(), self._delay)
                address_rows.release(connection, ended)
        return due

    @_on_writer
    def waits_for(self, now: float, pace: Pace) -> WaitingHost | None:
        """Write the pace of our hosts; return the one for which an idle crawl waits."""
        with self._store.leasing() as connection:
            leases.pace(connection, *pace, self._worker)
            return waiting.waits_for(connection, now)

    @_on_writer
    def held_by_others(self, now: float) -> HeldHosts | None:
        """Return the hosts that others hold; None if one with queued URLs is ours or free."""
        with self._store.leasing() as connection:
            return waiting.held_by_others(connection, self._worker, now)

    @_on_writer
    def get_robots(self, origin: str) -> CachedRobots | None:
        """Return the stored robots.txt of an origin; None when there is none."""
        with self._store.transaction() as connection:
            return host_rows.cached_robots(connection, origin)

    @_on_writer
    def put_robots(self, origin: str, kept: CachedRobots) -> None:
        """Store the robots.txt of an origin."""
        with self._store.transaction() as connection:
            host_rows.cache_robots(connection, origin, kept)

    @_on_writer
    def leave(self, pace: Pace) -> None:
        """Write the pace of our hosts and release them."""
        with self._store.transaction() as connection:
            leases.pace(connection, *pace, self._worker)
            leases.HOSTS.give_back(connection, [self._worker])
            host_rows.withdraw(connection, self._worker)
            address_rows.release(connection, [self._worker])
            self._count(connection)

    async def observe_probe(self, probe: Probe, found: Outcome | None) -> None:
        """Learn from a host's answer to a probe; None: it was no page."""
        if probe.is_control:
            if found is not None:
                await self.writer.call(self._observe_control, probe, found)
        elif self._learning is not None:
            await self.writer.call(self._learning.observe_probe, probe, found)

    def _observe_control(self, probe: Probe, found: Outcome) -> None:
        """Learn from a page that was asked twice in a row, on the writer thread."""
        if self._revisits is not None:
            with self._store.transaction() as connection:
                self._revisits.observe(connection, probe, found)

    @_on_writer
    def note_little_new(self, host: str, found: LittleNew | None, now: float) -> None:
        """Keep that a host brings little new text; None: no longer."""
        with self._store.transaction() as connection:
            if found is None:
                little_new.remove(connection, host)
            else:
                little_new.put(connection, found, now)

    async def settle(self, now: float) -> Recorded | None:
        """Learn from answered probes alone, or queue the rest; return None if there is neither."""
        if self._learning is not None and self._learning.has_news:
            return await self.record((), now)
        queued = await self._queue_rest() if self._rest is not None else 0
        return Recorded([], {}, {}, again=queued) if queued else None

    @_on_writer
    def _queue_rest(self) -> int:
        """Queue the rest, once; return how many URLs."""
        rest, self._rest = self._rest, None
        if rest is None:
            return 0
        with self._store.transaction() as connection:
            return rest(connection)

    async def record(self, outcomes: Sequence[Outcome], now: float) -> Recorded:
        """Record outcomes and learn from them, in one transaction."""
        record = partial(self._record_and_learn, outcomes, now)
        return await self.writer.call(self._surviving_learning, record)

    async def record_links(self, links: Sequence[Candidate], now: float) -> Recorded:
        """Record links whose page is not recorded yet."""
        record = partial(self._record_links, links, now)
        return await self.writer.call(self._surviving_learning, record)

    def _surviving_learning(self, record: Callable[[], Recorded]) -> Recorded:
        """Record, on the writer thread; a fault of learning only switches the learning off."""

        def switch_off() -> bool:
            if self._learning is None:
                return False
            self._learning = self._store.rules = None
            self.learning_failed = 1
            return True

        told = "Learning failed and is switched off for this run"
        return surviving_learning(record, switch_off, self._notify, told)

    def _record_links(self, links: Sequence[Candidate], now: float) -> Recorded:
        """Record links in one transaction, on the writer thread."""
        with self._store.claiming() as connection:
            admissions = self._store.admit_in(connection, links, now)
            if self._learning is not None:
                self._learning.find(links, admissions)
            merged_by = self._store.merged_by(links)
            self._count(connection)
        later = tuple(a.replaces for a in admissions if a.replaces is not None)
        return Recorded([[one] for one in admissions], {}, merged_by, Learned(later))

    def _record_and_learn(self, outcomes: Sequence[Outcome], now: float) -> Recorded:
        """Record outcomes and learn from them in one transaction, on the writer thread."""
        with self._store.claiming() as connection:
            self._store.confirm_url_ids(connection, (outcome.queued for outcome in outcomes))
            revisits = self._revisits
            stored = {} if revisits is None else revisits.stored(connection, outcomes)
            known = self._known(connection, outcomes)
            recorded = self._store.record_in(connection, outcomes, now)
            again = 0 if known is None else self._note(connection, recorded, known, now)
            merged_by = self._store.merged_by(link for o in outcomes for link in o.links)
            self._count(connection)
            learned = Learned()
            if self._learning is not None:
                learned = self._learning.learn(connection, recorded, now)
                self.learning_seconds = round(self._learning.seconds, 3)
            news = RevisitNews()
            if revisits is not None:
                news = revisits.record(connection, recorded, stored, now)
                learned = learned._replace(probes=(*learned.probes, *news.controls))
            sooner = {to.url_id for to in redirect_targets(recorded)}
            promoted = leases.promoted(
                connection,
                sooner.union(learned.sooner),
                now=now,
                level_by_level=self._level_by_level,
            )
        admissions = [list(one.admissions) for one in recorded]
        return Recorded(admissions, promoted, merged_by, learned, again + news.queued)

    def _note(
        self,
        connection: Connection,
        recorded: Sequence[RecordedOutcome],
        known: absences.Known,
        now: float,
    ) -> int:
        """Note which URLs have no page any more, so that limits count what lives."""
        noted = absences.note(connection, recorded, known, now)
        if (budgets_of := self._store.budgets_of) is not None:
            budgets.count(connection, map(budgets_of, noted.left), -1)
            budgets.count(connection, map(budgets_of, noted.back), 1)
        return noted.queued

    def _known(self, connection: Connection, outcomes: Sequence[Outcome]) -> absences.Known | None:
        """Return what is known of the URLs of outcomes; None in a store without a recrawl."""
        if self._has_absences is None:
            self._has_absences = absences.has_begun(connection)
        url_ids = [outcome.url_id for outcome in outcomes]
        return absences.known_of(connection, url_ids) if self._has_absences else None

    def _forget(self, hosts: Collection[str]) -> None:
        """Let the learning forget hosts that were another worker's, or are now."""
        if hosts and self._learning is not None:
            self._learning.forget_hosts(hosts)

    def _count(self, connection: Connection) -> None:
        """Read how many queued URLs and pages there are; report an overflowing domain once."""
        budget = self._store.host_budget
        if budget is not None and not self._told_of_overflow:
            domain = budgets.overflowing_domain(connection, budget)
            if domain is not None:
                self._told_of_overflow = True
                self._notify(
                    f"{domain} has more than {budget.most:,} hosts (max_hosts_per_domain in "
                    "[traps]): URLs on further ones are held; so it is for every such domain. "
                    "'canonry refused list' shows how many."
                )
        self.queued = leases.pending(connection)
        self.fetched = leases.fetched(connection)
        if self._has_absences:
            self.fetched -= absences.number_left(connection)
