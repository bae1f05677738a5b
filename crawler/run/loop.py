"""The crawl: hosts leased from the store, visits within politeness, outcomes recorded in groups."""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial

from canonry.canon import redact
from canonry.crawler.admission.scope import host_of
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.observe.log import Log
from canonry.crawler.observe.progress import Progress
from canonry.crawler.refusal import Refusal
from canonry.crawler.run.frontier import Frontier, Politeness
from canonry.crawler.run.store_session import LEASE_SECONDS, PER_HOST, Done, Pace, StoreSession
from canonry.crawler.run.visit import Visited, Visitor
from canonry.crawler.settings import Settings
from canonry.storage import Admission, Outcome, Queued, State, StoreError

_HEARTBEAT = LEASE_SECONDS / 4
_GROUP = 64  # outcomes in one transaction at most
_LONGEST_WAIT = 0.5
_OK = 200
_FAULTS_IN_A_ROW = 10  # of our own: then it is not the pages


async def _nowhere(_host: str) -> str | None:
    """Say that a host shares its address with nobody."""
    return None


def politeness(settings: Settings) -> Politeness:
    """Return how hosts and addresses are to be asked."""
    crawl = settings.crawl
    per_address = crawl.requests_per_address
    return Politeness(
        delay=crawl.delay,
        per_host=crawl.requests_per_host,
        address_delay=min(crawl.address_delay, crawl.delay),
        per_address=max(per_address, crawl.requests_per_host) if per_address else 0,
        factor=crawl.delay_factor,
        longest=crawl.max_crawl_delay,
    )


