"""The schedule of a frontier: which URLs are out, which are due again, and which queues wait.

``hosts.ready_at`` says when the pause and the block of a queue are over. It is held at least until
then, and longer if it has no URL that is due, until one is, or until its URLs change.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Connection,
    and_,
    bindparam,
    exists,
    func,
    literal_column,
    or_,
    select,
    text,
    update,
)

from canonry.storage.rows.leases import HOSTS
from canonry.storage.rows.urls import host_ids
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows, insert_rows, put, rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, hosts, url_rows, urls
from canonry.storage.sql.tables.guest_tables import queues, schedule
from canonry.storage.sql.transitions import QUEUED, Transition, state_reason
from canonry.storage.sql.url_suffixes import suffix_of

IN_FLIGHT = "in-flight"  # the reason of queued URLs that an engine has
UNDISCOVERED = "undiscovered"  # the reason of targets that no engine has given to us yet
DELETED = "deleted"  # the reason of URLs that an engine has deleted; both are new when they come
_AGAIN_AT_ONCE = 1_000  # URLs that are queued again in one transaction
_MOST_AT_ONCE = 10_000  # URLs that one call hands out, but for those of its last queue
_PASSED_OVER = 64  # queues without a due URL that one call looks at, beyond those that it wants
_LIMITED = 60.0  # seconds for which a queue is not looked at that has all URLs that it may have

_queue_id: BindParameter[int] = bindparam("host_id")
_queues = select(hosts.c.id, hosts.c.name, hosts.c.delay, queues.c.most).join_from(
    hosts, queues, queues.c.host_id == hosts.c.id, isouter=True
)
_READY = Prepared(
    _queues.where(text("pending > 0"), hosts.c.blocked == 0, hosts.c.held_until <= bindparam("now"))
    .order_by(hosts.c.held_until, hosts.c.id)
    .limit(bindparam("most"))
)
_ONE = Prepared(
    _queues.where(
        hosts.c.name == bindparam("name"),
        hosts.c.blocked == 0,
        hosts.c.held_until <= bindparam("now"),
    )
)
# URLs that are not due yet are out, or wait for a retry: both have a reason, and are in an index.
_WAITING = Prepared(
    select(
        func.count().filter(url_rows.c.reason == literal_column(f"'{IN_FLIGHT}'")),
        func.min(url_rows.c.due),
    ).where(
        url_rows.c.host_id == _queue_id,
        text("state = 0 AND reason IS NOT NULL"),
        url_rows.c.due > bindparam("now"),
    )
)
_NEXT = Prepared(
    select(urls.c.id, urls.c.url, schedule.c.metadata)
    .join_from(urls, schedule, schedule.c.url_id == urls.c.id, isouter=True)
    .where(urls.c.host_id == _queue_id, text("state = 0"), urls.c.due <= bindparam("now"))
    .order_by(urls.c.priority, urls.c.due, urls.c.id)
    .limit(bindparam("most"))
)
# As `_NEXT` has them.
_INDEX = (
    "CREATE INDEX IF NOT EXISTS frontier_due ON url_rows (host_id, priority, due, id) "
    "WHERE state = 0"
)
# A condition on URLs: nothing is to be done with them any more.
_COMPLETED = and_(
    url_rows.c.state.in_([State.FETCHED, State.REDIRECTED, State.FAILED]),
    ~exists().where(schedule.c.url_id == url_rows.c.id, schedule.c.again_at.is_not(None)),
)
_completed = select(url_rows.c.id).where(url_rows.c.host_id == _queue_id, _COMPLETED)
# How many URLs of a queue are completed, up to its limit.
_NUMBER_COMPLETED = Prepared(
    select(func.count()).select_from(_completed.limit(bindparam("most")).subquery())
)
_LEND = Prepared(
    update(url_rows)
    .where(url_rows.c.id == bindparam("url_id"))
    .values(due=bindparam("until"), reason=literal_column(f"'{IN_FLIGHT}'"))
)
_REST = Prepared(
    update(hosts)
    .where(hosts.c.id == _queue_id)
    .values(ready_at=bindparam("until"), held_until=bindparam("until"))
)
_DUE_AGAIN = Prepared(
    select(
        *(url_rows.c.id, url_rows.c.host_id, url_rows.c.depth, url_rows.c.state),
        *(url_rows.c.reason, schedule.c.again_at),
    )
    .join_from(schedule, url_rows, schedule.c.url_id == url_rows.c.id)
    .where(schedule.c.again_at <= bindparam("now"))
    .order_by(schedule.c.again_at)
    .limit(bindparam("most"))
)
_absent = f"state = {State.HELD:d} AND reason IN ('{UNDISCOVERED}', '{DELETED}')"
_ABSENT = (
    "SELECT urls.id, depth, reason, hosts.name, url FROM urls "  # noqa: S608 - our names
    f"JOIN hosts ON hosts.id = host_id WHERE {_absent} AND urls.id"
)
# A condition on URLs: engines know them.
PRESENT = or_(
    urls.c.state != State.HELD,
    func.coalesce(urls.c.reason, "").not_in((UNDISCOVERED, DELETED)),
)


class HandedOut(NamedTuple):
    """A URL that an engine gets."""

    url: str
    queue: str
    metadata: bytes  # as it was given


class Wish(NamedTuple):
    """What an engine wants."""

    per_queue: int
    queues: int
    seconds: float  # for which it has the URLs
    queue: str | None = None  # only from this one


def hand_out(connection: Connection, wish: Wish, now: float, delay: float) -> list[HandedOut]:
    """Hand out due URLs; they stay queued, and come back unless their outcome is put before.

    Args:
        connection: in a transaction that holds the write lock alone.
        wish: what is wanted.
        now: seconds since 1970.
        delay: seconds between two calls that get URLs of a queue without a delay of its own.
    """
    _queue_again(connection, now)
    found: list[HandedOut] = []
    given = 0
    ready = (
        _READY.run(connection, {"now": now, "most": wish.queues + _PASSED_OVER})
        if wish.queue is None
        else _ONE.run(connection, {"now": now, "name": wish.queue})
    )
    for host_id, name, own_delay, limit in ready:
        if given == wish.queues or len(found) >= _MOST_AT_ONCE:
            break
        [(out, earliest)] = _WAITING.run(connection, {"host_id": host_id, "now": now})
        left = wish.per_queue
        if limit is not None:
            [(done,)] = _NUMBER_COMPLETED.run(connection, {"host_id": host_id, "most": limit})
            left = limit - done
        most = max(0, min(wish.per_queue, left) - out)
        rows = _NEXT.run(connection, {"host_id": host_id, "now": now, "most": most})
        if rows:
            until = now + wish.seconds
            _LEND.run_many(connection, [{"url_id": row[0], "until": until} for row in rows])
            found += [HandedOut(url, name, bytes(kept or b"")) for _id, url, kept in rows]
            put_queue(connection, host_id, handed_at=now)
            rest(connection, host_id, now + (delay if own_delay is None else own_delay))
            given += 1
        else:  # an outcome wakes the queue before those that are out are back
            until = now + _LIMITED if left <= 0 else earliest or now
            HOSTS.keep(connection, [host_id], until)
    return found


def index(connection: Connection) -> None:
    """Make the index that has the URLs of a queue as they are handed out, unless it is there."""
    connection.exec_driver_sql(_INDEX)


def put_queue(connection: Connection, host_id: int, **changed: float | None) -> None:
    """Write some columns of a queue's row."""
    row = {"host_id": host_id, "handed_at": 0.0, "blocked_until": 0.0, **changed}
    put(connection, queues, [row], change=changed)


