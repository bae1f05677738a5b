"""The queues of a frontier: lists, counts, and what engines and people set for them."""

from collections import Counter
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, exists, func, select, text, update
from sqlalchemy import delete as delete_rows

from canonry.storage.facts import drop_fact, fact, put_fact
from canonry.storage.frontier.scheduling import (
    IN_FLIGHT,
    LIMIT,
    PRESENT,
    put_queue,
    rest,
)
from canonry.storage.rows.urls import host_ids
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.schema import State, hosts, url_rows, urls
from canonry.storage.sql.tables.guest_tables import queues, schedule
from canonry.storage.sql.transitions import QUEUED, Transition

_DELAY, _INACTIVE = "frontier delay", "frontier inactive"  # names of rows in meta
_DONE = (State.FETCHED, State.REDIRECTED, State.FAILED)
# How many more URLs a limited queue may have, beside those that are queued or done.
_accepted = (url_rows.c.host_id == queues.c.host_id, url_rows.c.state != State.HELD)
_LEFT = queues.c.most - select(func.count()).where(*_accepted).correlate(queues).scalar_subquery()


class QueueFigures(NamedTuple):
    """Numbers of a queue, or of a whole crawl."""

    queued: int  # URLs, those that are out included
    out: int
    completed: int
    queues: int
    active_queues: int  # that have queued URLs


class FrontierURL(NamedTuple):
    """What a frontier knows of a URL."""

    url: str
    queue: str
    state: State
    due: float  # if it is queued: not before; seconds since 1970
    again_at: int | None  # if it is not: fetch it again then; seconds since 1970
    found_at: float  # seconds since 1970
    metadata: bytes


def default_delay(connection: Connection, otherwise: float) -> float:
    """Return the seconds between two calls that get URLs of one queue."""
    value = fact(connection, _DELAY)
    return otherwise if value is None else float(value)


def put_default_delay(connection: Connection, seconds: float) -> None:
    """Write the pause of queues that have none of their own."""
    put_fact(connection, _DELAY, str(seconds))


def is_active(connection: Connection) -> bool:
    """Return False if no URLs are to be handed out."""
    return fact(connection, _INACTIVE) is None


def put_active(connection: Connection, *, active: bool) -> None:
    """Write whether URLs are to be handed out."""
    if active:
        drop_fact(connection, _INACTIVE)
    else:
        put_fact(connection, _INACTIVE, "1")


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
    """Write how many URLs a queue may have, and queue what it may have now; 0 is no limit."""
    put_queue(connection, host_id, most=most or None)
    held = select(url_rows.c.id, url_rows.c.depth).where(
        url_rows.c.host_id == host_id, url_rows.c.state == State.HELD, url_rows.c.reason == LIMIT
    )
    if most:
        left = connection.scalar(select(_LEFT).where(queues.c.host_id == host_id)) or 0
        held = held.order_by(url_rows.c.id).limit(max(0, left))
    moved = {
        url_id: Transition(host_id, depth, (State.HELD, LIMIT), QUEUED)
        for url_id, depth in connection.execute(held)
    }
    transitions.move(connection, moved)


def limits(connection: Connection) -> dict[str, int]:
    """Return by name how many more URLs the limited queues may have."""
    left = select(hosts.c.name, _LEFT).join_from(queues, hosts, hosts.c.id == queues.c.host_id)
    return dict(connection.execute(left.where(queues.c.most.is_not(None))).all())


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
        query = query.where(exists().where(urls.c.host_id == hosts.c.id, PRESENT))
    else:
        unblocked = func.coalesce(queues.c.blocked_until, 0.0) <= now
        query = query.where(text("pending > 0"), hosts.c.blocked == 0, unblocked)
    total = connection.scalar(select(func.count()).select_from(query.subquery())) or 0
    found = connection.scalars(query.order_by(hosts.c.id).offset(start).limit(most))
    return list(found), total


def figures(connection: Connection, now: float, host_id: int | None = None) -> QueueFigures:
    """Return the numbers of a queue, or of all."""
    is_out = text(f"state = 0 AND reason = '{IN_FLIGHT}'")
    out: list[ColumnElement[bool]] = [url_rows.c.due > now]
    if host_id is None:
        states: Counter[str] = Counter()
        for name, _reason, number in counts.read(connection, "urls"):
            states[name] += number
        all_hosts = select(func.count()).select_from(hosts)
        all_queues = connection.scalar(all_hosts) or 0
        active = connection.scalar(all_hosts.where(text("pending > 0"))) or 0
    else:
        own = url_rows.c.host_id == host_id
        out.append(own)
        grouped = select(url_rows.c.state, func.count()).where(own).group_by(url_rows.c.state)
        states = Counter({State(s).name.lower(): n for s, n in connection.execute(grouped)})
        all_queues, active = 1, int(states["queued"] > 0)
    number_out = select(func.count()).select_from(url_rows).where(is_out, *out)
    in_flight = connection.scalar(number_out) or 0
    completed = sum(states[state.name.lower()] for state in _DONE)
    return QueueFigures(states["queued"], in_flight, completed, all_queues, active)


def reset(connection: Connection, host_id: int) -> None:
    """Forget what was set for a queue."""
    connection.execute(delete_rows(queues).where(queues.c.host_id == host_id))
    connection.execute(update(hosts).where(hosts.c.id == host_id).values(delay=None))


def known(connection: Connection, url_id: int) -> FrontierURL | None:
    """Return what is known of a URL."""
    row = connection.execute(_known().where(urls.c.id == url_id, PRESENT)).one_or_none()
    return None if row is None else _as_known(row)


def listed(
    connection: Connection,
    host_id: int | None,
    part: str,
    start: int,
    most: int,
    *,
    ignore_case: bool,
) -> list[FrontierURL]:
    """Return some URLs, in the order in which they came.

    Args:
        connection: in a transaction.
        host_id: of the queue; None: of all.
        part: a text that they contain; "" for any.
        start: how many to leave out.
        most: how many at most.
        ignore_case: True if letters may differ in case.
    """
    query = _known().where(*_which(host_id, part, ignore_case=ignore_case))
    rows = connection.execute(query.order_by(urls.c.id).offset(start).limit(most))
    return [_as_known(row) for row in rows]


def count(connection: Connection, host_id: int | None, part: str, *, ignore_case: bool) -> int:
    """Return how many URLs `listed` could return."""
    which = _which(host_id, part, ignore_case=ignore_case)
    return connection.scalar(select(func.count()).select_from(urls).where(*which)) or 0


def _which(host_id: int | None, part: str, *, ignore_case: bool) -> list[ColumnElement[bool]]:
    which: list[ColumnElement[bool]] = [PRESENT]
    if host_id is not None:
        which.append(urls.c.host_id == host_id)
    if part and ignore_case:
        which.append(func.lower(urls.c.url).contains(part.lower(), autoescape=True))
    elif part:
        which.append(
            func.replace(urls.c.url, part, "") != urls.c.url
        )  # LIKE ignores case in SQLite
    return which


def _known() -> Any:  # noqa: ANN401 - a SELECT of seven columns
    return (
        select(
            *(urls.c.url, hosts.c.name, urls.c.state, urls.c.due),
            *(schedule.c.again_at, urls.c.found_at, schedule.c.metadata),
        )
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .join(schedule, schedule.c.url_id == urls.c.id, isouter=True)
    )


def _as_known(row: Any) -> FrontierURL:  # noqa: ANN401 - as above
    url, queue, state, due, again_at, found_at, metadata = row
    return FrontierURL(url, queue, State(state), due, again_at, found_at, bytes(metadata or b""))
