"""The recorder: turn finished requests into outcomes for the store, and learn from them."""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby

from sqlalchemy import Connection

from canonry.crawler.adapters.scrapy.observations import Observation, outcome_of
from canonry.crawler.admission.scope import host_of
from canonry.crawler.learn.session import LearningSession, surviving_learning
from canonry.storage import Admission, Candidate, Outcome, Store, facts
from canonry.storage.requests import request_queue
from canonry.storage.requests.request_queue import DoneRequest, OpenRequest
from canonry.storage.seen.key_rows import url_ids_of_keys

AT_ONCE = 256  # requests in one transaction
_MOST = 20_000  # URLs with observations whose requests are not done, or that are not admitted
_NO_ID = 0
_UNKNOWN = -1  # generation of rules


class RequestRecorder:
    """Records requests for one worker. The store's transactions hold the write lock."""

    def __init__(
        self,
        store: Store,
        spider: str,
        worker: str,
        learning: LearningSession | None,
        notify: Callable[[str], None],
    ) -> None:
        """Bind a spider's queue.

        Args:
            store: the store.
            spider: whose queue it is.
            worker: the name under which requests are taken.
            learning: learns from the outcomes; None to learn nothing.
            notify: receives sentences for people.
        """
        self.queues = False  # True if the store has the requests, not only their claims
        self.parked = 0  # queued requests that learned rules hold now
        self._store = store
        self._spider = spider
        self._worker = worker
        self._learning = learning
        self._notify = notify
        self._generation = _UNKNOWN
        self._observed: OrderedDict[bytes, Observation] = OrderedDict()  # by key
        self._sources: OrderedDict[bytes, bytes] = OrderedDict()  # keys of pages, by key

    @property
    def learns(self) -> bool:
        """True if the text of pages is needed."""
        return self._learning is not None

    def observed(self, key: bytes) -> Observation | None:
        """Return the observation of a URL whose request is not recorded yet."""
        return self._observed.get(key)

    def observe(self, key: bytes, observation: Observation) -> None:
        """Keep the observation of a URL until its request is recorded."""
        self._observed[key] = observation
        if len(self._observed) > _MOST:
            self._observed.popitem(last=False)

    def found_on(self, key: bytes, source: bytes) -> None:
        """Keep the key of the page on which a claimed URL was found, until it is admitted."""
        self._sources[key] = source
        if len(self._sources) > _MOST:
            self._sources.popitem(last=False)

    def _admissions(
        self, connection: Connection, waiting: Sequence[OpenRequest], now: float
    ) -> list[Admission]:
        """Admit claimed requests, those of each depth together, as their sources come before."""
        admissions: dict[int, Admission] = {}
        by_depth = sorted(waiting, key=lambda request: request.depth)
        for _depth, group in groupby(by_depth, key=lambda request: request.depth):
            some = list(group)
            sources = [self._sources.pop(request.key, None) for request in some]
            ids = url_ids_of_keys(connection, list({key for key in sources if key is not None}))
            candidates = [
                candidate_of(
                    one.url, one.key, one.depth, one.hops, None if key is None else ids.get(key)
                )
                for one, key in zip(some, sources, strict=True)
            ]
            admitted = self._store.admit_in(connection, candidates, now)
            admissions |= {one.request_id: to for one, to in zip(some, admitted, strict=True)}
        return [admissions[request.request_id] for request in waiting]

    def _admit(self, connection: Connection, now: float) -> int:
        """Admit claimed requests as URLs of the store, the oldest first; return how many."""
        waiting = request_queue.not_admitted(connection, AT_ONCE)
        if not waiting:
            return 0
        admissions = self._admissions(connection, waiting, now)
        pairs = list(zip(waiting, admissions, strict=True))
        request_queue.admitted(
            connection, [(request.request_id, admission.url_id) for request, admission in pairs]
        )
        # A program without requests, such as `canonry crawl`, has claimed the URL in the meantime.
        request_queue.drop(
            connection,
            (
                request.request_id
                for request, admission in pairs
                if not admission.new and request.waits
            ),
        )
        held = [admission.url_id for _request, admission in pairs if admission.new]
        held += [admission.replaces for admission in admissions if admission.replaces is not None]
        self._park(connection, held)
        return len(waiting)

    def sweep(self, connection: Connection) -> None:
        """Park and release queued requests by the current learned rules."""
        self.parked += request_queue.sweep(connection, self._spider)

    def _park(self, connection: Connection, url_ids: Sequence[int]) -> int:
        """Park queued requests for URLs that a rule holds now; return how many."""
        parked = request_queue.park(connection, url_ids)
        self.parked += parked
        return parked

    def record(self, now: float) -> bool:
        """Record requests whose responses were processed, and learn from them.

        A fault of learning only switches the learning off.

        Returns:
            True if there may be more to record.
        """

        def switch_off() -> bool:
            was_on = self._learning is not None
            self._learning = None
            return was_on

        return surviving_learning(lambda: self._record(now), switch_off, self._notify)

    def _record(self, now: float) -> bool:
        sentence = None
        with self._store.transaction() as connection:
            number = self._admit(connection, now)
            finished = request_queue.done(connection, self._spider, self._worker, AT_ONCE, now)
            outcomes = self._outcomes(connection, finished)
            recorded = self._store.record_in(connection, outcomes, now, again=True)
            if self._learning is not None and outcomes:
                learned = self._learning.learn(connection, recorded, now)
                sentence = learned.in_words(self._park(connection, learned.later))
            request_queue.forget(connection, finished)
            generation = facts.generation(connection, facts.RULES)
            if generation != self._generation:
                self.sweep(connection)
        self._generation = generation
        if sentence is not None:
            self._notify(sentence)
        for key in self._settled(outcomes, finished):
            self._observed.pop(key, None)
        return max(number, len(finished)) == AT_ONCE

    def _settled(
        self, outcomes: Sequence[Outcome], finished: Sequence[DoneRequest]
    ) -> Iterable[bytes]:
        """Return the keys whose observations were recorded."""
        if not self.queues:
            return list(self._observed)
        urls = {outcome.queued.url for outcome in outcomes}
        return [one.key for one in finished if one.key is not None and one.url in urls]

    def _outcomes(self, connection: Connection, finished: Sequence[DoneRequest]) -> list[Outcome]:
        """Return the outcomes of requests, in order; one for each URL."""
        requests = list(finished)
        if not self.queues:  # Scrapy has the queue: requests are done when they are answered
            requests += [
                DoneRequest(_NO_ID, observation.url, 0, 0, None, key)
                for key, observation in self._observed.items()
            ]
        wanted = {request.key for request in requests if request.key is not None}
        observations = {key: self._observed.get(key, Observation()) for key in wanted}
        wanted |= {hop.target.key for observed in observations.values() for hop in observed.hops}
        ids_by_key = url_ids_of_keys(connection, list(wanted))
        outcomes: dict[int, Outcome] = {}
        for request in requests:
            if request.key is None or (url_id := ids_by_key.get(request.key)) is None:
                continue
            observation = observations[request.key]
            if observation.page is None and request_queue.has_others(connection, url_id):
                continue  # another try, or a redirect to the same resource, comes next
            outcomes[url_id] = outcome_of(request, url_id, observation, ids_by_key)
        return list(outcomes.values())


def candidate_of(
    url: str, key: bytes, depth: int, hops: int, source: int | None = None
) -> Candidate:
    """Return a requested URL as a candidate for the store, with the id of its source."""
    return Candidate(url, url, key, host_of(url), depth, hops, source, listed=source is None)