def rest(connection: Connection, host_id: int, until: float) -> None:
    """Let a queue give no URLs before a time, and then those that are due."""
    _REST.run(connection, {"host_id": host_id, "until": until})


def _queue_again(connection: Connection, now: float) -> None:
    """Queue some of the URLs whose time to be fetched again has come."""
    rows = _DUE_AGAIN.run(connection, {"now": int(now), "most": _AGAIN_AT_ONCE})
    if not rows:
        return
    moved = {
        url_id: Transition(host_id, depth, state_reason(state, reason), QUEUED)
        for url_id, host_id, depth, state, reason, _again_at in rows
        if state not in {State.QUEUED, State.HELD}
    }
    transitions.move(connection, moved, due_of={row[0]: float(row[5]) for row in rows})
    put_again(connection, dict.fromkeys([row[0] for row in rows]))


def put_again(connection: Connection, times: Mapping[int, int | None]) -> None:
    """Write when URLs are to be fetched again, in seconds since 1970; None: never."""
    rows = [{"url_id": url_id, "metadata": b"", "again_at": at} for url_id, at in times.items()]
    put(connection, schedule, rows, change=("again_at",))


def put_metadata(connection: Connection, metadata: Mapping[int, bytes]) -> None:
    """Write what engines keep with URLs."""
    rows = [
        {"url_id": url_id, "metadata": kept, "again_at": None} for url_id, kept in metadata.items()
    ]
    put(connection, schedule, rows, change=("metadata",))


