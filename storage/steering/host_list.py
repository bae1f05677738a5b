"""The hosts of a store, in pages: queue, pace, last error and robots.txt."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sqlalchemy import Column, Connection, Select, TextClause, func, select, text, tuple_

from canonry.storage.rows.waiting import reason_of
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import hosts
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.steering.pages_of_rows import InOrder, PageOfRows, page_of, page_with

_COLUMNS = (
    *(hosts.c.id, hosts.c.name, hosts.c.pending, hosts.c.ready_at, hosts.c.delay),
    *(hosts.c.lease_owner, hosts.c.lease_until, hosts.c.blocked, hosts.c.error, hosts.c.error_at),
)
_FIRST_QUEUED = (
    "SELECT url FROM urls WHERE host_id = {} AND state = 0 ORDER BY priority, depth, id LIMIT 1"
)


class HostRow(NamedTuple):
    """A host; the columns of the table say what each field means."""

    host_id: int
    name: str
    queued: int
    ready_at: float
    delay: float | None
    lease_owner: str | None
    lease_until: float
    blocked: int  # 1: no requests are sent to it
    error: str | None
    error_at: float | None


class RobotsState(NamedTuple):
    """What is known of an origin's robots.txt."""

    origin: str
    is_read: bool  # False: none was read yet
    expires_at: float  # seconds since 1970
    unreachable_since: float | None


class _Order(NamedTuple):
    """An order that an index has."""

    column: Column[Any]
    condition: TextClause | None = None  # that of the index
    ascending: bool = False
    value_of: Callable[[str], object] = float


_ORDERS = {
    "queue": _Order(hosts.c.pending, value_of=int),
    "wait": _Order(hosts.c.ready_at, text("pending > 0")),
    "error": _Order(hosts.c.error_at, text("error_at IS NOT NULL")),
    "name": _Order(hosts.c.name, ascending=True, value_of=str),
}
ORDERS = tuple(_ORDERS)
_IS_BLOCKED = text("blocked > 0")


def hosts_in(
    connection: Connection,
    *,
    order: str = "queue",
    part: str = "",
    blocked: bool = False,
    after: str = "",
    most: int = 50,
) -> PageOfRows[HostRow]:
    """Return a page of hosts.

    Args:
        connection: in a transaction.
        order: ``queue`` (the longest first), ``wait`` (those with a queue that wait longest),
            ``error`` (those that failed last) or ``name``.
        part: only hosts whose name contains this text, among a limited number of hosts.
        blocked: only blocked hosts.
        after: the cursor of the page before.
        most: hosts on a page.

    Raises:
        StoreError: for an invalid cursor.
    """
    chosen = _ORDERS[order]
    place = [column.name for column in _COLUMNS].index(chosen.column.name)
    listed: InOrder[HostRow] = InOrder(
        _query(chosen, after, blocked=blocked),
        (chosen.column, hosts.c.id),
        chosen.ascending,
        HostRow._make,
        lambda one: f"{one.host_id}|{one[place]}",
    )
    if part:
        return page_with(connection, listed, hosts.c.name, part, most)
    return page_of(connection, listed, most)


def _query(order: _Order, after: str, *, blocked: bool) -> Select[Any]:
    """Return the query of all hosts from a cursor on."""
    query = select(*_COLUMNS)
    if order.condition is not None:
        query = query.where(order.condition)
    if blocked:
        query = query.where(hosts.c.id.in_(select(hosts.c.id).where(_IS_BLOCKED)))
    if after:
        host_id, _, value = after.partition("|")
        try:
            place = (order.value_of(value), int(host_id))
        except ValueError:
            raise StoreError(f"{after!r} is no place in a list of hosts") from None
        here = tuple_(order.column, hosts.c.id)
        query = query.where(here > place if order.ascending else here < place)
    return query


def host_named(connection: Connection, name: str) -> HostRow | None:
    """Return a host by its name; None if the store does not know it."""
    found = connection.execute(select(*_COLUMNS).where(hosts.c.name == name)).one_or_none()
    return None if found is None else HostRow._make(found)


def number_of(connection: Connection) -> int:
    """Return how many hosts the store knows; their ids count up from 1."""
    return connection.scalar(select(func.max(hosts.c.id))) or 0


def retry_reason(connection: Connection, host: HostRow) -> str | None:
    """Return the reason of that URL of a host which waits longest for its retry."""
    return reason_of(connection, host.host_id)


def robots_of(connection: Connection, wanted: Iterable[HostRow]) -> dict[str, list[RobotsState]]:
    """Return by host what is known of the robots.txt of its origins.

    The origins are those with default ports, and that of the host's next URL.
    """
    names: dict[str, str] = {}
    for host in wanted:
        names |= {f"{scheme}://{host.name}": host.name for scheme in ("https", "http")}
        first = connection.exec_driver_sql(_FIRST_QUEUED.format(int(host.host_id))).scalar()
        if first is not None:
            names["/".join(str(first).split("/", 3)[:3])] = host.name
    question = (
        "SELECT origin, rules IS NOT NULL, expires_at, unreachable_since FROM robots WHERE origin"
    )
    found: dict[str, list[RobotsState]] = {}
    for origin, is_read, expires_at, since in rows_of(connection, question, list(names)):
        state = RobotsState(origin, bool(is_read), expires_at, since)
        found.setdefault(names[origin], []).append(state)
    return found
