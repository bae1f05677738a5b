"""The session of one Scrapy crawler with its store: claims, queue and observations."""

import gc
import logging
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler
from sqlalchemy import Connection, select

from canonry.canon import Canonicalizer
from canonry.canon.learned import describe
from canonry.crawler.adapters.scrapy.adapter_settings import read_settings
from canonry.crawler.adapters.scrapy.fingerprints import RequestKeys
from canonry.crawler.adapters.scrapy.request_recorder import RequestRecorder, candidate_of
from canonry.crawler.adapters.scrapy.suppressed import LEARNED, Duplicate, DuplicateRules
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.named_policies import find_rules
from canonry.crawler.opening import open_store, policy_for
from canonry.crawler.run.job.lease_owners import has_ended, own_name
from canonry.storage import State
from canonry.storage.learned import rule_rows
from canonry.storage.requests import request_queue
from canonry.storage.requests.request_queue import NewRequest, TakenRequest
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.seen.seen_set import Recent
from canonry.storage.sql.engine import without_password
from canonry.storage.sql.schema import urls
from canonry.storage.sql.tables.guest_tables import RequestState

_BEAT = 20.0  # seconds between two extensions of a worker's leases
_alive: set[str] = set()  # workers in this process


class WorkerLife:
    """One worker, from its start to its end. The caller's transactions hold the write lock."""

    def __init__(self) -> None:
        """Start a worker under a unique name."""
        self.name = own_name()
        self._beat_at = 0.0
        _alive.add(self.name)

    def beat(self, connection: Connection) -> None:
        """Extend the worker's leases from time to time."""
        now = time.time()
        if now - self._beat_at > _BEAT:
            request_queue.extend(connection, self.name, now)
            self._beat_at = now

    def reclaim(self, connection: Connection) -> int:
        """Take over from workers that have ended; return how many requests were in flight."""
        self.beat(connection)
        names = request_queue.REQUESTS.holders(connection) - _alive
        return request_queue.give_back(connection, [name for name in names if _is_over(name)])

    def end(self) -> None:
        """Let other workers of this process take over any requests that are left."""
        _alive.discard(self.name)


def _is_over(name: str) -> bool:
    """Return True if a worker of another process on this machine has ended.

    A worker with our process number has ended, too: containers give each process the same one.
    """
    return name.split(":")[1] == str(os.getpid()) or has_ended(name)


_LOG = logging.getLogger(__name__)
_RECORD = 2.0  # seconds between two recordings
_MOST_OPEN = 128  # claimed requests that wait to be admitted
_RECENT = 1 << 15  # least number of claims that are known without a query
_sessions: "WeakKeyDictionary[Crawler, RequestSession]" = WeakKeyDictionary()


