"""Wiring: the only file that builds the objects of a crawl and joins them."""

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import Connection, select
from sqlalchemy.exc import DatabaseError

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.response import Get
from canonry.crawler.fetch.robots import RobotsChecker
from canonry.crawler.learn import thresholds as learning
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.observe.log import Log
from canonry.crawler.observe.progress import Progress
from canonry.crawler.observe.warc import Archive
from canonry.crawler.opening import find_policy, open_store
from canonry.crawler.refusal import Refusal
from canonry.crawler.run import worker_name
from canonry.crawler.run.loop import Crawl
from canonry.crawler.run.store_session import StoreSession
from canonry.crawler.run.visit import Visitor
from canonry.crawler.settings import Settings, SettingsError
from canonry.storage import Candidate, State, Store, StoreError
from canonry.storage.records import CachedRobots
from canonry.storage.rows import budgets, leases, robots_cache, urls
from canonry.storage.sql import counts
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import jobs
from canonry.storage.sql.writer import Writer

# What a new run judges again: limits that it may have lifted or set.
_LIMITS = frozenset(Refusal) - {Refusal.ROBOTS, Refusal.SCHEME, Refusal.OURS, Refusal.LEARNED}
_MANY = 100_000  # URLs, from which on it takes time that should be told


class CrawlResult(NamedTuple):
    """How a run ended."""

    finished: bool  # False: it was interrupted, and can be resumed
    seconds: float
    progress: Progress


async def crawl(
    seeds: Sequence[str],
    store_url: str,
    settings: Settings,
    *,
    notify: Callable[[str], None],
    watch: Callable[[Crawl], object] = lambda _crawl: None,
) -> CrawlResult:
    """Crawl until nothing is left, a limit is reached, or the process is asked to stop.

    Args:
        seeds: absolute URLs; known ones do no harm.
        store_url: a SQLAlchemy URL.
        settings: what holds.
        notify: receives sentences for people.
        watch: is given the running crawl, to show its progress; a task that it returns is
            cancelled when the crawl ends.

    Raises:
        SettingsError: for seeds, addresses or files in the settings that cannot be used.
        PolicyError, StoreError: for a policy or a store that cannot be used.
    """
    policy = find_policy(settings.crawl.policy)
    canonicalizer = Canonicalizer(policy)
    url_filter = URLFilter(canonicalizer, Scope(settings.crawl.scope, ()), settings)
    candidates = [_seed(url_filter, seed) for seed in seeds]
    for candidate in candidates:
        url_filter.extend_scope(candidate.url)
    try:
        client = Client(settings)
    except (OSError, ValueError) as error:
        raise SettingsError(f"[fetch]: {error}") from None
    if not (settings.crawl.contact or settings.fetch.connect_to or settings.fetch.allow_private):
        notify(
            "canonry: nobody can tell who asks: set contact in [crawl] of --config, or "
            "CANONRY_CRAWL_CONTACT, to a page or a mail address of yours"
        )
    thresholds = learning.load(settings.learn.thresholds or None)
    name = worker_name.own_name()
    with ExitStack() as stack:
        log = archive = session = None
        if settings.crawl.log:
            log = stack.enter_context(closing(Log(settings.crawl.log, name)))
            notify = _both(notify, log.message)
        if settings.crawl.warc:
            kept = Archive(settings.crawl.warc, settings.crawl.user_agent)
            archive = stack.enter_context(closing(kept))
        store = stack.enter_context(closing(open_store(store_url, policy, notify)))
        store.budgets_of = url_filter.budgets_of
        writer = stack.enter_context(closing(Writer()))  # closed first: it may still be at work
        if settings.learn.enabled:
            store.rules = session = LearningSession(canonicalizer, thresholds, notify)
        job = _prepare(store, url_filter, candidates, settings, seeds, notify)
        try:
            async with client:
                get = client.get if archive is None else archive.archiving(client.get)
                run = _wire(
                    store,
                    writer,
                    get,
                    client.address_of,
                    url_filter,
                    settings,
                    notify,
                    session,
                    name,
                    log,
                )
                with _watched(watch(run)), _signals(run, notify):
                    start = time.monotonic()
                    finished = await run.run()
        except BaseException:
            writer.close()
            with suppress(StoreError):  # what failed may be the store
                store.end_job(job, "failed", time.time())
            raise
        store.end_job(job, "finished" if finished else "interrupted", time.time())
        return CrawlResult(finished, time.monotonic() - start, run.progress)


@contextmanager
def _watched(watching: object) -> Iterator[None]:
    """Cancel the task that shows a crawl's progress when the crawl is over."""
    try:
        yield
    finally:
        if isinstance(watching, asyncio.Task):
            watching.cancel()


def _both(one: Callable[[str], None], other: Callable[[str], None]) -> Callable[[str], None]:
    """Return what tells two the same."""

    def notify(message: str) -> None:
        one(message)
        other(message)

    return notify


def _seed(url_filter: URLFilter, seed: str) -> Candidate:
    """Read a seed; one that cannot be used is the user's to mend."""
    try:
        found = url_filter.candidate(seed, None, depth=0, hops=0, source=None)
    except InvalidURL as error:
        hint = "" if "://" in seed else f"\nDid you mean https://{seed} ?"
        raise SettingsError(f"seed: {error}{hint}") from None
    if isinstance(found, Refusal):
        raise SettingsError(f"seed {seed}: {found.value}")
    return found._replace(held=None)


