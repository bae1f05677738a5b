"""One crawl as a frontier: what engines put goes into its store, and what is due comes out of it.

Every method is one transaction, on the thread that writes to the store. Nothing is acknowledged,
and no URL handed out, before it is committed.
"""

import traceback
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple, TypeVar

from sqlalchemy import ColumnElement, Connection

from canonry.canon import Canonical, Canonicalizer, InvalidURL, Policy
from canonry.canon.pipeline.canonical import Refused
from canonry.crawler.admission.scope import host_of
from canonry.crawler.frontier.reports import Item, Report, depth_of, report_of
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.crawler.learn.session import LearningSession
from canonry.crawler.opening import open_store
from canonry.crawler.settings import FrontierSettings
from canonry.storage import Candidate, Hop, Outcome, Queued, StoreError
from canonry.storage.frontier import queues, scheduling
from canonry.storage.frontier.frontier_tables import create_tables
from canonry.storage.frontier.queues import FrontierURL, QueueFigures
from canonry.storage.frontier.scheduling import LIMIT, UNDISCOVERED, HandedOut, Wish
from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.records import RecordedOutcome
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import urls

_FOUND = (
    "SELECT urls.id, url, depth, hops, attempts, hosts.name FROM urls "
    "JOIN hosts ON hosts.id = host_id WHERE urls.id"
)
_DAY = 86_400  # seconds
_DELETED_AT_ONCE = 20_000  # URLs
_R = TypeVar("_R")


class UnknownQueueError(LookupError):
    """There is no queue of that name."""


class _Put(NamedTuple):
    """An item with a canonical form, on its way into the store."""

    item: Item
    form: Canonical
    queue: str


