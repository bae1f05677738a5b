"""What engines put: URLs that they found go into the store, and reports on those that were out."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonical, Canonicalizer, InvalidURL, Refused
from canonry.crawler.admission.scope import host_of
from canonry.crawler.frontier.reports import Item, Report, depth_of, report_of
from canonry.crawler.learn.rules.in_force import StoredRules
from canonry.crawler.learn.session import LearningSession, surviving_learning
from canonry.crawler.settings import FrontierSettings
from canonry.storage import Candidate, Hop, Outcome, Queued, Store
from canonry.storage.frontier import scheduling
from canonry.storage.frontier.scheduling import UNDISCOVERED
from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.records import RecordedOutcome
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.bulk import rows_of

_FOUND = (
    "SELECT urls.id, url, depth, hops, attempts, hosts.name FROM urls "
    "JOIN hosts ON hosts.id = host_id WHERE urls.id"
)


class _Put(NamedTuple):
    """An item with a canonical form, on its way into the store."""

    item: Item
    form: Canonical
    queue: str


class Intake:
    """Writes what engines put, and learns from it."""

    def __init__(
        self,
        store: Store,
        canonicalizer: Canonicalizer,
        settings: FrontierSettings,
        notify: Callable[[str], None],
        *,
        learns: bool,
    ) -> None:
        """Bind the store, and let learned rules apply to it.

        Args:
            store: open for writing.
            canonicalizer: decides which URLs are the same.
            settings: what an engine's metadata mean.
            notify: receives sentences for people.
            learns: True to learn rules from what engines put.
        """
        self._store = store
        self._canonicalizer = canonicalizer
        self._settings = settings
        self._notify = notify
        self._learning = LearningSession(canonicalizer, notify) if learns else None
        if self._learning is not None:
            self._learning.forget_hosts(())  # the queue has the URLs of a site before any report
        store.rules = self._learning or StoredRules(canonicalizer)

    def put(self, items: Sequence[Item], now: float) -> list[bool | None]:
        """Put URLs that were found, and reports on those that were handed out.

        A fault of learning only switches the learning off.

        Args:
            items: in their order.
            now: seconds since 1970.

        Returns:
            For each: True if it was new, or a report; False if it was known; None if it is no URL,
            or its queue has a zero character in its name.
        """

        def switch_off() -> bool:
            if self._learning is None:
                return False
            self._learning = None
            self._store.rules = StoredRules(self._canonicalizer)
            return True

        return surviving_learning(lambda: self._put(items, now), switch_off, self._notify)

    def _put(self, items: Sequence[Item], now: float) -> list[bool | None]:
        answers: list[bool | None] = [None] * len(items)
        forms = self._canonicalizer.many([item.url for item in items])
        puts: dict[int, _Put] = {}
        for place, (item, form) in enumerate(zip(items, forms, strict=True)):
            if isinstance(form, Refused) or "\0" in item.queue:  # PostgreSQL has no such names
                continue
            if queue := item.queue or host_of(form.url):
                puts[place] = _Put(item, form, queue)
        if not puts:
            return answers
        with self._store.transaction() as connection:
            news = self._admit(connection, list(puts.values()), now)
            for (place, put), is_new in zip(puts.items(), news, strict=True):
                answers[place] = is_new or put.item.is_known
            known = [put for put in puts.values() if put.item.is_known]
            if known:
                self._report(connection, known, now)
        return answers

    def _admit(self, connection: Connection, puts: Sequence[_Put], now: float) -> list[bool]:
        """Admit URLs; return for each True if engines did not know it before."""
        candidates = [
            Candidate(
                put.form.url,
                put.item.url,
                put.form.key,
                put.queue,
                depth_of(put.item.notes, self._settings) if put.item.notes else 0,
                listed=True,
                due=now,
            )
            for put in puts
        ]
        admissions = self._store.admit_in(connection, candidates, now)
        if self._learning is not None:
            self._learning.find(candidates, admissions)
        seen = [(a.url_id, put) for a, put in zip(admissions, puts, strict=True) if not a.new]
        again = scheduling.discover(connection, {url_id: put.queue for url_id, put in seen}, now)
        news = []
        new_rows, rows = [], {}
        for put, (url_id, is_first, _replaces) in zip(puts, admissions, strict=True):
            is_new = is_first or url_id in again
            news.append(is_new)
            if not is_new:
                continue
            again.discard(url_id)
            if not is_first:
                rows[url_id] = put.item.metadata
            elif put.item.metadata:
                new_rows.append((url_id, put.item.metadata))
        scheduling.add_metadata(connection, new_rows)
        scheduling.put_metadata(connection, rows)
        return news

    def _report(self, connection: Connection, puts: Sequence[_Put], now: float) -> None:
        """Record what came of URLs, learn from it, and let their queues give others."""
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
        scheduling.wake(connection, {row[5] for row in found.values()})

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


def _told(recorded: RecordedOutcome, reports: Mapping[int, Report]) -> RecordedOutcome:
    """Return an outcome without its page, if nothing is known of what the page holds."""
    outcome = recorded.outcome
    report = reports[outcome.url_id]
    if report.tells_content or report.status >= FIRST_ERROR:
        return recorded
    return recorded._replace(outcome=outcome._replace(page=None))
