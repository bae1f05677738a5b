"""The crawl: work from the scheduler is visited in tasks, and outcomes go to the recorder."""

import asyncio
import traceback
from collections.abc import Callable
from functools import partial

from canonry.canon import redact
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.media_types import media_type
from canonry.crawler.observe.log import Log
from canonry.crawler.observe.progress import Progress
from canonry.crawler.plurals import counted
from canonry.crawler.run.new_text import NewText
from canonry.crawler.run.queue.frontier import FrontierItem
from canonry.crawler.run.queue.scheduler import AddressOf, Scheduler, no_address
from canonry.crawler.run.queue.store_session import StoreSession
from canonry.crawler.run.queue.turns import Turns
from canonry.crawler.run.recorder import Recorder
from canonry.crawler.run.visit import Visitor
from canonry.crawler.settings import Settings
from canonry.storage import Outcome, Queued, State, StoreError
from canonry.storage.http_status import OK
from canonry.storage.records import NOFOLLOW, NOT_A_PAGE
from canonry.storage.rows.little_new import LittleNew

_PAGES = frozenset({"text/html", "application/xhtml+xml"})
_LISTS = frozenset({"text/plain", "text/xml", "application/xml"})
_SEEDS = 10  # seeds without links, which are reported one by one
_FAULTS_IN_A_ROW = 10  # of our own; this many do not come from single pages


