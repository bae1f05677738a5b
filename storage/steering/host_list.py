"""The hosts of a store: queue, pace, last error and robots.txt."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, func, select, text, true

from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import hosts

_ROBOTS = "SELECT origin, rules IS NOT NULL, expires_at, unreachable_since FROM robots WHERE origin"
_FIRST_QUEUED = (
    "SELECT url FROM urls WHERE host_id = {} AND state = 0 ORDER BY priority, depth, id LIMIT 1"
)
_NAMED = func.lower(hosts.c.name)
_IS_QUEUED = text("pending > 0")
# Each order that an index has: one group of hosts after the other, by its condition and columns.
# Once nothing is queued, the hosts that were found first come first: the others are mostly held.
_ORDERS: dict[str, tuple[tuple[Any, ...], ...]] = {
    "queue": (
        (_IS_QUEUED, hosts.c.pending.desc(), hosts.c.id.desc()),
        (text("pending = 0"), hosts.c.id),
    ),
    "wait": ((_IS_QUEUED, hosts.c.ready_at.desc(), hosts.c.id.desc()),),
    "error": ((text("error_at IS NOT NULL"), hosts.c.error_at.desc(), hosts.c.id.desc()),),
    "name": ((true(), hosts.c.name),),
}
ORDERS = tuple(_ORDERS)


_ROWS = select(
    *(hosts.c.id, hosts.c.name, hosts.c.pending, hosts.c.ready_at, hosts.c.delay),
    *(hosts.c.holder, hosts.c.held_until, hosts.c.blocked, hosts.c.error, hosts.c.error_at),
)


class RobotsState(NamedTuple):
    """What is known of an origin's robots.txt; times are seconds since 1970."""

    origin: str
    is_read: bool  # False: none was read yet
    expires_at: float
    unreachable_since: float | None


def hosts_in(
    connection: Connection,
    *,
    order: str = "queue",
    part: str = "",
    blocked: bool = False,
    most: int = 50,
) -> tuple[list[Row[Any]], bool]:
    """Return the first hosts in an order, with columns of `hosts`, and True if there are more.

    Args:
        connection: in a transaction.
        order: ``queue`` (the longest first), ``wait`` (those with a queue that wait longest),
            ``error`` (those that failed last) or ``name``.
        part: only hosts whose name contains this text; the one that it names comes first.
        blocked: only blocked hosts.
        most: how many.
    """
    is_blocked = hosts.c.id.in_(select(hosts.c.id).where(text("blocked > 0")))
    query, rows = _ROWS.where(is_blocked) if blocked else _ROWS, list[Row[Any]]()
    if name := part.lower():
        rows += connection.execute(query.where(hosts.c.name == name))
        query = query.where(_NAMED.contains(name, autoescape=True), hosts.c.name != name)
    for condition, *columns in _ORDERS[order]:
        found = query.where(condition).order_by(*columns).limit(most + 1 - len(rows))
        rows += connection.execute(found)
    return rows[:most], len(rows) > most


def number_of(connection: Connection) -> int:
    """Return how many hosts the store knows; their ids count up from 1."""
    return connection.scalar(select(func.max(hosts.c.id))) or 0


def robots_of(connection: Connection, wanted: Iterable[Row[Any]]) -> dict[str, list[RobotsState]]:
    """Return by host what is known of the robots.txt of its origins.

    The origins are those with default ports, and that of the host's next URL.
    """
    names: dict[str, str] = {}
    for host in wanted:
        names |= {f"{scheme}://{host.name}": host.name for scheme in ("https", "http")}
        first = connection.exec_driver_sql(_FIRST_QUEUED.format(int(host.id))).scalar()
        if first is not None:
            names["/".join(str(first).split("/", 3)[:3])] = host.name
    found: dict[str, list[RobotsState]] = {}
    for origin, is_read, *times in rows_of(connection, _ROBOTS, list(names)):
        found.setdefault(names[origin], []).append(RobotsState(origin, bool(is_read), *times))
    return found
