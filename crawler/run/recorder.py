"""The recorder: writes outcomes into the store in groups, and counts them."""

import asyncio
from collections.abc import Callable, Sequence

from canonry.crawler.admission.known_links import KnownLinks
from canonry.crawler.observe.log import Log
from canonry.crawler.observe.progress import Progress
from canonry.crawler.run.process import FreedMemory
from canonry.crawler.run.queue.scheduler import Scheduler
from canonry.crawler.run.queue.store_session import StoreSession
from canonry.storage import Admission, Candidate, Outcome, State

_GROUP = 64  # outcomes in one transaction at most
_PAUSE = 0.002  # seconds; what comes meanwhile shares the transaction


class Recorder:
    """Records outcomes as they come: all that wait, in one transaction.

    While others may come, it waits for a moment: most of what a transaction costs, it costs whether
    one outcome is recorded or ten.
    """

    def __init__(
        self,
        store_session: StoreSession,
        scheduler: Scheduler,
        known: KnownLinks,
        clock: Callable[[], float],
        log: Log | None,
    ) -> None:
        """Bind the store, and the scheduler that is told what was recorded.

        Args:
            store_session: records.
            scheduler: is told which URLs are recorded, and what was learned.
            known: learns which links need no claim any more.
            clock: seconds since 1970.
            log: gets a line for each outcome.
        """
        self._store_session = store_session
        self._scheduler = scheduler
        self._known = known
        self._clock = clock
        self._log = log
        self._waiting: list[Outcome] = []
        self._arrived = asyncio.Event()
        self._closing = False
        self._freed = FreedMemory()
        self.progress = Progress()

    def put(self, outcome: Outcome) -> None:
        """Queue an outcome to be recorded."""
        self._waiting.append(outcome)
        self._arrived.set()

    def close(self) -> None:
        """Let `run` return once nothing waits."""
        self._closing = True
        self._arrived.set()

    async def run(self) -> None:
        """Record until `close` is called and nothing waits.

        Raises:
            StoreError: when the store cannot be written.
        """
        while self._waiting or not self._closing:
            await self._arrived.wait()
            self._arrived.clear()
            while self._waiting:
                if self._scheduler.in_flight and not self._closing and len(self._waiting) < _GROUP:
                    await asyncio.sleep(_PAUSE)
                group, self._waiting = self._waiting[:_GROUP], self._waiting[_GROUP:]
                await self._record(group)

    async def record_links(self, links: Sequence[Candidate]) -> int:
        """Record links of a page that is not recorded yet; return how many are new.

        Raises:
            StoreError: when the store cannot be written.
        """
        answer = await self._store_session.record_links(links, self._clock())
        new = sum(admission.new for [admission] in answer.admissions)
        self.progress.links += len(links)
        self.progress.new += new
        self.progress.duplicates += len(links) - new
        self._known.learn(answer.merged_by)
        self._scheduler.recorded((), answer, queued=bool(new))
        return new

    async def _record(self, group: Sequence[Outcome]) -> None:
        """Record a group of outcomes, count and log them."""
        answer = await self._store_session.record(group, self._clock())
        more = answer.again > 0
        for outcome, admitted in zip(group, answer.admissions, strict=True):
            new = sum(admission.new for admission in admitted)
            more |= bool(new) or outcome.retry_at is not None
            self._count(outcome, admitted, new)
            if self._log is not None:
                self._log.outcome(outcome, admitted)
        walls = answer.learned.walls
        self.progress.pages -= walls.held + walls.queued
        self.progress.held += walls.held
        self._known.learn(answer.merged_by)
        self._scheduler.recorded(group, answer, queued=more)
        self.refresh()

    def count_probe(self) -> None:
        """Count a request for learning alone, of which no outcome is recorded."""
        self.progress.probes += 1

    def refresh(self) -> None:
        """Copy what the scheduler and the store session know into the progress."""
        self.progress.in_flight = self._scheduler.in_flight
        self.progress.hosts = self._scheduler.hosts
        self.progress.queued = self._store_session.queued
        self.progress.learning = self._store_session.learning_seconds
        self.progress.learning_failed = self._store_session.learning_failed

    def _count(self, outcome: Outcome, admissions: Sequence[Admission], new: int) -> None:
        """Add a recorded outcome to the progress."""
        progress = self.progress
        if outcome.page is not None:
            progress.bytes += outcome.page.size
            self._freed.done_with(outcome.page.size)
            progress.waited += outcome.page.elapsed
        if outcome.retry_at is not None:
            progress.retries += 1
        else:
            progress.pages += outcome.page is not None
            progress.unchanged += outcome.unchanged
            progress.redirects += outcome.state is State.REDIRECTED
            progress.failed += outcome.state is State.FAILED
            progress.held += outcome.state is State.HELD
        known = sum(outcome.known.values())
        links = admissions[len(outcome.leads) :]  # before them are redirects and canonical links
        progress.links += len(links) + known
        progress.new += new
        progress.duplicates += sum(not link.new for link in links) + known
