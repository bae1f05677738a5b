"""One crawl as a frontier: what engines put goes into its store, and what is due comes out of it.

Every method but deletions is one transaction, on the thread that writes to the store. Nothing is
acknowledged, and no URL handed out, before it is committed.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from sqlalchemy import ColumnElement, Connection

from canonry.canon import Canonicalizer, InvalidURL, Policy
from canonry.crawler.frontier.intake import Intake
from canonry.crawler.frontier.reports import Item
from canonry.crawler.opening import open_store
from canonry.crawler.settings import FrontierSettings
from canonry.storage import StoreError
from canonry.storage.facts import drop_fact, fact, put_fact, put_served
from canonry.storage.frontier import queues, scheduling
from canonry.storage.frontier.queues import FrontierURL, QueueFigures
from canonry.storage.frontier.scheduling import PRESENT, HandedOut, Wish
from canonry.storage.learned import host_urls
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.schema import urls

_DELAY, _INACTIVE = "frontier delay", "frontier inactive"  # names of facts
_DAY = 86_400  # seconds
_SERVED = 60.0  # seconds; other commands leave alone a store that is served
_DELETED_AT_ONCE = 20_000  # URLs
_R = TypeVar("_R")


class UnknownQueueError(LookupError):
    """There is no queue of that name."""


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
        self._canonicalizer = Canonicalizer(policy)
        self._store = open_store(store, policy, notify)
        self._intake = Intake(self._store, self._canonicalizer, settings, notify, learns=learns)
        self._in(host_urls.index)  # a queue is listed, counted and deleted by its URLs
        self._in(scheduling.index)

    def put_served(self, now: float) -> None:
        """Write that the store is served, for a minute from now; in seconds since 1970."""
        self._in(partial(put_served, until=now + _SERVED))

    def close(self) -> None:
        """Close the store."""
        with suppress(StoreError):  # in a minute it counts as not served, anyway
            self._in(partial(put_served, until=None))
        self._store.close()

    def put(self, items: Sequence[Item], now: float) -> list[bool | None]:
        """Put URLs that were found, and reports on those that were handed out: see `Intake.put`."""
        return self._intake.put(items, now)

    def get(self, wish: Wish, now: float) -> list[HandedOut]:
        """Hand out URLs that are due."""
        with self._store.transaction() as connection:
            return scheduling.hand_out(connection, wish, now, self._delay(connection))

    def _delay(self, connection: Connection) -> float:
        """Return the seconds between two calls that get URLs of a queue without its own."""
        return float(fact(connection, _DELAY) or self._settings.delay)

    def _in(self, change: Callable[[Connection], _R]) -> _R:
        """Run a function in a transaction."""
        with self._store.transaction() as connection:
            return change(connection)

    def set_active(self, *, active: bool) -> None:
        """Let URLs be handed out, or not."""
        with self._store.transaction() as connection:
            if active:
                drop_fact(connection, _INACTIVE)
            else:
                put_fact(connection, _INACTIVE, "1")

    def is_active(self) -> bool:
        """Return False if no URLs are handed out."""
        return self._in(partial(fact, name=_INACTIVE)) is None

    def set_delay(self, queue: str, seconds: float, now: float) -> None:
        """Write the seconds between two calls that get URLs of a queue; "" for all others."""
        with self._store.transaction() as connection:
            if not queue:
                put_fact(connection, _DELAY, str(seconds))
            else:
                queues.put_delay(connection, queue, seconds, now)

    def block(self, queue: str, until: float, now: float) -> None:
        """Let a queue give no URLs before a time, in seconds since 1970; 0 ends its block."""
        with self._store.transaction() as connection:
            queues.block(connection, queue, until, now, self._delay(connection))

    def set_limit(self, queue: str, most: int) -> None:
        """Hand out no more URLs of a queue once so many are completed; 0 is no limit.

        Raises:
            UnknownQueueError: if there is no such queue.
        """
        with self._store.transaction() as connection:
            queues.put_limit(connection, _known_queue(connection, queue), most)
            scheduling.wake(connection, [queue])

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
            found = queues.known(connection, PRESENT & (urls.c.id == url_id))
        return found[0] if found else None

    def listed(
        self, queue: str, part: str, start: int, most: int, *, ignore_case: bool, after: int = 0
    ) -> list[FrontierURL]:
        """Return some URLs of a queue, or of all for "", that contain a text.

        Args:
            queue: its name.
            part: the text; "" for any.
            start: how many to leave out.
            most: how many at most.
            ignore_case: True if letters may differ in case.
            after: the id of the URL after which to begin.
        """
        which = queues.containing(queue, part, ignore_case=ignore_case) & (urls.c.id > after)
        return self._in(partial(queues.known, which=which, start=start, most=most))

    def count(self, queue: str, part: str, *, ignore_case: bool) -> int:
        """Return how many URLs a queue has, or all for "", that contain a text."""
        which = queues.containing(queue, part, ignore_case=ignore_case)
        return self._in(partial(queues.count, which=which))

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
