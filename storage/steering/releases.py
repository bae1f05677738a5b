"""Releases: URLs that are held, or have failed, for a reason go back to the queue."""

from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import Connection, select, text

from canonry.storage.records import WALL
from canonry.storage.rows.requeueing import queue_ids_again
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