class RequestSession:
    """A crawler's session with its store. The crawler's components share it."""

    def __init__(self, crawler: Crawler) -> None:
        """Read the settings; `open` opens the store."""
        self._settings = read_settings(crawler.settings)
        policy = policy_for(self._settings.store, self._settings.policy)
        self.canonicalizer = Canonicalizer(policy)
        self.keys = RequestKeys(self.canonicalizer)
        self.duplicates = DuplicateRules(self.canonicalizer, crawler.stats)
        self.is_resumed = False
        self._uses = 0

    @classmethod
    def of(cls, crawler: Crawler) -> "RequestSession":
        """Return the session of a crawler."""
        if crawler not in _sessions:
            _sessions[crawler] = cls(crawler)
        return _sessions[crawler]

    @property
    def is_open(self) -> bool:
        """True while the store is open."""
        return self._uses > 0

    def open(self, spider: str, *, queues: bool) -> None:
        """Open the store, for one of the components.

        Args:
            spider: the name of the spider, whose queue this is.
            queues: True for the scheduler: then the store has the requests, not only their claims.

        Raises:
            StoreError: if the store cannot be used.
        """
        if not self._uses:
            self._open(spider)
        self._uses += 1
        self.recorder.queues |= queues

    def _open(self, spider: str) -> None:
        """Open the store, and take over the requests of dead workers."""
        self.spider = spider
        self.store = open_store(self._settings.store, self.canonicalizer.policy, _LOG.info)
        self._life = WorkerLife()
        self.worker = self._life.name
        self._rules: LearningSession | StoredRules = StoredRules(self.canonicalizer)
        learns = None
        if self._settings.learn:
            learns = LearningSession(self.canonicalizer, _LOG.info)
            self._rules = learns
        self.store.rules = self._rules
        self.recorder = RequestRecorder(self.store, spider, self.worker, learns, _LOG.info)
        self._recent = Recent(_RECENT)
        self._not_admitted = 0
        self._recorded_at = 0.0
        self._place = 0
        with self.store.transaction() as connection:
            self._import_rules(connection)
        with self._briefly() as connection:
            again = self._life.reclaim(connection)
            size = request_queue.size(connection, spider)
            self.is_resumed = size > 0
            if not self.is_resumed:
                request_queue.end_crawl(connection, spider)
            self._newest = request_queue.newest(connection)
        self.record_all()
        _freeze_modules()
        if self.is_resumed:
            place = without_password(self._settings.store)
            message = "Resuming crawl: %d requests of %r in %s; %d of them were in flight"
            _LOG.info(message, size, spider, place, again)

    def _import_rules(self, connection: Connection) -> None:
        """Import the rules of the settings that the store does not know yet."""
        if self._settings.rules is None:
            return
        given = find_rules(self._settings.rules, self.canonicalizer.policy)
        new = [one for one in given.rules if not rule_rows.with_prefix(connection, one.id)]
        rule_store.import_rules(connection, new, self.canonicalizer, time.time())
        for one in new:
            _LOG.info("Imported rule %s: %s", one.id, describe(one))

    def close(self, reason: str) -> None:
        """Close the store after its last component; requests in flight go back to the queue."""
        self._uses -= 1
        if self._uses:
            return
        try:
            self.record_all()
            with self._briefly() as connection:
                request_queue.give_back(connection, [self.worker])
                if reason == "finished" and not request_queue.size(connection, self.spider):
                    request_queue.end_crawl(connection, self.spider)
        finally:
            self._life.end()
            self.store.close()
        suppressed = self.duplicates.suppressed
        suppressed[LEARNED] += max(self.recorder.parked, 0)
        if total := suppressed.total():
            each = ", ".join(f"{rule} {n:,}" for rule, n in suppressed.most_common() if n)
            _LOG.info("%s fetches suppressed, by rule: %s", f"{total:,}", each)

    @contextmanager
    def _briefly(self) -> Iterator[Connection]:
        """Run a block as a transaction that changes neither learned rules nor URLs."""
        self.store.rules = None
        try:
            with self.store.transaction() as connection:
                yield connection
        finally:
            self.store.rules = self._rules

    def next_place(self) -> int:
        """Return a number that is greater than all before, including those of earlier processes."""
        self._place = max(self._place + 1, time.time_ns())
        return self._place

    def put(self, request: Request, new: NewRequest) -> Duplicate | None:
        """Claim and queue a request in one transaction; return why if it is a duplicate.

        Exactly one caller per claim, in any process, ever gets None.

        Args:
            request: the request.
            new: its row; a row without a claim is always queued.
        """
        claim = new.claim
        if claim is None:
            self._put_unclaimed(new)
            return None
        if self.is_recent(claim):
            return self.duplicate(request, new.key)
        if new.key is not None and not new.hops and self._rules.rewrite(new.url) is not None:
            return self._put_under_rules(request, new, new.key)
        with self._briefly() as connection:
            is_new = request_queue.put(connection, new)
        self._recent.update({claim: 0})
        if not is_new:
            return self.duplicate(request, new.key)
        self.duplicates.keep_first(request, new.key)
        source = self.keys.source_of(request)
        if new.key is not None and source is not None:
            self.recorder.found_on(new.key, source)
        self._not_admitted += 1
        if self._not_admitted >= _MOST_OPEN:
            self.record()
        return None

    def _put_unclaimed(self, new: NewRequest) -> None:
        """Queue a request without a claim, even if its URL is claimed."""
        if self._not_admitted and new.key is not None:
            self.record_all()  # so that the id of its URL is known, if there is one
        with self._briefly() as connection:
            if new.key is not None:
                url_id = url_ids_of_keys(connection, [new.key]).get(new.key)
                new = new._replace(url_id=url_id)
            request_queue.put(connection, new)

    def _put_under_rules(self, request: Request, new: NewRequest, key: bytes) -> Duplicate | None:
        """Claim and queue a plain GET on a site with learned rules, which may hold it."""
        source = self.keys.source_of(request)
        with self.store.transaction() as connection:
            ids = {} if source is None else url_ids_of_keys(connection, [source])
            source_id = None if source is None else ids.get(source)
            candidate = candidate_of(new.url, key, new.depth, new.hops, source_id)
            if request_queue.is_known(connection, key):
                held = None
            else:
                [admitted] = self.store.admit_in(connection, [candidate], time.time())
                state = select(urls.c.state).where(urls.c.id == admitted.url_id)
                held = connection.scalar(state) == State.HELD
                status = int(RequestState.PARKED if held else new.status)
                row = new._replace(claim=None, url_id=admitted.url_id, status=status)
                request_queue.put(connection, row)
                if admitted.replaces is not None:
                    self.recorder.parked += request_queue.park(connection, [admitted.replaces])
        self._recent.update({key: 0})
        if held is None:
            return self.duplicate(request, key)
        if not held:
            return None
        rewritten = self._rules.rewrite(new.url)
        with self._briefly() as connection:
            names = rewritten.rules if rewritten is not None else ()
            return self.duplicates.held(connection, request, names)

    def is_recent(self, claim: bytes) -> bool:
        """Return True if a claim was seen recently; False means that only the store knows."""
        young, old = self._recent.generations
        return claim in young or claim in old

    def duplicate(self, request: Request, key: bytes | None) -> Duplicate:
        """Return the reason why a request is a duplicate."""
        if (found := self.duplicates.remembered(request, key)) is not None:
            return found
        with self._briefly() as connection:
            return self.duplicates.find(connection, request, key)

    def take(self, finished: Sequence[int]) -> TakenRequest | None:
        """Store which requests are done, and take the next one; None if none is ready."""
        with self._briefly() as connection:
            request_queue.finish(connection, finished)
            self._life.beat(connection)
            taken = request_queue.take(connection, self.spider, self.worker, time.time())
        if time.monotonic() - self._recorded_at > _RECORD:
            self.record()
        return taken

    def finish(self, request_ids: Sequence[int]) -> None:
        """Store which requests are done."""
        with self._briefly() as connection:
            request_queue.finish(connection, request_ids)

    def done(self, new: NewRequest) -> NewRequest:
        """Return the row of a request that is finished, and that this worker will record."""
        until = time.time() + request_queue.LEASE_SECONDS
        return new._replace(status=int(RequestState.DONE), holder=self.worker, held_until=until)

    def put_done(self, new: NewRequest) -> None:
        """Store a finished request that the store has not seen before."""
        with self._briefly() as connection:
            request_queue.put(connection, self.done(new))
        self._not_admitted += 1

    def find(self, request: Request, new: NewRequest) -> Duplicate | None:
        """Return why a request is a duplicate, without claiming it; None if it is not one."""
        with self._briefly() as connection:
            if not request_queue.is_known(connection, new.fingerprint):
                return None
            return self.duplicates.find(connection, request, new.key)

    def waits(self) -> bool:
        """Return True if requests of the spider are ready, or in flight at other workers."""
        self.record_all()
        with self._briefly() as connection:
            self._life.reclaim(connection)
            self.recorder.sweep(connection)
            return request_queue.waits_for_others(connection, self.spider, self.worker)

    def size(self) -> int:
        """Return how many requests of the spider are ready or in flight."""
        with self._briefly() as connection:
            return request_queue.size(connection, self.spider)

    def was_started(self, request: Request) -> bool:
        """Return True if an earlier process of a resumed crawl has sent a start request."""
        if not (self.is_resumed and self.is_open):
            return False
        fingerprint = self.keys.fingerprint(request)
        with self._briefly() as connection:
            return request_queue.was_started(connection, self.spider, fingerprint, self._newest)

    def record(self) -> bool:
        """Record a batch of finished requests; return True if there may be more."""
        self._recorded_at = time.monotonic()
        self._not_admitted = 0
        return self.recorder.record(time.time())

    def record_all(self) -> None:
        """Record all finished requests."""
        while self.record():
            pass


@cache
def _freeze_modules() -> None:
    """Exclude all current objects, mostly modules, from garbage collection, once in a process.

    Measured: the process ends in a tenth of the time.
    """
    gc.freeze()
