"""The queues of a frontier: lists, counts, and what engines and people set for them."""

from collections import Counter
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Table,
    TextClause,
    and_,
    exists,
    func,
    or_,
    select,
    text,
    update,
)
from sqlalchemy import delete as delete_rows

from canonry.storage.frontier.scheduling import (
    IN_FLIGHT,
    PRESENT,
    put_queue,
    rest,
)
from canonry.storage.rows.urls import host_ids
from canonry.storage.sql import counts
from canonry.storage.sql.schema import State, hosts, url_rows, urls
from canonry.storage.sql.tables.guest_tables import queues, schedule

_DONE = (State.FETCHED, State.REDIRECTED, State.FAILED)
# Conditions on queues: they have URLs that engines know, or some that are to be fetched.
_has_urls = exists().where(urls.c.host_id == hosts.c.id, PRESENT)
_is_active = or_(
    text("pending > 0"),
    exists().where(
        url_rows.c.host_id == hosts.c.id,
        schedule.c.url_id == url_rows.c.id,
        schedule.c.again_at.is_not(None),
    ),
)
_KNOWN = (
    select(
        *(urls.c.id, urls.c.url, hosts.c.name, urls.c.state, urls.c.due),
        *(schedule.c.again_at, urls.c.found_at, schedule.c.metadata),
    )
    .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
    .join(schedule, schedule.c.url_id == urls.c.id, isouter=True)
)


class QueueFigures(NamedTuple):
    """Numbers of a queue, or of a whole crawl."""

    waiting: int  # URLs that are out, due, or due later
    out: int
    completed: int
    queues: int
    active_queues: int  # that have URLs that wait


class FrontierURL(NamedTuple):
    """What a frontier knows of a URL."""

    url_id: int
    url: str
    queue: str
    state: State
    due: float  # if it is queued: not before; seconds since 1970
    again_at: int | None  # if it is not: fetch it again then; seconds since 1970
    found_at: float  # seconds since 1970
    metadata: bytes


def id_of(connection: Connection, name: str) -> int | None:
    """Return the id of a queue; None if there is none of that name."""
    found: int | None = connection.scalar(select(hosts.c.id).where(hosts.c.name == name))
    return found


def put_delay(connection: Connection, name: str, seconds: float, now: float) -> None:
    """Write the seconds between two calls that get URLs of a queue; make it if it is not there."""
    host_id = host_ids(connection, [name], now)[name]
    connection.execute(update(hosts).where(hosts.c.id == host_id).values(delay=seconds))
    _reopen(connection, host_id, seconds)


def block(connection: Connection, name: str, until: float, now: float, default: float) -> None:
    """Let a queue give no URLs before a time; 0 ends its block. Make it if it is not there."""
    host_id = host_ids(connection, [name], now)[name]
    put_queue(connection, host_id, blocked_until=until)
    _reopen(connection, host_id, default)


def _reopen(connection: Connection, host_id: int, default: float) -> None:
    """Let a queue rest as long as its pause and its block say, and no longer."""
    columns = select(hosts.c.delay, queues.c.handed_at, queues.c.blocked_until)
    both = columns.join_from(hosts, queues, queues.c.host_id == hosts.c.id, isouter=True)
    own, handed_at, blocked_until = connection.execute(both.where(hosts.c.id == host_id)).one()
    paused_until = (handed_at or 0.0) + (default if own is None else own)
    rest(connection, host_id, max(paused_until, blocked_until or 0.0))


def put_limit(connection: Connection, host_id: int, most: int) -> None:
    """Write how many URLs of a queue may be completed; 0 is no limit."""
    put_queue(connection, host_id, most=most or None)