def _prepare(
    store: Store,
    url_filter: URLFilter,
    candidates: Sequence[Candidate],
    settings: Settings,
    seeds: Sequence[str],
    notify: Callable[[str], None],
) -> int:
    """Bring a store to where this run begins; return the job."""
    now = time.time()
    asked = msgspec.json.encode({"seeds": sorted(seeds), "settings": settings}).decode()
    with store.transaction() as connection:
        _reclaim(connection, now, settings.crawl.delay)
        for url in urls.seed_targets(connection):
            url_filter.extend_scope(url)
        if settings.crawl.recrawl_seconds is not None:
            urls.requeue(connection, now - settings.crawl.recrawl_seconds)
        _judge_again(connection, url_filter, frozenset({Refusal.OURS}))
        if asked != _asked_before(connection):
            known = sum(number for _state, _why, number in counts.read(connection, "urls"))
            if known > _MANY:
                notify(f"The limits have changed since the last run: judging {known:,} URLs anew.")
            _judge_again(connection, url_filter, _LIMITS)
    store.admit(candidates, now)
    return store.begin_job("crawl", asked, now)


def take_from_the_dead(store_url: str, delay: float) -> None:
    """Free the hosts that processes of this machine had leased which are no more.

    Args:
        store_url: the store that they shared.
        delay: seconds between two requests to a host: nobody knows when these were asked last.

    Raises:
        StoreError: when the store cannot be written.
    """
    engine = open_engine(store_url)
    try:
        with engine.begin() as connection:
            _reclaim(connection, time.time(), delay)
    except DatabaseError as error:
        raise StoreError(str(error.orig)) from error
    finally:
        engine.dispose()


def _reclaim(connection: Connection, now: float, delay: float) -> None:
    """End the leases of processes that do not run any more."""
    gone = [name for name in leases.owners(connection) if worker_name.is_gone(name)]
    leases.reclaim(connection, gone, now, delay)


def _asked_before(connection: Connection) -> str | None:
    """Return what the last crawl into this store was asked to do."""
    last = select(jobs.c.settings).where(jobs.c.command == "crawl").order_by(jobs.c.id.desc())
    return connection.scalar(last.limit(1))


def _judge_again(
    connection: Connection, url_filter: URLFilter, held_for: frozenset[Refusal]
) -> None:
    """Let out what was held for some reasons, and hold what the present limits do not allow."""

    def judge(url: str, depth: int, hops: int) -> str | None:
        refusal = url_filter.judge(url, depth, hops)
        return None if refusal is None else refusal.label

    def let_out(url: str, depth: int, hops: int) -> str | None:
        return judge(url, depth, hops) or budgets.spend(connection, [url_filter.budgets_of(url)])[0]

    urls.review(connection, State.HELD, let_out, {refusal.label for refusal in held_for})
    if held_for & _LIMITS:
        urls.review(connection, State.QUEUED, judge)


def _wire(
    store: Store,
    writer: Writer,
    get: Get,
    address_of: Callable[[str], Awaitable[str | None]],
    url_filter: URLFilter,
    settings: Settings,
    notify: Callable[[str], None],
    session: LearningSession | None,
    name: str,
    log: Log | None,
) -> Crawl:
    """Join the parts of a crawl."""
    kept = _RobotsInStore(store, writer)
    rules = RobotsChecker(get, kept, time.time, settings.crawl.token, settings.fetch.retry_wait)
    visitor = Visitor(get, rules, url_filter, settings, time.time)
    store_session = StoreSession(
        store,
        writer,
        worker=name,
        level_by_level=settings.crawl.max_depth >= 0,
        notify=notify,
        session=session,
    )
    return Crawl(store_session, visitor, settings, notify=notify, address_of=address_of, log=log)


class _RobotsInStore:
    """Keeps robots_cache.txt in the store, on the writer thread."""

    def __init__(self, store: Store, writer: Writer) -> None:
        self._store = store
        self._writer = writer

    async def get_robots(self, origin: str) -> CachedRobots | None:
        """Return what is kept of an origin."""

        def get() -> CachedRobots | None:
            with self._store.transaction() as connection:
                return robots_cache.get(connection, origin)

        return await self._writer.call(get)

    async def put_robots(self, origin: str, kept: CachedRobots) -> None:
        """Keep what is known of an origin."""

        def put() -> None:
            with self._store.transaction() as connection:
                robots_cache.put(connection, origin, kept)

        await self._writer.call(put)


@contextmanager
def _signals(run: Crawl, notify: Callable[[str], None]) -> Iterator[None]:
    """Let Ctrl-C stop a crawl: once after what is in flight, twice at once."""
    loop = asyncio.get_running_loop()
    asked: list[Any] = []

    def interrupted() -> None:
        asked.append(True)
        if len(asked) == 1:
            notify("Stopping after the requests in flight; Ctrl-C again stops at once.")
            run.stop()
        else:
            run.stop(now=True)

    caught = (signal.SIGINT, signal.SIGTERM)
    for number in caught:
        loop.add_signal_handler(number, interrupted)
    try:
        yield
    finally:
        for number in caught:
            loop.remove_signal_handler(number)