def add_metadata(connection: Connection, rows: Sequence[tuple[int, bytes]]) -> None:
    """Write what engines keep with new URLs: their ids, and the bytes."""
    insert_rows(connection, schedule, ("url_id", "metadata"), rows)


def wake(connection: Connection, names: Collection[str]) -> None:
    """Let queues give URLs as soon as their pause and their block are over."""
    woken = "UPDATE hosts SET held_until = ready_at WHERE held_until > ready_at AND name"
    change_rows(connection, woken, list(names))


def discover(connection: Connection, queue_of: Mapping[int, str], now: float) -> set[int]:
    """Queue those of some URLs that engines do not know, or have deleted; return their ids.

    Args:
        connection: in a transaction that holds the write lock alone.
        queue_of: by the ids of URLs the queues in which they belong now.
        now: seconds since 1970; they are due from then on.
    """
    if not any(
        counts.total_of(connection, counts.url(State.HELD, reason))
        for reason in (UNDISCOVERED, DELETED)
    ):
        return set()
    rows = list(rows_of(connection, _ABSENT, list(queue_of)))
    ids = host_ids(connection, {queue_of[row[0]] for row in rows})
    moved = {}
    for url_id, depth, reason, name, url in rows:
        queue = queue_of[url_id]
        if name != queue:
            suffix = suffix_of(url, queue)
            change = update(url_rows).where(url_rows.c.id == url_id)
            connection.execute(change.values(host_id=ids[queue], suffix=suffix))
        moved[url_id] = Transition(ids[queue], depth, (State.HELD, reason), QUEUED)
    transitions.move(connection, moved, due=now)
    return set(moved)


def delete(connection: Connection, which: ColumnElement[bool], most: int = 1 << 30) -> int:
    """Delete URLs that meet a condition, as engines see it; return how many.

    The store keeps what it knows of them: they only are as new when they come again.

    Args:
        connection: in a transaction that holds the write lock alone.
        which: a condition on `urls`.
        most: how many at most.
    """
    columns = (urls.c.id, urls.c.host_id, urls.c.depth, urls.c.state, urls.c.reason)
    moved = {
        url_id: Transition(host_id, depth, state_reason(state, reason), (State.HELD, DELETED))
        for url_id, host_id, depth, state, reason in connection.execute(
            select(*columns).where(which, PRESENT).limit(most)
        )
    }
    transitions.move(connection, moved)
    change_rows(connection, "DELETE FROM frontier_urls WHERE url_id", list(moved))
    return len(moved)