def names(
    connection: Connection, now: float, start: int, most: int, *, inactive: bool
) -> tuple[list[str], int]:
    """Return some names of queues, in the order in which they came, and the number of all.

    Args:
        connection: in a transaction.
        now: seconds since 1970.
        start: how many to leave out.
        most: how many at most.
        inactive: also those that have no queued URLs, or are blocked.
    """
    query = select(hosts.c.name).join_from(
        hosts, queues, queues.c.host_id == hosts.c.id, isouter=True
    )
    if inactive:
        query = query.where(_has_urls)
    else:
        unblocked = func.coalesce(queues.c.blocked_until, 0.0) <= now
        query = query.where(_is_active, hosts.c.blocked == 0, unblocked)
    total = connection.scalar(select(func.count()).select_from(query.subquery())) or 0
    found = connection.scalars(query.order_by(hosts.c.id).offset(start).limit(most))
    return list(found), total


def figures(connection: Connection, now: float, host_id: int | None = None) -> QueueFigures:
    """Return the numbers of a queue, or of all."""
    of_queue = () if host_id is None else (hosts.c.id == host_id,)
    of_urls = () if host_id is None else (url_rows.c.host_id == host_id,)
    scheduled: list[ColumnElement[bool]] = [schedule.c.again_at.is_not(None)]
    if host_id is None:
        states: Counter[str] = Counter()
        for name, _reason, number in counts.read(connection, "urls"):
            states[name] += number
    else:
        scheduled += [schedule.c.url_id == url_rows.c.id, *of_urls]
        grouped = select(url_rows.c.state, func.count()).where(*of_urls)
        rows = connection.execute(grouped.group_by(url_rows.c.state))
        states = Counter({State(state).name.lower(): number for state, number in rows})
    later = _number(connection, schedule, *scheduled)
    is_out = text(f"state = 0 AND reason = '{IN_FLIGHT}'")
    return QueueFigures(
        waiting=states["queued"] + later,
        out=_number(connection, url_rows, is_out, url_rows.c.due > now, *of_urls),
        completed=sum(states[state.name.lower()] for state in _DONE) - later,
        queues=_number(connection, hosts, _has_urls, *of_queue),
        active_queues=_number(connection, hosts, _is_active, *of_queue),
    )


def _number(connection: Connection, table: Table, *which: ColumnElement[bool] | TextClause) -> int:
    """Return how many rows of a table meet some conditions."""
    return connection.scalar(select(func.count()).select_from(table).where(*which)) or 0


def reset(connection: Connection, host_id: int) -> None:
    """Forget what was set for a queue."""
    connection.execute(delete_rows(queues).where(queues.c.host_id == host_id))
    connection.execute(update(hosts).where(hosts.c.id == host_id).values(delay=None))


def containing(queue: str, part: str, *, ignore_case: bool) -> ColumnElement[bool]:
    """Return a condition on URLs: they are in a queue, and contain a text.

    Args:
        queue: its name; "" for any.
        part: the text; "" for any.
        ignore_case: True if letters may differ in case.
    """
    which = PRESENT
    if queue:
        its_id = select(hosts.c.id).where(hosts.c.name == queue).scalar_subquery()
        which = and_(which, urls.c.host_id == its_id)
    if part and ignore_case:
        return and_(which, func.lower(urls.c.url).contains(part.lower(), autoescape=True))
    # LIKE ignores case in SQLite.
    return and_(which, func.replace(urls.c.url, part, "") != urls.c.url) if part else which


def known(
    connection: Connection, which: ColumnElement[bool], start: int = 0, most: int = 1
) -> list[FrontierURL]:
    """Return what is known of some URLs, in the order in which they came.

    Args:
        connection: in a transaction.
        which: a condition on `urls`.
        start: how many to leave out.
        most: how many at most.
    """
    rows = connection.execute(_KNOWN.where(which).order_by(urls.c.id).offset(start).limit(most))
    return [
        FrontierURL(url_id, url, queue, State(state), due, again_at, found_at, bytes(kept or b""))
        for url_id, url, queue, state, due, again_at, found_at, kept in rows
    ]


def count(connection: Connection, which: ColumnElement[bool]) -> int:
    """Return how many URLs meet a condition."""
    return _number(connection, urls, which)
