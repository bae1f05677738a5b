"""Wiring: the only file that builds the objects of a crawl and joins them."""

import asyncio
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.open_files import with_room
from canonry.crawler.fetch.request_headers import RequestHeaders
from canonry.crawler.fetch.response import Get
from canonry.crawler.fetch.robots import MOST_READ, RobotsChecker
from canonry.crawler.files.inputs import ListedSeed
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.learn.walls import WallPauses
from canonry.crawler.observe.log import Log
from canonry.crawler.observe.progress import Progress
from canonry.crawler.observe.unfinished_warc import finish_abandoned
from canonry.crawler.observe.warc import WarcArchive
from canonry.crawler.opening import open_store, policy_for
from canonry.crawler.plurals import counted
from canonry.crawler.revisits.change_rates import IntervalLimits
from canonry.crawler.revisits.revisit_session import RevisitSession
from canonry.crawler.run import process
from canonry.crawler.run.job import preparation, seed_results
from canonry.crawler.run.job.lease_owners import own_name, signed
from canonry.crawler.run.job.preparation import as_job, prepare, read_seeds
from canonry.crawler.run.job.seed_results import FailedSeed
from canonry.crawler.run.loop import Crawl
from canonry.crawler.run.process import SteadyClock
from canonry.crawler.run.queue.politeness import politeness, politeness_of
from canonry.crawler.run.queue.scheduler import SendTimes
from canonry.crawler.run.queue.store_session import StoreSession
from canonry.crawler.run.queue.turns import Turns
from canonry.crawler.run.visit import Visitor
from canonry.crawler.settings import Settings, SettingsError
from canonry.crawler.settings.host_tables import HostTables
from canonry.storage import Store, StoreError, StoreRewoundError
from canonry.storage.recrawls import absences, recrawl_report
from canonry.storage.rows.requeueing import Requeue
from canonry.storage.sql.engine import Writer
from canonry.storage.sql.sqlite_engine import limit_cache

_LOOKUPS = 64  # host names looked up at a time
_STORE_CACHE_KIB = 8 * 1024  # for SQLite, besides the system's own cache of the file


class CrawlResult(NamedTuple):
    """How a run ended."""

    finished: bool  # False: it was interrupted, and can be resumed
    seconds: float
    progress: Progress
    seeds: int = 0  # how many
    failed_seeds: tuple[FailedSeed, ...] = ()

    @property
    def job_state(self) -> str:
        """How the job ended, in the words of the store."""
        if not self.finished:
            return "interrupted"
        return "failed" if self.is_fruitless else "finished"

    @property
    def is_fruitless(self) -> bool:
        """True if the run came to its end, and no seed gave a page."""
        return self.finished and 0 < self.seeds == len(self.failed_seeds)


class _Resources(NamedTuple):
    """What a run has open."""

    store: Store
    writer: Writer
    learning: LearningSession | None
    log: Log | None
    archive: WarcArchive | None
    notify: Callable[[str], None]


async def crawl(
    seeds: Sequence[str],
    store_url: str,
    settings: Settings,
    *,
    listed: Sequence[ListedSeed] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
    began: float | None = None,
    notify: Callable[[str], None],
    watch: Callable[[Crawl], object] = lambda _crawl: None,
) -> CrawlResult:
    """Crawl until nothing is left, a limit is reached, or the process is asked to stop.

    If the database goes back in time meanwhile, the crawl begins again from what the store has.

    Args:
        seeds: absolute URLs; the store may know them already.
        store_url: a SQLAlchemy URL.
        settings: of the run.
        listed: further seeds, from lists. Those that cannot be used are reported and left out.
        options: for a crawl that resumes this one, without secrets.
        began: when the workers of this run did, seconds since 1970; None: it has this one.
        notify: receives sentences for people.
        watch: receives the running crawl, to show its progress. A task that it returns is
            cancelled when the crawl ends.

    Raises:
        SettingsError: for seeds, addresses or files in the settings that cannot be used.
        PolicyError, StoreError: for a policy or a store that cannot be used.
    """
    while True:
        try:
            return await _crawl(
                seeds,
                store_url,
                settings,
                listed=listed,
                options=options,
                began=began,
                notify=notify,
                watch=watch,
            )
        except StoreRewoundError as error:
            notify(f"canonry: {error}. This crawl begins again from there.")