class Crawl:
    """Runs until nothing is queued, a limit is reached, or `stop` is called."""

    def __init__(
        self,
        store_session: StoreSession,
        visitor: Visitor,
        settings: Settings,
        *,
        notify: Callable[[str], None],
        clock: Callable[[], float] = time.time,
        address_of: Callable[[str], Awaitable[str | None]] = _nowhere,
        log: Log | None = None,
    ) -> None:
        """Bind what a crawl needs.

        Args:
            store_session: the store, as a crawl uses it.
            visitor: makes outcomes of URLs.
            settings: the limits.
            notify: receives sentences for people.
            clock: seconds since 1970.
            address_of: says on which address a host is, None for one that it shares with nobody.
            log: is told what came of each URL.
        """
        self._store_session = store_session
        self._visitor = visitor
        self._crawl = settings.crawl
        self._notify = notify
        self._clock = clock
        self._probes = 0  # URLs that cannot be there, asked for to learn how hosts say so
        self._faults = 0  # of our own, in a row
        self._frontier = Frontier(politeness(settings))
        self._address_of = address_of
        self._placing: set[asyncio.Task[None]] = set()
        self._out = 0  # URLs taken and not yet recorded
        self._visits: set[asyncio.Task[None]] = set()
        self._outbox: list[Done] = []
        self._fatal: BaseException | None = None
        self._wake = asyncio.Event()
        self._arrived = asyncio.Event()
        self._stopping = False
        self._leased_at = 0.0
        self._maybe_more = True  # the store may have queued URLs that are not loaded
        self._log = log
        self.progress = Progress()

    def stop(self, *, now: bool = False) -> None:
        """End the run: after the visits in flight, or at once; either way it can be resumed."""
        self._stopping = True
        if now:
            for visit in self._visits:
                visit.cancel()
        self._wake.set()

    async def run(self) -> bool:
        """Crawl; return whether it came to an end of its own (False: it was stopped)."""
        recorder = asyncio.create_task(self._record_all())
        try:
            while (work := await self._next()) is not None:
                self._out += 1
                host, queued = work
                visit = asyncio.create_task(self._visit(host, queued))
                self._visits.add(visit)
                visit.add_done_callback(self._visits.discard)
            if self._visits:
                await asyncio.wait(self._visits)
            await self._recorded()
        finally:
            recorder.cancel()
            for task in self._placing:
                task.cancel()
            await asyncio.gather(recorder, *self._placing, *self._visits, return_exceptions=True)
            if self._fatal is None:
                await self._store_session.leave(self._pace())
                self.progress.queued = self._store_session.queued
        if self._fatal is not None:
            raise self._fatal
        return not self._stopping

    async def _next(self) -> tuple[str, Queued] | None:
        """Wait for the next URL that may be asked; None when the run is over."""
        while not self._stopping and self._fatal is None:
            now = self._clock()
            if self._hungry(now):
                await self._lease(now)
            elif now - self._leased_at > _HEARTBEAT:
                await self._renew(now)
            if not self._may_start():
                if not self._out:
                    return None  # nothing is on its way, so it is the limit of pages
                await self._pause(_LONGEST_WAIT)
                continue
            self._find_addresses()
            work = self._frontier.take(self._clock())
            if work is not None:
                return work
            if not self._frontier.loaded_rows and not self._maybe_more:
                due = await self._store_session.next_due()
                if due is None:
                    return None
                self._maybe_more = True
                await self._pause_until(due if due > self._clock() else None)
            else:
                await self._pause_until(self._frontier.next_time())
        return None

    def _find_addresses(self) -> None:
        """Begin to find the addresses of hosts that wait for it."""
        for name in self._frontier.unplaced():
            task = asyncio.create_task(self._place(name))
            self._placing.add(task)
            task.add_done_callback(self._placing.discard)

    async def _place(self, name: str) -> None:
        """Find a host's address; one that has none is asked for all the same, and fails then."""
        address = None
        with suppress(OSError):
            address = await self._address_of(name)
        self._frontier.place(name, address)
        self._wake.set()

    def _may_start(self) -> bool:
        """Say whether one more URL may be out: within ``concurrency``, and within ``max_pages``.

        A URL is out until its outcome is recorded. So a process that is killed asks again for no
        more than it had out, and the store sets the pace when it is slower than the network.
        """
        limit = self._crawl.max_pages
        within = not limit or self._store_session.fetched + self._out < limit
        return self._out < self._crawl.concurrency and within

    def _hungry(self, now: float) -> bool:
        """Say whether to ask the store for work: for lack of URLs, or of hosts to ask at once.

        While there are URLs enough, other hosts are looked for once a second.
        """
        if not self._maybe_more:
            return False
        enough = 2 * self._crawl.concurrency
        if self._frontier.waiting < enough:
            return True
        return now - self._leased_at > 1.0 and self._frontier.hosts_waiting() < enough

    async def _pause(self, seconds: float) -> None:
        """Wait until something happened, or for a time."""
        self._wake.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._wake.wait(), seconds)

    async def _pause_until(self, moment: float | None) -> None:
        """Wait until something happened, or for a moment; not longer than the longest wait."""
        wait = _LONGEST_WAIT if moment is None else moment - self._clock()
        await self._pause(min(max(wait, 0.001), _LONGEST_WAIT))

    async def _lease(self, now: float) -> None:
        """Load URLs of hosts that are ours or free, and write down the pace of those we have."""
        self._leased_at = now
        self._maybe_more = False
        loaded = {name: frozenset(held) for name, held in self._frontier.loaded().items()}
        limit = max(2 * self._crawl.concurrency, len(loaded) + 16)
        leased = await self._store_session.lease(now, limit, loaded, self._pace())
        for host in leased:
            self._frontier.put(host.name, host.urls, ready_at=host.ready_at, delay=host.delay)
        full = any(len(host.urls) == PER_HOST for host in leased)
        self._maybe_more |= full or len(leased) == limit
        self._frontier.retire(now)

    async def _renew(self, now: float) -> None:
        """Keep the hosts that we have; others may have become free since."""
        self._leased_at = now
        self._maybe_more = True
        await self._store_session.renew(now, list(self._frontier.loaded()), self._pace())
        self._frontier.retire(now)

    def _pace(self) -> Pace:
        """Return what is to be written down of the hosts' pace."""
        return Pace(self._frontier.pace(), self._frontier.delays())

    async def _visit(self, host: str, queued: Queued) -> None:
        """Visit one URL and hand its outcome to the recorder."""
        if queued.row < 0:
            await self._probe(host, queued)
            return
        visited: Visited | None = None
        try:
            visited = await self._visitor.visit(queued, partial(self._another_turn, host))
            self._faults = 0
        except Exception as error:  # noqa: BLE001 - no fault of the network's: one of our own
            visited = self._own_fault(queued, error)
        finally:
            if visited is None:
                self._out -= 1
            else:
                self._frontier.slow_down(host, until=visited.not_before)
                if visited.elapsed is not None:
                    self._frontier.answered(host, visited.elapsed)
                self._outbox.append(Done(host, queued, visited))
                self._arrived.set()
            self._frontier.done(host)
            self._wake.set()

    async def _probe(self, host: str, queued: Queued) -> None:
        """Ask for what cannot be there, and tell the keeper with what body the host answers."""
        try:
            visited = await self._visitor.visit(queued, partial(self._another_turn, host))
            page = visited.outcome.page
            if page is not None and page.status == _OK:
                await self._store_session.hear_missing(queued.url, page.digest)
        except Exception as error:  # noqa: BLE001 - as for any page
            self._own_fault(queued, error)
        finally:
            self._out -= 1
            self._frontier.done(host)
            self._frontier.recorded(host, queued.row)
            self._wake.set()

    def _own_fault(self, queued: Queued, error: Exception) -> Visited | None:
        """Tell of a fault of our own, and set its page aside; too many in a row end the run.

        A crawl of days must not end, nor every resumed run meet the same end, for one page.
        """
        self._faults += 1
        if isinstance(error, StoreError) or self._faults >= _FAULTS_IN_A_ROW:
            self._fatal = error
            return None
        self._notify(
            f"Canonry failed on {redact(queued.url)}, which is set aside; please report this:\n"
            + "".join(traceback.format_exception(error)).rstrip()
        )
        return Visited(Outcome(queued.row, State.HELD, Refusal.OURS.label), 0.0)

    async def _another_turn(self, host: str, delay: float | None) -> None:
        """Wait for another turn at a host, whose robots.txt asks for a delay."""
        if delay is not None:
            self._frontier.slow_down(host, delay=min(delay, self._crawl.max_crawl_delay))
        now = self._clock()
        await asyncio.sleep(self._frontier.another_turn(host, now) - now)

    async def _record_all(self) -> None:
        """Record outcomes as they come: all that wait, in one transaction."""
        while True:
            await self._arrived.wait()
            self._arrived.clear()
            while self._outbox and self._fatal is None:
                await self._record_group()

    async def _record_group(self) -> None:
        """Record the outcomes that wait, up to a group of them."""
        group, self._outbox = self._outbox[:_GROUP], self._outbox[_GROUP:]
        try:
            answers = await self._store_session.record(group, self._clock())
            for done, admissions in zip(group, answers, strict=True):
                self._frontier.recorded(done.host, done.queued.row)
                self._out -= 1
                self._count(done.visited.outcome, admissions)
                if self._log is not None:
                    self._log.outcome(done.queued, done.visited.outcome, admissions)
            if self._store_session.session is not None:
                self._heed(self._store_session.session)
        except Exception as error:  # noqa: BLE001 - the run ends and raises it
            self._fatal = error
        finally:
            self._wake.set()

    def _heed(self, session: LearningSession) -> None:
        """Do not ask for what rules took out of the queue, and do for what learning needs."""
        if session.taken_out:
            rows, session.taken_out = session.taken_out, []
            self._frontier.drop(rows)
        if session.probes:
            probes, session.probes = session.probes, []
            for url in probes:
                self._probes += 1
                self._frontier.put(host_of(url), [Queued(-self._probes, url, 0, 0, 0)])

    async def _recorded(self) -> None:
        """Wait until everything that came in is in the store."""
        while self._out and self._fatal is None:
            await self._pause(_LONGEST_WAIT)

    def _count(self, outcome: Outcome, admissions: Sequence[Admission]) -> None:
        """Bring the progress up to date with a recorded outcome."""
        progress = self.progress
        if outcome.page is not None:
            progress.bytes += outcome.page.size
            progress.waited += outcome.page.elapsed
        if outcome.retry_at is not None:
            progress.retries += 1
        else:
            progress.pages += outcome.page is not None
            progress.unchanged += outcome.unchanged
            progress.redirects += outcome.state is State.REDIRECTED
            progress.failed += outcome.state is State.FAILED
            progress.held += outcome.state is State.HELD
        new = sum(admission.new for admission in admissions)
        progress.links += len(outcome.links)
        progress.new += new
        progress.duplicates += len(admissions) - new
        progress.in_flight = len(self._visits)
        progress.hosts = len(self._frontier.loaded())
        progress.queued, progress.learning = (
            self._store_session.queued,
            self._store_session.learning,
        )
        if new or outcome.retry_at is not None:
            self._maybe_more = True