class CrawlFrontier:
    """The frontier of one crawl."""

    def __init__(
        self,
        store: str,
        policy: Policy,
        settings: FrontierSettings,
        notify: Callable[[str], None],
        *,
        learns: bool,
    ) -> None:
        """Open a store; create it if there is none.

        Args:
            store: a SQLAlchemy URL, or the path of a file.
            policy: decides which URLs are the same.
            settings: what an engine's metadata mean.
            notify: receives sentences for people.
            learns: True to learn rules from what engines put.

        Raises:
            StoreError: if the store cannot be used.
        """
        self._settings = settings
        self._notify = notify
        self._canonicalizer = Canonicalizer(policy)
        self._store = open_store(store, policy, notify)
        self._learning = LearningSession(self._canonicalizer, notify) if learns else None
        if self._learning is not None:
            self._learning.forget_hosts(())  # the queue has the URLs of a site before any report
        self._store.rules = self._learning or StoredRules(self._canonicalizer)
        with self._store.transaction() as connection:
            create_tables(connection)

    def close(self) -> None:
        """Close the store."""
        self._store.close()

    def put(self, items: Sequence[Item], now: float) -> list[bool | None]:
        """Put URLs that were found, and reports on those that were handed out.

        A fault of learning only switches the learning off.

        Args:
            items: in their order.
            now: seconds since 1970.

        Returns:
            For each: True if it was new, or a report; False if it was known; None if it is no URL.
        """
        try:
            return self._put(items, now)
        except StoreError:
            raise
        except Exception as error:
            if self._learning is None:
                raise
            trace = "".join(traceback.format_exception(error)).rstrip()
            self._notify(f"learning failed and is switched off; please report this:\n{trace}")
            self._learning = None
            self._store.rules = StoredRules(self._canonicalizer)
            return self._put(items, now)

    def _put(self, items: Sequence[Item], now: float) -> list[bool | None]:
        answers: list[bool | None] = [None] * len(items)
        forms = self._canonicalizer.many([item.url for item in items])
        puts: dict[int, _Put] = {}
        for place, (item, form) in enumerate(zip(items, forms, strict=True)):
            if not isinstance(form, Refused) and (queue := item.queue or host_of(form.url)):
                puts[place] = _Put(item, form, queue)
        if not puts:
            return answers
        with self._store.transaction() as connection:
            news = self._admit(connection, list(puts.values()), now)
            answers_of = zip(puts, news, strict=True)
            answers = answers[:]
            for place, is_new in answers_of:
                answers[place] = is_new or items[place].is_known
            known = [put for put in puts.values() if put.item.is_known]
            if known:
                self._report(connection, known, now)
        return answers

    def _admit(self, connection: Connection, puts: Sequence[_Put], now: float) -> list[bool]:
        """Admit URLs; return for each True if engines did not know it before."""
        held = self._beyond_limits(connection, puts)
        candidates = [
            Candidate(
                put.form.url,
                put.item.url,
                put.form.key,
                put.queue,
                depth_of(put.item.notes, self._settings) if put.item.notes else 0,
                held=LIMIT if place in held else None,
                listed=True,
            )
            for place, put in enumerate(puts)
        ]
        admissions = self._store.admit_in(connection, candidates, now)
        if self._learning is not None:
            self._learning.find(candidates, admissions)
        seen = [(a.url_id, put) for a, put in zip(admissions, puts, strict=True) if not a.new]
        again = scheduling.discover(connection, {url_id: put.queue for url_id, put in seen})
        news = []
        new_rows, rows = [], {}
        woken = set()
        for put, (url_id, is_first, _replaces) in zip(puts, admissions, strict=True):
            is_new = is_first or url_id in again
            news.append(is_new)
            if not is_new:
                continue
            again.discard(url_id)
            woken.add(put.queue)
            if not is_first:
                rows[url_id] = put.item.metadata
            elif put.item.metadata:
                new_rows.append((url_id, put.item.metadata))
        scheduling.add_metadata(connection, new_rows)
        scheduling.put_metadata(connection, rows)
        scheduling.wake(connection, woken, now, self._delay(connection))
        return news

    def _beyond_limits(self, connection: Connection, puts: Sequence[_Put]) -> set[int]:
        """Return the places of new URLs that are more than their queues may have."""
        left = queues.limits(connection)
        some = [(at, put) for at, put in enumerate(puts) if put.queue in left]
        if not some:
            return set()
        counted = set(url_ids_of_keys(connection, [put.form.key for _at, put in some]))
        held = set()
        for at, put in some:
            if put.form.key in counted:
                continue
            if left[put.queue] > 0:
                counted.add(put.form.key)
                left[put.queue] -= 1
            else:
                held.add(at)
        return held

    def _report(self, connection: Connection, puts: Sequence[_Put], now: float) -> None:
        """Record what came of URLs, and learn from it."""
        latest = {put.form.key: put for put in puts}  # of several reports, the last one counts
        ids_by_key = url_ids_of_keys(connection, list(latest))
        found = {row[0]: row for row in rows_of(connection, _FOUND, list(ids_by_key.values()))}
        reports: dict[int, Report] = {}
        outcomes = []
        for key, url_id in ids_by_key.items():
            _id, url, depth, hops, attempts, queue = found[url_id]
            put = latest[key]
            report = reports[url_id] = report_of(put.item, self._settings)
            queued = Queued(url_id, url, depth, hops, attempts)
            outcomes.append(self._outcome(report, queued, queue, put.item.again_at))
        recorded = self._store.record_in(connection, outcomes, now, again=True)
        if self._learning is not None:
            self._learning.learn(connection, [_told(one, reports) for one in recorded], now)
        items = {url_id: latest[key].item for key, url_id in ids_by_key.items()}
        scheduling.put_metadata(connection, {u: item.metadata for u, item in items.items()})
        again_at = {
            one.outcome.url_id: items[one.outcome.url_id].again_at or None
            for one in recorded
            if one.late or one.outcome.retry_at is None
        }
        scheduling.put_again(connection, again_at)
        names = {row[5] for row in found.values()}
        scheduling.wake(connection, names, now, self._delay(connection))

    def _outcome(self, report: Report, queued: Queued, queue: str, again_at: int) -> Outcome:
        """Return what the store records of a report."""
        outcome = Outcome(queued, report.state, report.reason, page=report.page)
        if report.retries:
            outcome = outcome._replace(retry_at=float(again_at))
        leads = [
            Hop(kind, report.status, target)
            for kind, written in (("redirect", report.redirect), ("canonical", report.canonical))
            if written and (target := self._target(written, queued, queue)) is not None
        ]
        return outcome._replace(leads=tuple(leads))

    def _target(self, written: str, queued: Queued, queue: str) -> Candidate | None:
        """Return where a URL leads. Until an engine finds it as well, it is not handed out."""
        try:
            form = self._canonicalizer(written, queued.url)
        except InvalidURL:
            return None
        host = host_of(form.url)
        name = host if queue == host_of(queued.url) else queue
        hops = queued.hops + 1
        return Candidate(
            form.url, form.url, form.key, name or queue, queued.depth, hops, held=UNDISCOVERED
        )

    def get(self, wish: Wish, now: float) -> list[HandedOut]:
        """Hand out URLs that are due."""
        with self._store.transaction() as connection:
            return scheduling.hand_out(connection, wish, now, self._delay(connection))

    def _delay(self, connection: Connection) -> float:
        return queues.default_delay(connection, self._settings.delay)

    def _in(self, change: Callable[[Connection], _R]) -> _R:
        """Run a function in a transaction."""
        with self._store.transaction() as connection:
            return change(connection)

    def set_active(self, *, active: bool) -> None:
        """Let URLs be handed out, or not."""
        self._in(lambda connection: queues.put_active(connection, active=active))

    def is_active(self) -> bool:
        """Return False if no URLs are handed out."""
        return self._in(queues.is_active)

    def set_delay(self, queue: str, seconds: float, now: float) -> None:
        """Write the seconds between two calls that get URLs of a queue; "" for all others."""
        with self._store.transaction() as connection:
            if not queue:
                queues.put_default_delay(connection, seconds)
                return
            host_id = queues.made(connection, queue, now)
            queues.put_delay(connection, host_id, seconds, now, self._delay(connection))

    def block(self, queue: str, until: float, now: float) -> None:
        """Let a queue give no URLs before a time, in seconds since 1970; 0 ends its block."""
        with self._store.transaction() as connection:
            host_id = queues.made(connection, queue, now)
            queues.block(connection, host_id, until, now, self._delay(connection))

    def set_limit(self, queue: str, most: int, now: float) -> None:
        """Limit how many URLs a queue may have; 0 is no limit.

        Raises:
            UnknownQueueError: if there is no such queue.
        """
        with self._store.transaction() as connection:
            queues.put_limit(connection, _known_queue(connection, queue), most)
            scheduling.wake(connection, [queue], now, self._delay(connection))

    def figures(self, queue: str, now: float) -> QueueFigures:
        """Return the numbers of a queue, or of all for ""; a queue that is not there has none."""
        with self._store.transaction() as connection:
            if not queue:
                return queues.figures(connection, now)
            host_id = queues.id_of(connection, queue)
            if host_id is None:
                return QueueFigures(0, 0, 0, 0, 0)
            return queues.figures(connection, now, host_id)

    def names(self, start: int, most: int, now: float, *, inactive: bool) -> tuple[list[str], int]:
        """Return some names of queues, and the number of all."""
        return self._in(
            lambda connection: queues.names(connection, now, start, most, inactive=inactive)
        )

    def known(self, url: str) -> FrontierURL | None:
        """Return what is known of a URL, in whatever spelling; None if nothing is."""
        try:
            key = self._canonicalizer(url).key
        except InvalidURL:
            return None
        with self._store.transaction() as connection:
            url_id = url_ids_of_keys(connection, [key]).get(key)
            return None if url_id is None else queues.known(connection, url_id)

    def listed(
        self, queue: str, part: str, start: int, most: int, *, ignore_case: bool
    ) -> list[FrontierURL]:
        """Return some URLs of a queue, or of all for "", that contain a text."""
        with self._store.transaction() as connection:
            host_id = queues.id_of(connection, queue) if queue else None
            if queue and host_id is None:
                return []
            return queues.listed(connection, host_id, part, start, most, ignore_case=ignore_case)

    def count(self, queue: str, part: str, *, ignore_case: bool) -> int:
        """Return how many URLs a queue has, or all for "", that contain a text."""
        with self._store.transaction() as connection:
            host_id = queues.id_of(connection, queue) if queue else None
            if queue and host_id is None:
                return 0
            return queues.count(connection, host_id, part, ignore_case=ignore_case)

    def delete_queue(self, queue: str) -> int:
        """Delete a queue, and return how many URLs it had."""
        with self._store.transaction() as connection:
            host_id = queues.id_of(connection, queue)
            if host_id is None:
                return 0
            queues.reset(connection, host_id)
        return self._delete(urls.c.host_id == host_id)

    def purge(self, queue: str, days: int, now: float) -> int:
        """Delete the URLs of a queue, or of all for "", that came more than some days ago.

        Raises:
            UnknownQueueError: if there is no such queue.
        """
        which = urls.c.found_at < now - days * _DAY
        if queue:
            which &= urls.c.host_id == self._in(partial(_known_queue, queue=queue))
        return self._delete(which)

    def _delete(self, which: ColumnElement[bool]) -> int:
        """Delete the URLs that meet a condition, some in each transaction; return how many."""
        total = 0
        while number := self._in(partial(scheduling.delete, which=which, most=_DELETED_AT_ONCE)):
            total += number
        return total


def _known_queue(connection: Connection, queue: str) -> int:
    """Return the id of a queue.

    Raises:
        UnknownQueueError: if there is none of that name.
    """
    host_id = queues.id_of(connection, queue)
    if host_id is None:
        raise UnknownQueueError(f"there is no queue {queue!r}")
    return host_id


def _told(recorded: RecordedOutcome, reports: Mapping[int, Report]) -> RecordedOutcome:
    """Return an outcome without its page, if nothing is known of what the page holds."""
    outcome = recorded.outcome
    report = reports[outcome.url_id]
    if report.tells_content or report.status >= FIRST_ERROR:
        return recorded
    return recorded._replace(outcome=outcome._replace(page=None))
