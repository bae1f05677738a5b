"""Host leases: leased when URLs run short, renewed, and handed over to workers without hosts."""

from collections.abc import Collection, Iterable

from canonry.crawler.run.job.lease_owners import LEASE_SECONDS
from canonry.crawler.run.queue.address_leases import AddressLeases
from canonry.crawler.run.queue.frontier import Frontier
from canonry.crawler.run.queue.store_session import Pace, StoreSession
from canonry.crawler.run.queue.turns import Turns
from canonry.storage.rows.waiting import HeldHosts, WaitingHost

_HEARTBEAT = LEASE_SECONDS / 4
_SOON = 10.0  # seconds; a host that waits no longer than this counts as available
_LOOKS = 1.0  # seconds between two looks at what people have changed, and other workers or we want
_PAUSE = 0.1  # seconds between two handovers, while some hosts still have requests under way


class HostLeases:
    """The hosts that the store leased to this worker: those in its frontier.

    A process that was stopped for longer than a lease may find its hosts leased to others. Then it
    forgets what it had not requested yet.
    """

    def __init__(
        self,
        store_session: StoreSession,
        frontier: Frontier,
        turns: Turns,
        addresses: AddressLeases,
        concurrency: int,
    ) -> None:
        """Bind the store and the frontier.

        Args:
            store_session: leases hosts.
            frontier: gets the URLs of leased hosts.
            turns: have the pace of the hosts.
            addresses: those that belong to this worker.
            concurrency: how many requests may be in flight; the frontier gets twice as many URLs.
        """
        self._store_session = store_session
        self._frontier = frontier
        self._turns = turns
        self._addresses = addresses
        self._handing_over = HandingOver(store_session, frontier, turns, addresses)
        self._enough = 2 * concurrency
        self._leased_at = 0.0
        self._looked_at = 0.0
        self._counted_at = 0.0
        self.maybe_more = True  # the store may have queued URLs that are not loaded

    async def refresh(self, now: float) -> None:
        """Lease hosts if too few URLs are loaded; else extend our leases at each heartbeat."""
        if not 0.0 <= now - self._looked_at < _LOOKS:
            self._looked_at = now
            await self._follow(now)
        await self._handing_over.finish(now)
        if self._needs_hosts(now):
            await self._lease(now, overflow=self._frontier.waiting < self._enough)
        elif now - self._leased_at > _HEARTBEAT:
            await self._renew(now)

    async def waits_for(self, now: float) -> WaitingHost | None:
        """Return the host for which an idle crawl waits; None where it need not wait."""
        return await self._store_session.waits_for(now, self._pace())

    async def held_by_others(self, now: float) -> HeldHosts | None:
        """Return the hosts that other workers hold, if none is left for this one."""
        return await self._store_session.held_by_others(now)

    def send(self, host: str, worker: str) -> None:
        """Give a host to the worker that owns its address."""
        self._handing_over.send([host], worker)
        self.maybe_more = True

    async def leave(self) -> None:
        """Release all hosts, with their pace."""
        await self._store_session.leave(self._pace())

    async def _follow(self, now: float) -> None:
        """Drop URLs that people hold, load those they release, and give hosts to other workers."""
        loaded = [url_id for url_ids in self._frontier.url_ids().values() for url_id in url_ids]
        told = await self._store_session.follow(loaded, now)
        if told.withdrawn is not None:
            self._frontier.drop(told.withdrawn)
            self.maybe_more = True
        if told.wanting:
            self._handing_over.begin(told.wanting)

    def _needs_hosts(self, now: float) -> bool:
        """Return True if there are too few URLs, or too few domains to request from soon.

        While there are enough URLs, the domains are counted once a second: that reads all hosts.
        """
        if not self.maybe_more:
            return False
        if self._frontier.waiting < self._enough:
            return True
        if 0.0 <= now - max(self._leased_at, self._counted_at) <= _LOOKS:
            return False
        self._counted_at = now
        return self._frontier.domains_waiting(now + _SOON) < self._enough

    async def _lease(self, now: float, *, overflow: bool) -> None:
        """Load URLs of hosts that are ours or free, and write the pace of those we have.

        Args:
            now: the time.
            overflow: as for `leases.lease`.
        """
        self._leased_at = now
        self.maybe_more = False
        loaded = {name: frozenset(url_ids) for name, url_ids in self._frontier.url_ids().items()}
        limit = max(self._enough, len(loaded) + 16)
        waiting, deferred = self._frontier.waiting_of(), self._frontier.most_deferred()
        leased, lost = await self._store_session.lease(
            now, limit, loaded, self._pace(), waiting=waiting, deferred=deferred, overflow=overflow
        )
        self._lose(lost)
        put = self._frontier.put
        for host in leased:
            if host.name not in self._handing_over:
                put(host.name, host.urls, ready_at=host.ready_at, delay=host.delay)
        more = any(host.has_more for host in leased) or len(leased) >= limit
        self.maybe_more |= more or not overflow
        self._frontier.retire(now)

    async def _renew(self, now: float) -> None:
        """Extend our leases; other hosts may have become free since."""
        self._leased_at = now
        self.maybe_more = True
        names = list(self._frontier.url_ids())
        self._lose(await self._store_session.renew(now, names, self._pace()))
        self._frontier.retire(now)

    def _lose(self, hosts: Collection[str]) -> None:
        """Forget hosts whose leases had expired; then our addresses may have new owners, too."""
        if hosts:
            self._frontier.lose(hosts)
            self._addresses.lose(None)

    def _pace(self) -> Pace:
        """Return the pace of all loaded hosts."""
        return Pace(self._turns.pace(), self._turns.delays())


