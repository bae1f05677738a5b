"""The scheduler: keep the requests of a spider in the store, each claimed when it is queued."""

import heapq
import logging
from collections.abc import Set as AbstractSet
from typing import NamedTuple, Self

from queuelib import FifoDiskQueue
from scrapy import Request, Spider
from scrapy.core.engine import ExecutionEngine
from scrapy.core.scheduler import BaseScheduler
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter  # noqa: TC002 - the type of a public attribute
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import build_from_crawler, load_object
from twisted.internet.defer import Deferred

from canonry.crawler.adapters.scrapy import request_rows
from canonry.crawler.adapters.scrapy.dupe_filter import CanonryDupeFilter
from canonry.crawler.adapters.scrapy.request_rows import UnserializableError
from canonry.crawler.adapters.scrapy.request_session import RequestSession
from canonry.crawler.adapters.scrapy.suppressed import SAME_URL, Duplicate
from canonry.storage import StoreError
from canonry.storage.requests.request_queue import NewRequest

_LOG = logging.getLogger(__name__)


class _InMemory(NamedTuple):
    """A request that cannot be serialized, sorted by the order in which it is sent."""

    order: tuple[int, int, int]
    row: NewRequest
    request: Request


class CanonryScheduler(BaseScheduler):
    """Scrapy's ``SCHEDULER``, on a store of Canonry.

    A request is claimed and queued in one transaction. It stays in the store until its response is
    processed and all requests that follow from it are stored. So a killed process loses nothing,
    and sends again only the requests that it had in flight.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Bind the crawler's session with the store."""
        self._crawler = crawler
        self._session = RequestSession.of(crawler)
        filter_class = load_object(crawler.settings["DUPEFILTER_CLASS"])
        self.df: BaseDupeFilter = build_from_crawler(filter_class, crawler)
        queue_class = load_object(crawler.settings["SCHEDULER_DISK_QUEUE"])
        self._is_fifo = issubclass(queue_class, FifoDiskQueue)
        self._in_flight: dict[Request, int | NewRequest] = {}
        self._memory: list[_InMemory] = []
        self._memory_claims: set[bytes] = set()
        self._is_empty = False  # True if the store had no ready request last time
        self._has_failed = False
        self._warns = crawler.settings.getbool("SCHEDULER_DEBUG")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the scheduler of a crawler."""
        return cls(crawler)

    def open(self, spider: Spider) -> Deferred[None] | None:
        """Open the store; an unfinished crawl of the spider is resumed.

        Raises:
            StoreError: if the store cannot be used.
        """
        self._spider = spider
        self._session.open(spider.name, queues=True)
        return self.df.open()

    def close(self, reason: str) -> Deferred[None] | None:
        """Close the store; unprocessed requests go back to the queue."""
        try:
            if not self._has_failed:
                self._finish()
            self._session.close("failed" if self._has_failed else reason)
        except StoreError as error:
            self._fail(error)
        return self.df.close(reason)

    def __len__(self) -> int:
        """Return how many requests of the spider are queued or in flight."""
        return self._session.size() + len(self._memory)

    def has_pending_requests(self) -> bool:
        """Return True if there are requests to send, here or at another worker of the spider."""
        if self._memory:
            return True
        if self._has_failed:
            return False
        try:
            self._finish()
            self._is_empty = False
            return self._session.waits()
        except StoreError as error:
            self._fail(error)
            return False

    def enqueue_request(self, request: Request) -> bool:
        """Store a request; return False if it is a duplicate, or the store has failed."""
        if self._has_failed:
            return False
        try:
            return self._enqueue(request)
        except StoreError as error:
            self._fail(error)
            return False

    def _enqueue(self, request: Request) -> bool:
        """Store a request; return False if it is a duplicate."""
        session, original = self._session, request
        request = session.keys.as_browsers(request)
        request_key = session.keys.of(request)
        claims = not request.dont_filter
        if claims and "redirect_urls" in request.meta:
            claims = not request_rows.continues(session, request, request_key)
        if claims and not isinstance(self.df, CanonryDupeFilter):  # the project has its own filter
            if self.df.request_seen(request):
                self.df.log(request, self._spider)
                return False
            claims = False
        if claims and session.is_recent(request_key.fingerprint):  # a fast path for most links
            return self._drop(original, session.duplicate(original, request_key.key))
        row = request_rows.row_of(session, request, request_key, is_fifo=self._is_fifo)
        if not claims:
            row = row._replace(claim=None)
        try:
            row = row._replace(body=request_rows.encode(request, self._spider))
        except UnserializableError as error:
            return self._remember(request, row, error)
        duplicate = session.put(original, row)
        if duplicate is not None:
            return self._drop(original, duplicate)
        self._is_empty = False
        self._count("enqueued", "canonry")
        return True

    def _remember(self, request: Request, row: NewRequest, error: UnserializableError) -> bool:
        """Keep a request that cannot be serialized in memory; return False if it is a duplicate.

        Its claim is stored when it is done. If the process is killed before, the page on which it
        was found yields it again.
        """
        if row.claim is not None:
            duplicate = self._session.find(request, row)
            if duplicate is None and row.claim in self._memory_claims:
                duplicate = Duplicate(SAME_URL, request.url, is_suppressed=False)
            if duplicate is not None:
                return self._drop(request, duplicate)
            self._memory_claims.add(row.claim)
        if self._warns:
            self._warns = False
            message = "Unable to serialize request: %s - reason: %s - no more will be logged"
            _LOG.warning(message, request, error, extra={"spider": self._spider})
        heapq.heappush(self._memory, _InMemory((row.rank, row.is_start, row.place), row, request))
        self._increment("scheduler/unserializable")
        self._count("enqueued", "memory")
        return True

    def _drop(self, request: Request, duplicate: Duplicate) -> bool:
        """Log and count a duplicate."""
        if isinstance(self.df, CanonryDupeFilter):
            self.df.keep(request, duplicate)
        self.df.log(request, self._spider)
        return False

    def next_request(self) -> Request | None:
        """Store which requests are done, and return the best one; None if none is ready."""
        if self._has_failed:
            return None
        try:
            return self._next()
        except StoreError as error:
            self._fail(error)
            return None

    def _next(self) -> Request | None:
        """Return the best request; those in memory come before all others."""
        if self._memory:
            self._finish()
            one = heapq.heappop(self._memory)
            self._in_flight[one.request] = one.row
            self._count("dequeued", "memory")
            return one.request
        finished = self._finished()
        if self._is_empty and not finished:
            return None
        taken = self._session.take(finished)
        self._is_empty = taken is None
        if taken is None:
            return None
        try:
            request = request_rows.decode(taken.body, self._spider)
        except ValueError:
            message = "A stored request cannot be read; it stays in the queue for the next start"
            _LOG.exception(message, extra={"spider": self._spider})
            return self._next()
        self._in_flight[request] = taken.request_id
        self._count("dequeued", "canonry")
        return request

    def _finish(self) -> None:
        """Store which requests are done."""
        if finished := self._finished():
            self._session.finish(finished)

    def _finished(self) -> list[int]:
        """Return the ids of requests whose responses were processed.

        Requests from memory are stored as done here.
        """
        request_ids: list[int] = []
        for request in self._in_flight.keys() - self._in_progress():
            id_or_row = self._in_flight.pop(request)
            if isinstance(id_or_row, int):
                request_ids.append(id_or_row)
                continue
            self._memory_claims.discard(id_or_row.claim or b"")
            self._session.put_done(id_or_row)
        return request_ids

    def _in_progress(self) -> AbstractSet[Request]:
        """Return the requests that Scrapy is still processing.

        The engine keeps one until its callback has ended and all requests from it are with the
        scheduler. No version of Scrapy has a signal for that.
        """
        slot = getattr(_engine_of(self._crawler), "_slot", None)
        return self._in_flight.keys() if slot is None else slot.inprogress

    def _fail(self, error: StoreError) -> None:
        """Stop the spider, since requests would be lost without the store; the next run resumes."""
        if self._has_failed:
            return
        self._has_failed = True
        _LOG.error("The store failed: %s", error, extra={"spider": self._spider})
        engine = _engine_of(self._crawler)
        if engine is None or engine.spider is None:
            return
        if hasattr(engine, "close_spider_async"):
            deferred_from_coro(engine.close_spider_async(reason="canonry_store_failed"))
        else:  # before Scrapy 2.14
            engine.close_spider(engine.spider, "canonry_store_failed")

    def _count(self, what: str, where: str) -> None:
        """Count a request in Scrapy's stats."""
        self._increment(f"scheduler/{what}/{where}")
        self._increment(f"scheduler/{what}")

    def _increment(self, name: str) -> None:
        """Add 1 to one of Scrapy's stats."""
        if self._crawler.stats is not None:
            self._crawler.stats.inc_value(name)


def _engine_of(crawler: Crawler) -> ExecutionEngine | None:
    """Return a crawler's engine; None before it is made, when newer versions of Scrapy raise."""
    try:
        return crawler.engine
    except RuntimeError:
        return None