class Crawl:
    """Runs until nothing is queued, a limit is reached, or `stop` is called."""

    def __init__(
        self,
        store_session: StoreSession,
        visitor: Visitor,
        settings: Settings,
        turns: Turns,
        *,
        notify: Callable[[str], None],
        clock: Callable[[], float],
        address_of: AddressOf = no_address,
        log: Log | None = None,
    ) -> None:
        """Bind what a crawl needs.

        Args:
            store_session: leases, records and learns.
            visitor: fetches.
            settings: the limits.
            turns: still without hosts; the client tells them when requests are sent.
            notify: receives sentences for people.
            clock: seconds since 1970.
            address_of: returns the address of a host; None if no other host shares it.
            log: gets a line for each outcome.
        """
        self._store_session = store_session
        self._clock = clock
        self._visitor = visitor
        self._notify = notify
        self._scheduler = Scheduler(store_session, settings, turns, clock, address_of, notify)
        self._recorder = Recorder(store_session, self._scheduler, visitor.known, clock, log)
        self._tasks: set[asyncio.Task[None]] = set()  # visits and probes
        self._new_text = NewText()
        self._faults = 0  # of our own, in a row
        self._without_links = 0  # seeds
        self._error: Exception | None = None  # ends the run
        self._stopped = False

    @property
    def progress(self) -> Progress:
        """Where the run stands now."""
        self._recorder.refresh()
        return self._recorder.progress

    def stop(self, *, now: bool = False) -> None:
        """End the run: after the visits in flight, or at once. Either way it can be resumed."""
        self._stopped = True
        self._scheduler.stop()
        if now:
            for task in self._tasks:
                task.cancel()

    async def run(self) -> bool:
        """Crawl; return True if the crawl finished, False if it was stopped.

        Raises:
            StoreError: when the store fails.
            Exception: the last of several faults of our own in a row.
        """
        recording = asyncio.create_task(self._record())
        try:
            while (found := await self._scheduler.next()) is not None:
                self._start(*found)
            if self._tasks:
                await asyncio.wait(self._tasks)
            if self._error is None:
                self._recorder.close()
                await recording
        finally:
            recording.cancel()
            await self._scheduler.close()
            await asyncio.gather(recording, *self._tasks, return_exceptions=True)
            if self._error is None:
                await self._scheduler.leave()
                self._recorder.refresh()
        if self._error is not None:
            raise self._error
        return not self._stopped

    def _start(self, host: str, work: FrontierItem) -> None:
        """Start the task of a visit or a probe."""
        doing = self._probe(host, work) if isinstance(work, Probe) else self._visit(host, work)
        task = asyncio.create_task(doing)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _visit(self, host: str, queued: Queued) -> None:
        """Visit a URL and give its outcome to the recorder."""
        outcome: Outcome | None = None
        try:
            slow_down = partial(self._scheduler.slow_down, host)
            outcome = await self._visitor.visit(queued, slow_down, self._recorder.record_links)
            if _leads_nowhere(outcome):
                self._tell_of_no_links(outcome)
            if outcome.blocks is not None:
                await self._note_text(host, outcome.queued.url, outcome.blocks)
            self._faults = 0
        except Exception as error:  # noqa: BLE001 - not a fault of the network: one of our own
            if self._survives(queued.url, error):
                outcome = Outcome(queued, State.HELD, HoldReason.OURS.label)
        finally:
            if outcome is None:
                self._scheduler.abandoned(host, queued.url_id)
            else:
                self._scheduler.visited(host, outcome)
                self._recorder.put(outcome)

    async def _note_text(self, host: str, url: str, blocks: bytes) -> None:
        """Let a host yield to others while its pages bring little new text, and report it."""
        if (brings_little := self._new_text.add(host, url, blocks)) is None:
            return
        self._scheduler.set_yields(host, yields=brings_little)
        found = self._new_text.found(host) if brings_little else None
        if found is not None:
            self._notify(_told(found))
        await self._store_session.note_little_new(host, found, self._clock())

    def _tell_of_no_links(self, seed: Outcome) -> None:
        """Report why a fetched seed led to no links; of many such seeds, only the first ones."""
        self._without_links += 1
        if self._without_links > _SEEDS:
            return
        kind = (seed.page and seed.page.content_type) or ""
        name = f"{redact(seed.queued.url)}, which is a seed and"
        links = sum(link.reason == NOFOLLOW for link in seed.refused)
        if links:
            explanation = (
                f"{name} a page, but {counted(links, 'link')} marked nofollow: "
                "--config crawl.respect_nofollow=false follows them."
            )
        elif media_type(kind) in _PAGES or not kind:
            explanation = f"{name} a page ({kind or None}): scripts may make its links."
        elif media_type(kind) in _LISTS or media_type(kind).endswith("+xml"):
            explanation = f"{name} {kind}: it names no URL."
        else:
            explanation = (
                f"{name} {kind}: links are read from HTML, feeds, sitemaps and plain text."
            )
        more = "" if self._without_links < _SEEDS else " Further such seeds are not reported."
        self._notify(f"No link was found on {explanation}{more}")

    async def _probe(self, host: str, probe: Probe) -> None:
        """Send a probe and learn from the host's answer."""
        try:
            slow_down = partial(self._scheduler.slow_down, host)
            found = await self._visitor.probe(probe, slow_down, self._recorder.count_probe)
            await self._store_session.observe_probe(probe, found)
        except Exception as error:  # noqa: BLE001 - as for a visit
            self._survives(probe.url, error)
        finally:
            self._scheduler.probed(host, probe)

    def _survives(self, url: str, error: Exception) -> bool:
        """Report a fault of our own; return False if it ends the run.

        One page must not end a crawl of days, nor each resumed run. The store's errors and many
        faults in a row do end it.
        """
        self._faults += 1
        if isinstance(error, StoreError) or self._faults >= _FAULTS_IN_A_ROW:
            self._fail(error)
            return False
        self._notify(
            f"Canonry failed on {redact(url)}, which is held; please report this:\n"
            + "".join(traceback.format_exception(error)).rstrip()
        )
        return True

    async def _record(self) -> None:
        """Record until the recorder is closed; a failure ends the run."""
        try:
            await self._recorder.run()
        except Exception as error:  # noqa: BLE001 - `run` raises it
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End the run with an error."""
        self._error = error
        self._scheduler.stop()


def _told(found: LittleNew) -> str:
    """Return a sentence about a host that brings little new text."""
    told = (
        f"{found.host}: {found.share:.0%} of the text on its latest pages is new; "
        "other hosts go first."
    )
    if not found.pattern:
        return f"{told} No pattern of its URLs stands out (canonry patterns list)."
    return (
        f"{told} {counted(found.pages, 'page')} of the latest 200 are {found.pattern}, with "
        f"{found.pattern_share:.0%} new; to hold what is queued of these: canonry patterns exclude "
        f"'{found.pattern}'"
    )


def _leads_nowhere(outcome: Outcome) -> bool:
    """Return True if a seed gave a page (status 200) without links to follow."""
    page = outcome.page
    if page is None or page.status != OK or outcome.queued.depth or outcome.leads:
        return False
    refused = any(link.reason not in {NOT_A_PAGE, NOFOLLOW} for link in outcome.refused)
    return not (outcome.links or outcome.known or refused)