class HandingOver:
    """Drains hosts, and gives them to other workers.

    Nothing more is requested from a host that leaves. It is handed over, with its pace, as soon as
    everything that was requested from it is recorded, so that two workers never crawl it at once.
    """

    def __init__(
        self,
        store_session: StoreSession,
        frontier: Frontier,
        turns: Turns,
        addresses: AddressLeases,
    ) -> None:
        """Bind the store, the frontier with the hosts, their turns, and our addresses."""
        self._store_session = store_session
        self._frontier = frontier
        self._turns = turns
        self._our_addresses = addresses
        self._leaving: dict[str, str] = {}  # hosts, with the workers that get them
        self._addresses: dict[str, str] = {}  # of hosts that leave with their address
        self._handed_at = 0.0

    def __contains__(self, host: str) -> bool:
        """Return True if nothing more may be requested from a host."""
        return host in self._leaving

    def begin(self, workers: Collection[str]) -> None:
        """Choose hosts to hand over, so that each of these workers gets as many as we keep.

        Hosts on one address leave together, and the address with them.
        """
        if self._leaving:
            return
        waiting = self._frontier.names_waiting()
        groups = self._turns.by_address(waiting)
        share = max(1, len(waiting) // (len(workers) + 1))
        for worker in workers:
            given = 0
            while len(groups) > 1 and given < share:
                group = self._turns.sharing(groups.pop())
                self._addresses.update(group)
                self._our_addresses.lose(group.values())
                self.send(group, worker)
                given += len(group)

    def send(self, hosts: Iterable[str], worker: str) -> None:
        """Let hosts leave for a worker; their addresses are its own, or leave with them."""
        self._leaving.update(dict.fromkeys(hosts, worker))
        self._frontier.lose(list(hosts))

    async def finish(self, now: float) -> None:
        """Hand over the hosts that have nothing under way any more.

        Args:
            now: seconds since 1970.
        """
        drained = [name for name in self._leaving if self._frontier.is_drained(name)]
        early = len(drained) < len(self._leaving) and 0.0 <= now - self._handed_at < _PAUSE
        if not drained or early:
            return
        self._handed_at = now
        ready, delays = self._turns.pace(), self._turns.delays()
        given: dict[str, list[str]] = {}
        for name in drained:
            given.setdefault(self._leaving[name], []).append(name)
        for worker, names in given.items():
            pace = Pace({n: ready[n] for n in names if n in ready}, delays)
            addresses = {self._addresses[name] for name in names if name in self._addresses}
            for name in await self._store_session.hand_over(
                now, worker, names, pace, addresses - {""}
            ):
                del self._leaving[name]
                self._addresses.pop(name, None)
