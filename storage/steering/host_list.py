"""The hosts of a store, in pages: queue, pace, last error and robots.txt."""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Label,
    Select,
    TextClause,
    and_,
    func,
    select,
    text,
    tuple_,
)

from canonry.storage.rows.waiting import reason_of
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import hosts, pages, url_rows
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.steering.pages_of_rows import InOrder, PageOfRows, page_of, page_with

NEWEST = 2_000  # pages, which are counted by host; and hosts that failed last
_newest = (
    select(pages.c.url_id)
    .order_by(pages.c.fetched_at.desc(), pages.c.url_id.desc())
    .limit(NEWEST)
    .subquery()
)
_answering = (
    select(url_rows.c.host_id, func.count().label("number"))
    .join_from(_newest, url_rows, url_rows.c.id == _newest.c.url_id)
    .group_by(url_rows.c.host_id)
    .subquery()
)
_has_failed = text("error_at IS NOT NULL")  # the condition of the index
_failing = (
    select(hosts.c.id)
    .where(_has_failed)
    .order_by(hosts.c.error_at.desc(), hosts.c.id.desc())
    .limit(NEWEST)
    .subquery()
)
_active = select(_answering.c.host_id).union_all(select(_failing.c.id))
_pages = func.coalesce(_answering.c.number, 0).label("newest_pages")
_COLUMNS = (
    *(hosts.c.id, hosts.c.name, hosts.c.pending, hosts.c.ready_at, hosts.c.delay),
    *(hosts.c.lease_owner, hosts.c.lease_until, hosts.c.blocked, hosts.c.error, hosts.c.error_at),
    _pages,
)
_ROWS = select(*_COLUMNS).outerjoin(_answering, _answering.c.host_id == hosts.c.id)
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
    pages: int  # of the `NEWEST` pages of the store


class RobotsState(NamedTuple):
    """What is known of an origin's robots.txt."""

    origin: str
    is_read: bool  # False: none was read yet
    expires_at: float  # seconds since 1970
    unreachable_since: float | None


class _Order(NamedTuple):
    """An order that an index has."""

    column: Column[Any] | Label[Any]
    condition: TextClause | ColumnElement[bool] | None = None  # that of the index
    ascending: bool = False
    value_of: Callable[[str], object] = float


CRAWLED = "crawled"
_ORDERS = {
    "queue": _Order(hosts.c.pending, value_of=int),
    "wait": _Order(hosts.c.ready_at, text("pending > 0")),
    "error": _Order(hosts.c.error_at, _has_failed),
    "name": _Order(hosts.c.name, ascending=True, value_of=str),
}
ORDERS = (CRAWLED, *_ORDERS)
# One after the other: hosts with a queue, those that answered or failed lately, those that were
# only found. The newest pages tell it, since no index knows how many pages a host has.
_STAGES = (
    _Order(hosts.c.pending, text("pending > 0"), value_of=int),
    _Order(_pages, and_(text("pending = 0"), hosts.c.id.in_(_active)), value_of=int),
    _Order(
        hosts.c.id,
        and_(text("pending = 0"), hosts.c.id.not_in(_active)),
        ascending=True,
        value_of=int,
    ),
)
_IS_BLOCKED = text("blocked > 0")


def hosts_in(
    connection: Connection,
    *,
    order: str = CRAWLED,
    part: str = "",
    blocked: bool = False,
    after: str = "",
    most: int = 50,
) -> PageOfRows[HostRow]:
    """Return a page of hosts.

    Args:
        connection: in a transaction.
        order: ``crawled`` (the longest queue first, then the most of the newest pages, and last
            those that were only found), ``queue`` (the longest first), ``wait`` (those with a
            queue that wait longest), ``error`` (those that failed last) or ``name``. With ``part``
            or ``blocked``, ``crawled`` is ``queue``.
        part: only hosts whose name contains this text, among a limited number of hosts.
        blocked: only blocked hosts.
        after: the cursor of the page before.
        most: hosts on a page.

    Raises:
        StoreError: for an invalid cursor.
    """
    if order == CRAWLED and not (part or blocked):
        return _in_stages(connection, after, most)
    listed = _listed(_ORDERS["queue" if order == CRAWLED else order], after, blocked=blocked)
    if part:
        return page_with(connection, listed, hosts.c.name, part, most)
    return page_of(connection, listed, most)


def _in_stages(connection: Connection, after: str, most: int) -> PageOfRows[HostRow]:
    """Return a page of the hosts that `_STAGES` list; a cursor begins with the stage's number."""
    number, _, cursor = after.partition(":")
    if after and number not in {str(n) for n in range(len(_STAGES))}:
        raise StoreError(f"{after!r} is no place in a list of hosts")
    rows: list[HostRow] = []
    for stage in range(int(number or 0), len(_STAGES)):
        page = page_of(connection, _listed(_STAGES[stage], cursor), most - len(rows))
        rows += page.rows
        if page.after:
            return PageOfRows(rows, f"{stage}:{page.after}", len(rows))
        cursor = ""
        if len(rows) == most and stage + 1 < len(_STAGES):
            return PageOfRows(rows, f"{stage + 1}:", len(rows))
    return PageOfRows(rows, "", len(rows))


def _listed(order: _Order, after: str, *, blocked: bool = False) -> InOrder[HostRow]:
    """Return the list of all hosts in an order, from a cursor on."""
    place = [column.name for column in _COLUMNS].index(order.column.name)
    return InOrder(
        _query(order, after, blocked=blocked),
        (order.column, hosts.c.id),
        order.ascending,
        HostRow._make,
        lambda one: f"{one.host_id}|{one[place]}",
    )


def _query(order: _Order, after: str, *, blocked: bool) -> Select[Any]:
    """Return the query of all hosts from a cursor on."""
    query = _ROWS
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
    found = connection.execute(_ROWS.where(hosts.c.name == name)).one_or_none()
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
