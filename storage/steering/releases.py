"""What is held or has failed, by reason: counts, examples, and its way back to the queue."""

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import Connection, and_, case, select, text

from canonry.storage.records import WALL
from canonry.storage.rows.requeueing import queue_ids_again
from canonry.storage.sql import counts
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.steering import walled
from canonry.storage.steering.short_steps import STEP, ShortSteps

_HERE = text("state > 2")  # the condition of the index
STATES = {"held": State.HELD, "failed": State.FAILED}


class Refusal(NamedTuple):
    """Why URLs are not fetched."""

    state: str  # held or failed
    reason: str  # as the store has it


class RefusedURL(NamedTuple):
    """A URL that is held or has failed."""

    url_id: int
    url: str
    host: str
    depth: int
    hops: int
    attempts: int
    at: float  # when it failed, or was found; seconds since 1970


def refusals(connection: Connection) -> list[tuple[Refusal, int]]:
    """Return why URLs are held or have failed, and how many, the most frequent reason first."""
    found = [
        (Refusal(state, reason), number)
        for state, reason, number in counts.read(connection, "urls")
        if state in STATES
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def urls_of(
    connection: Connection, refusal: Refusal, most: int = 50
) -> tuple[list[RefusedURL], bool]:
    """Return the newest URLs that are held or have failed for a reason, and True if there are more.

    Args:
        connection: in a transaction.
        refusal: state and reason, as the store has it.
        most: how many.
    """
    is_failed = and_(urls.c.state == State.FAILED, urls.c.due > 0)
    at = case((is_failed, urls.c.due), else_=urls.c.found_at)
    query = (
        select(urls.c.id, urls.c.url, hosts.c.name, urls.c.depth, urls.c.hops, urls.c.attempts, at)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .where(_HERE, urls.c.state == STATES[refusal.state], urls.c.reason == refusal.reason)
        .order_by(urls.c.id.desc())
    )
    rows = [RefusedURL._make(row) for row in connection.execute(query.limit(most + 1))]
    return rows[:most], len(rows) > most


def release(
    store: ShortSteps,
    refusal: Refusal,
    *,
    host: str | None = None,
    keeps: Callable[[str], bool] = lambda _url: False,
) -> int:
    """Put URLs back in the queue; return how many. Those of blocked hosts stay as they are.

    With the URLs of walls, the pages that were kept to show these are queued again.

    If it is interrupted, what was released stays so, and the next release goes on.

    Args:
        store: open for short steps.
        refusal: of the URLs.
        host: only its URLs.
        keeps: returns True for URLs that stay as they are.

    Raises:
        StoreError: if the store knows no host of that name.
    """
    released = store.repeat(_Pass(refusal, host, keeps))
    if refusal == Refusal("held", WALL):
        open_hosts = select(hosts.c.id).where(hosts.c.blocked == 0)
        if host is not None:
            open_hosts = open_hosts.where(hosts.c.name == host)
        with store.step() as connection:
            released += walled.ask_kept_again(connection, urls.c.host_id.in_(open_hosts))
    return released


class _Pass:
    """One pass over the URLs of a reason; each call is a step."""

    def __init__(self, refusal: Refusal, host: str | None, keeps: Callable[[str], bool]) -> None:
        self._state, self._reason = STATES[refusal.state], refusal.reason
        self._host = host
        self._keeps = keeps
        self._after = 0
        self._last: int | None = None  # newer URLs, refused during the release, stay

    def __call__(self, connection: Connection) -> int | None:
        """Release some of the next URLs; return how many, and None when all are done."""
        here = (_HERE, urls.c.state == self._state, urls.c.reason == self._reason)
        if self._last is None:
            newest = select(urls.c.id).where(*here).order_by(urls.c.id.desc()).limit(1)
            self._last = connection.scalar(newest) or 0
        query = (
            select(urls.c.id, urls.c.url, hosts.c.name, hosts.c.blocked)
            .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
            .where(*here, urls.c.id > self._after, urls.c.id <= self._last)
        )
        if self._host is not None:
            host_id = connection.scalar(select(hosts.c.id).where(hosts.c.name == self._host))
            if host_id is None:
                raise StoreError(f"host {self._host!r}: the store knows no such host")
            query = query.where(urls.c.host_id == host_id)
        found = connection.execute(query.order_by(urls.c.id).limit(STEP)).all()
        if not found:
            return None
        self._after = found[-1].id
        url_ids = [one.id for one in found if not one.blocked and not self._keeps(one.url)]
        return queue_ids_again(connection, url_ids)
