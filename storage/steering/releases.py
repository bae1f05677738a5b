"""What is held or has failed, by reason: counts, examples, and its way back to the queue."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

from sqlalchemy import ColumnElement, Connection, Row, Select, and_, case, select, text

from canonry.storage.records import WALL
from canonry.storage.rows.requeueing import queue_ids_again
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.steering import walled
from canonry.storage.steering.short_steps import QueueChange, ShortSteps, host_id_of, id_of

_HERE = text("state > 2")  # the condition of the index
STATES = {"held": State.HELD, "failed": State.FAILED}
Keeps: TypeAlias = Callable[[Connection], Callable[[str], bool]]


class Refusal(NamedTuple):
    """Why URLs are not fetched."""

    state: str  # held or failed
    reason: str  # as the store has it


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
) -> tuple[list[Row[Any]], bool]:
    """Return the newest URLs of a state and reason, and True if there are more.

    Each has its ``url``, ``host``, ``depth``, ``hops``, ``attempts``, and when it failed or was
    found, as ``at``.
    """
    is_failed = and_(urls.c.state == State.FAILED, urls.c.due > 0)
    at = case((is_failed, urls.c.due), else_=urls.c.found_at).label("at")
    query: Select[Any] = (
        select(urls.c.url, hosts.c.name.label("host"), urls.c.depth, urls.c.hops, urls.c.attempts)
        .add_columns(at)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .where(_HERE, urls.c.state == STATES[refusal.state], urls.c.reason == refusal.reason)
        .order_by(urls.c.id.desc())
    )
    rows = list(connection.execute(query.limit(most + 1)))
    return rows[:most], len(rows) > most


def release(
    store: ShortSteps, refusal: Refusal, *, host: str | None = None, keeps: Keeps | None = None
) -> int:
    """Put URLs back in the queue; return how many. Those of blocked hosts stay as they are.

    With the URLs of walls, the pages that were kept to show these are queued again.

    If it is interrupted, what was released stays so, and the next release goes on. What is refused
    meanwhile stays.

    Args:
        store: open for short steps.
        refusal: of the URLs.
        host: only its URLs.
        keeps: called in each step; returns a function that is True for URLs that stay as they are.

    Raises:
        StoreError: if the store knows no host of that name.
    """
    is_free = urls.c.host_id.not_in(select(hosts.c.id).where(text("blocked > 0")))
    which = (is_free,) if host is None else (is_free, urls.c.host_id == id_of(host))

    def mark(connection: Connection) -> object:
        return host and host_id_of(connection, host)

    def end(connection: Connection) -> int:
        is_wall = refusal == Refusal("held", WALL)
        return walled.ask_kept_again(connection, *which) if is_wall else 0

    return store.run(release_of(refusal, *which, mark=mark, end=end, keeps=keeps))


def release_of(
    refusal: Refusal,
    *which: ColumnElement[bool],
    mark: Callable[[Connection], object],
    end: Callable[[Connection], int] = lambda _connection: 0,
    keeps: Keeps | None = None,
) -> QueueChange:
    """Return the change that puts URLs back in the queue; ``which`` are conditions on `urls`."""
    state = STATES[refusal.state]
    is_it = and_(_HERE, urls.c.state == state, urls.c.reason == refusal.reason, *which)

    def step(connection: Connection, url_ids: Sequence[int]) -> int:
        if keeps is not None:
            stays = keeps(connection)
            found = rows_of(connection, "SELECT id, url FROM urls WHERE id", url_ids)
            url_ids = [url_id for url_id, url in found if not stays(url)]
        return queue_ids_again(connection, url_ids, (state, refusal.reason))

    return QueueChange(mark, select(urls.c.id).where(is_it).order_by(urls.c.id), step, end)
