"""The scheduler: hands out work within politeness and limits, and waits if there is none."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress

from canonry.crawler.admission.scope import host_of
from canonry.crawler.fetch.open_files import beside_slow
from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.run.queue.address_leases import AddressLeases
from canonry.crawler.run.queue.frontier import Frontier, FrontierItem
from canonry.crawler.run.queue.host_leases import HostLeases
from canonry.crawler.run.queue.idle_times import IdleTimes
from canonry.crawler.run.queue.politeness import politeness_of
from canonry.crawler.run.queue.store_session import Recorded, StoreSession
from canonry.crawler.run.queue.turns import Turns
from canonry.crawler.settings import Settings
from canonry.storage import Outcome, StoreError

_LONGEST_PAUSE = 0.5  # seconds
_PATIENCE = 5.0  # seconds; what takes longer makes room for another request

AddressOf = Callable[[str], Awaitable[str | None]]


async def no_address(_host: str) -> str | None:
    """Return None: a host shares its address with nobody."""
    return None


class Scheduler:
    """Decides what is requested next, and when.

    A URL is out from the moment it is handed out until its outcome is recorded. So after a kill, no
    more than these URLs are fetched twice, and a slow store slows the crawl down.
    """

    def __init__(
        self,
        store_session: StoreSession,
        settings: Settings,
        turns: Turns,
        clock: Callable[[], float],
        address_of: AddressOf,
        notify: Callable[[str], None],
    ) -> None:
        """Bind the store and the limits.

        Args:
            store_session: leases hosts.
            settings: the limits.
            turns: still without hosts; the client tells them when requests are sent.
            clock: seconds since 1970.
            address_of: returns the address of a host; None if no other host shares it.
            notify: receives sentences for people.
        """
        self._store_session = store_session
        self._crawl = settings.crawl
        self._clock = clock
        self._turns = turns
        self._politeness_of = politeness_of(settings)
        self._frontier = Frontier(self._turns)
        self._addresses = AddressLeases(store_session, clock)
        self._leases = HostLeases(
            *(store_session, self._frontier, self._turns, self._addresses),
            settings.crawl.concurrency,
        )
        self._address_of = address_of
        self._idle_times = IdleTimes(self._leases, notify)
        self._notify = notify
        self._lookups: dict[str, asyncio.Task[None]] = {}  # by host
        self._beside_slow = beside_slow(settings.crawl.concurrency)
        self._since: dict[int | Probe, float] = {}  # when what is under way was handed out
        self._out: dict[int, str] = {}  # by URL id, the hosts of the URLs that are out
        self._probes_out = 0
        self._wake = asyncio.Event()
        self._stopping = False
        self.in_flight = 0  # visits and probes under way

    @property
    def hosts(self) -> int:
        """How many hosts are loaded."""
        return len(self._frontier.url_ids())

    def stop(self) -> None:
        """Hand out nothing more."""
        self._stopping = True
        self._wake.set()

    async def next(self) -> tuple[str, FrontierItem] | None:
        """Wait for the next work and return it with its host; None when there is no more."""
        while not self._stopping:
            await self._leases.refresh(self._clock())
            if not self._may_start():
                if not self._out and not self._probes_out:
                    return None  # nothing is out, so the limit of pages is reached
                await self._pause(_LONGEST_PAUSE)
                continue
            self._find_addresses()
            found = self._frontier.take(self._clock())
            if found is not None:
                self._hand_out(*found)
                return found
            if not self._frontier.loaded and not self._leases.maybe_more:
                due = await self._store_session.next_due(self._clock)
                if due is None:
                    if await self._settle():
                        continue
                    return None
                self._leases.maybe_more = True
                await self._tell_idle_time()
                await self._pause_until(due if due > self._clock() else None)
            else:
                turn = self._turns.next_time()
                await self._tell_idle_time(turn)
                await self._pause_until(turn)
        return None

    async def _settle(self) -> bool:
        """Learn from the last probes; return False if there is nothing new.

        The result may be that held URLs are released, or that more probes are sent.
        """
        answer = await self._store_session.settle(self._clock())
        if answer is not None:
            self.recorded((), answer, queued=True)
        return answer is not None

    async def _tell_idle_time(self, turn: float | None = None) -> None:
        """Report what the crawl waits for, if nothing is under way; of loaded hosts, their turn."""
        if not self._out and not self._probes_out:
            await self._idle_times.tell(self._clock(), turn)

    def _hand_out(self, host: str, work: FrontierItem) -> None:
        """Count work as out."""
        self.in_flight += 1
        self._since[work if isinstance(work, Probe) else work.url_id] = self._clock()
        if isinstance(work, Probe):
            self._probes_out += 1
        else:
            self._out[work.url_id] = host

    def set_yields(self, host: str, *, yields: bool) -> None:
        """Let a host yield to others that are ready, or not."""
        self._turns.set_yields(host, yields=yields)

    def slow_down(self, host: str, delay: float) -> None:
        """Obey the delay, in seconds, that a host's robots.txt asks for, up to a limit."""
        self._turns.slow_down(host, delay=min(delay, self._politeness_of(host).longest))

    def visited(self, host: str, outcome: Outcome) -> None:
        """Note that a visit ended; its URL stays out until the outcome is recorded."""
        self._turns.slow_down(host, until=outcome.not_before)
        if outcome.was_requested:
            self._turns.answered(host, outcome.elapsed)
        else:
            self._turns.give_back(host)
        self._ended(host, outcome.url_id)

    def abandoned(self, host: str, url_id: int) -> None:
        """Note that a visit ended without an outcome: the URL stays queued in the store."""
        del self._out[url_id]
        self._ended(host, url_id)

    def probed(self, host: str, probe: Probe) -> None:
        """Note that a probe ended."""
        self._probes_out -= 1
        self._frontier.probed(host)
        self._ended(host, probe)

    def _ended(self, host: str, key: int | Probe) -> None:
        """Count a visit or a probe as ended."""
        self.in_flight -= 1
        self._since.pop(key, None)
        self._turns.done(host)
        self._wake.set()

    def recorded(self, outcomes: Iterable[Outcome], answer: Recorded, *, queued: bool) -> None:
        """Update the frontier after outcomes were recorded.

        Args:
            outcomes: of visits.
            answer: the store's, with URLs to request next, URLs not to fetch any more, and probes.
            queued: True if the outcomes put URLs into the store's queue.
        """
        for outcome in outcomes:
            host = self._out.pop(outcome.url_id)
            # Deferred URLs may be loaded now: few, if rules suppress some of them.
            self._leases.maybe_more |= self._frontier.recorded(
                host, outcome.url_id, suppresses=bool(answer.learned.later)
            )
        if answer.learned.later:
            self._frontier.drop(answer.learned.later)
            self._leases.maybe_more = True  # some of them may only be deferred
        for host, until in answer.learned.walls.paused:
            if self._frontier.is_loaded(host):  # else the store has its pause
                self._turns.slow_down(host, until=until)
        self._frontier.lose(answer.learned.walls.blocked)
        queued |= answer.learned.walls.queued > 0
        held = sum(url_id not in self._out for url_id in answer.learned.held)
        if (told := answer.learned.in_words(held)) is not None:
            self._notify(told)
        for host, urls in answer.promoted.items():
            if self._frontier.is_loaded(host):  # else it may not be leased to us
                self._frontier.put(host, urls)
        for probe in answer.learned.probes:
            self._frontier.put_probe(host_of(probe.url), probe)
        self._leases.maybe_more |= queued
        self._wake.set()

    async def close(self) -> None:
        """End the look-ups of addresses."""
        lookups = list(self._lookups.values())
        for task in lookups:
            task.cancel()
        await asyncio.gather(*lookups, return_exceptions=True)

    async def leave(self) -> None:
        """Release all hosts, with their pace."""
        await self._leases.leave()

    def _may_start(self) -> bool:
        """Return True if one more may be out, within ``concurrency`` and ``max_pages``.

        Requests to slow and mute hosts wait, and do nothing: they keep no other from its turn.
        """
        out = len(self._out) + self._probes_out
        limit = self._crawl.max_pages
        if limit and self._store_session.fetched + out >= limit:
            return False
        if out < self._crawl.concurrency:
            return True
        patience = self._clock() - _PATIENCE
        slow = sum(since < patience for since in self._since.values())
        return out - min(slow, self._beside_slow) < self._crawl.concurrency

    def _find_addresses(self) -> None:
        """Start to look up the addresses of hosts that wait for theirs."""
        for name in self._turns.unplaced():
            if name not in self._lookups:
                self._lookups[name] = asyncio.create_task(self._place(name))

    async def _place(self, name: str) -> None:
        """Look up a host's address. A host without one is requested all the same, and fails.

        A host on an address of another worker goes there.
        """
        address = owner = None
        try:
            with suppress(OSError):
                address = await self._address_of(name)
            if address is not None:
                owner = await self._addresses.other_owner(address)
        except StoreError:
            return  # the next step fails as well, and says why
        finally:
            del self._lookups[name]
        if owner is None:
            self._turns.place(name, address)
        else:
            self._leases.send(name, owner)
        self._wake.set()

    async def _pause(self, seconds: float) -> None:
        """Wait for an event, at most for a time."""
        self._wake.clear()
        with suppress(TimeoutError):  # `wait_for` of Python 3.11 may lose a cancellation
            async with asyncio.timeout(seconds):
                await self._wake.wait()

    async def _pause_until(self, moment: float | None) -> None:
        """Wait for an event or a moment, at most for the longest pause."""
        wait = _LONGEST_PAUSE if moment is None else moment - self._clock()
        await self._pause(min(max(wait, 0.001), _LONGEST_PAUSE))


class SendTimes:
    """The client's pacer: every request waits for the turn of the host that it goes to."""

    def __init__(self, turns: Turns, clock: Callable[[], float]) -> None:
        """Bind the turns, which are told when requests were sent, and their clock."""
        self._turns = turns
        self._clock = clock

    async def turn(self, url: str) -> None:
        """Wait for the host's turn, unless one was already taken for the request."""
        now = self._clock()
        if (start := self._turns.spend(host_of(url), now)) > now:
            await asyncio.sleep(start - now)

    async def clearance(self, url: str) -> None:
        """Wait until the request may be sent; nothing else runs before the caller goes on."""
        host = host_of(url)
        while (seconds := self._turns.until_sending(host, self._clock())) > 0:  # noqa: ASYNC110
            await asyncio.sleep(seconds)  # meanwhile, the host may get another request

    def sent(self, url: str) -> None:
        """Note that the request was sent just now."""
        self._turns.sent(host_of(url), self._clock())

    def arrived(self, url: str) -> None:
        """Note that the head of its answer was read."""
        self._turns.arrived(host_of(url), self._clock())