async def _crawl(
    seeds: Sequence[str],
    store_url: str,
    settings: Settings,
    *,
    listed: Sequence[ListedSeed],
    options: Mapping[str, Any],
    began: float | None,
    notify: Callable[[str], None],
    watch: Callable[[Crawl], object],
) -> CrawlResult:
    """Crawl as `crawl` does, but raise an error if the database goes back in time.

    Raises:
        SettingsError, PolicyError, StoreError: as `crawl` does.
        StoreRewoundError: if the database goes back in time.
    """
    settings = with_room(settings, notify)
    canonicalizer = Canonicalizer(policy_for(store_url, settings.crawl.policy))
    limits = settings.crawl
    scope = Scope(limits.scope, (), limits.include, limits.exclude)
    url_filter = URLFilter(canonicalizer, scope, settings)
    candidates = read_seeds(seeds, listed, url_filter, notify)
    turns = Turns(politeness(settings), politeness_of(settings))
    clock = SteadyClock()
    try:
        headers = RequestHeaders(
            settings.fetch,
            HostTables(settings.hosts),
            seeds=[candidate.url for candidate in candidates],
            in_scope=scope.has_place,
            notify=notify,
        )
        client = Client(settings, SendTimes(turns, clock), headers, notify)
    except ValueError as error:
        raise SettingsError(f"[fetch]: {error}") from None
    for hint in preparation.of(settings, [candidate.url for candidate in candidates]):
        notify(f"canonry: {hint}")
    loop = asyncio.get_running_loop()  # its default executor looks up host names
    loop.set_default_executor(ThreadPoolExecutor(_LOOKUPS))
    worker = own_name()
    with ExitStack() as stack:
        since = time.time() if began is None else began
        opened = _open(stack, store_url, canonicalizer, settings, worker, since, notify)
        store = opened.store
        store.budgets_of = url_filter.budgets_of
        store.host_budget = url_filter.host_budget
        job = as_job(seeds, listed, settings)
        rest = prepare(store, url_filter, settings, job, opened.notify)
        url_ids = [admission.url_id for admission in store.admit(candidates, time.time())]
        with store.transaction() as connection:
            limit_cache(connection, _STORE_CACHE_KIB)
            seed_results.try_again(connection, url_ids, is_recrawl=settings.crawl.is_recrawl)
        now = time.time()
        number = store.begin_job("crawl", signed(job, worker, options), now, began)
        try:
            async with client:
                run = _build(opened, client, turns, clock, url_filter, settings, worker, rest)
                with _watched(watch(run)), process.stopping(run, opened.notify):
                    start = time.monotonic()
                    finished = await run.run()
        except BaseException:
            opened.writer.close()
            with suppress(StoreError):  # the store may be what failed
                store.end_job(number, "failed", time.time())
            raise
        seconds = time.monotonic() - start
        with store.transaction() as connection:
            if finished:
                _close_recrawl(connection, opened, since)
            failed = seed_results.failures(connection, url_ids)
        result = CrawlResult(finished, seconds, run.progress, len(set(url_ids)), failed)
        store.end_job(number, result.job_state, time.time())
        return result


def _close_recrawl(connection: Connection, opened: _Resources, since: float) -> None:
    """Close the recrawl of a run, if there is one; report the sites that were out."""
    if not absences.has_begun(connection):
        return
    if opened.learning is not None:
        opened.learning.hold_further_names(connection, time.time())
    for outage in recrawl_report.close(connection, since):
        opened.notify(
            f"{outage.host}: {counted(outage.pages, 'known page')} could not be seen, as it "
            "answered with something else; kept, and asked again by a recrawl"
        )


def _open(
    stack: ExitStack,
    store_url: str,
    canonicalizer: Canonicalizer,
    settings: Settings,
    worker: str,
    began: float,
    notify: Callable[[str], None],
) -> _Resources:
    """Open what a run reads and writes; the stack closes it."""
    log = archive = session = None
    if settings.crawl.log:
        log = stack.enter_context(closing(Log(settings.crawl.log, worker)))
        notify = _both(notify, log.message)
    if settings.crawl.warc:
        opened = WarcArchive(settings.crawl.warc, settings.crawl.user_agent)
        finish_others = partial(finish_abandoned, settings.crawl.warc, notify)
        finish_others()
        stack.callback(finish_others)  # of workers that were killed meanwhile
        archive = stack.enter_context(closing(opened))
    store = stack.enter_context(closing(open_store(store_url, canonicalizer.policy, notify)))
    writer = stack.enter_context(closing(Writer()))  # closed before the store that it uses
    if settings.learn.enabled:
        store.rules = session = LearningSession(
            canonicalizer,
            notify,
            WallPauses(settings.fetch.retry_wait, settings.fetch.retries)
            if settings.traps.walls
            else None,
            began,
        )
    return _Resources(store, writer, session, log, archive, notify)


def _build(
    opened: _Resources,
    client: Client,
    turns: Turns,
    clock: SteadyClock,
    url_filter: URLFilter,
    settings: Settings,
    worker: str,
    rest: Requeue | None,
) -> Crawl:
    """Build a crawl from its opened resources and its settings."""
    archiving = _unchanged if opened.archive is None else opened.archive.archiving
    get, get_robots = archiving(client.get), archiving(client.cutting(MOST_READ))
    crawl = settings.crawl
    fetch = settings.fetch
    store_session = StoreSession(
        opened.store,
        opened.writer,
        worker=worker,
        delay=settings.longest_delay,
        level_by_level=_has_depths(settings),
        notify=opened.notify,
        learning=opened.learning,
        revisits=RevisitSession(IntervalLimits(*crawl.intervals), time.time())
        if crawl.recrawl
        else None,
        rest=rest,
    )
    robots = RobotsChecker(
        get_robots, store_session, clock, crawl.token, fetch.retry_wait, fetch.retries
    )
    return Crawl(
        store_session,
        Visitor(get, robots, url_filter, settings, clock),
        settings,
        turns,
        notify=opened.notify,
        clock=clock,
        address_of=client.address_of,
        log=opened.log,
    )


def _has_depths(settings: Settings) -> bool:
    """Return True if the depth of a URL can keep it out of the crawl."""
    return settings.crawl.max_depth >= 0 or any(
        table.max_depth is not None for table in settings.hosts.values()
    )


def _unchanged(get: Get) -> Get:
    """Return a fetch function as it is: nothing is archived."""
    return get


@contextmanager
def _watched(watching: object) -> Iterator[None]:
    """Cancel the task that shows a crawl's progress when the crawl is over."""
    try:
        yield
    finally:
        if isinstance(watching, asyncio.Task):
            watching.cancel()


def _both(one: Callable[[str], None], other: Callable[[str], None]) -> Callable[[str], None]:
    """Combine two notifiers."""

    def notify(message: str) -> None:
        one(message)
        other(message)

    return notify
