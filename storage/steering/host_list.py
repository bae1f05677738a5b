"""The hosts of a store: queue, pace, last error and robots.txt."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, TextClause, and_, func, select, text

from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import hosts, pages, url_rows

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
    *(hosts.c.holder, hosts.c.held_until, hosts.c.blocked, hosts.c.error, hosts.c.error_at),
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
    holder: str | None
    held_until: float
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

    columns: tuple[ColumnElement[Any], ColumnElement[int]]
    condition: TextClause | ColumnElement[bool] | None = None  # that of the index


CRAWLED = "crawled"
_has_queue, _has_none = text("pending > 0"), text("pending = 0")
_by_queue = (hosts.c.pending.desc(), hosts.c.id.desc())
_ORDERS = {
    "queue": _Order(_by_queue),
    "wait": _Order((hosts.c.ready_at.desc(), hosts.c.id.desc()), _has_queue),
    "error": _Order((hosts.c.error_at.desc(), hosts.c.id.desc()), _has_failed),
    "name": _Order((hosts.c.name.asc(), hosts.c.id.asc())),
}
ORDERS = (CRAWLED, *_ORDERS)
# One after the other: hosts with a queue, those that answered or failed lately, those that were
# only found. The newest pages tell it, since no index knows how many pages a host has.
_STAGES = (
    _Order(_by_queue, _has_queue),
    _Order((_pages.desc(), hosts.c.id.desc()), and_(_has_none, hosts.c.id.in_(_active))),
    _Order((hosts.c.id.asc(), hosts.c.id.asc()), and_(_has_none, hosts.c.id.not_in(_active))),
)
_IS_BLOCKED = text("blocked > 0")


def hosts_in(
    connection: Connection,
    *,
    order: str = CRAWLED,
    part: str = "",
    blocked: bool = False,
    most: int = 50,
) -> tuple[list[HostRow], bool]:
    """Return the first hosts in an order, and True if there are more.

    Args:
        connection: in a transaction.
        order: ``crawled`` (the longest queue first, then the most of the newest pages, and last
            those that were only found), ``queue`` (the longest first), ``wait`` (those with a
            queue that wait longest), ``error`` (those that failed last) or ``name``. With ``part``
            or ``blocked``, ``crawled`` is ``queue``.
        part: only hosts whose name contains this text.
        blocked: only blocked hosts.
        most: how many.
    """
    query = _ROWS
    if part:
        query = query.where(func.lower(hosts.c.name).contains(part.lower(), autoescape=True))
    if blocked:
        query = query.where(hosts.c.id.in_(select(hosts.c.id).where(_IS_BLOCKED)))
    is_whole = order == CRAWLED and not (part or blocked)
    stages = _STAGES if is_whole else (_ORDERS["queue" if order == CRAWLED else order],)
    rows: list[HostRow] = []
    for stage in stages:
        here = query if stage.condition is None else query.where(stage.condition)
        found = here.order_by(*stage.columns).limit(most + 1 - len(rows))
        rows += map(HostRow._make, connection.execute(found))
    return rows[:most], len(rows) > most


def host_named(connection: Connection, name: str) -> HostRow | None:
    """Return a host by its name; None if the store does not know it."""
    found = connection.execute(_ROWS.where(hosts.c.name == name)).one_or_none()
    return None if found is None else HostRow._make(found)


def number_of(connection: Connection) -> int:
    """Return how many hosts the store knows; their ids count up from 1."""
    return connection.scalar(select(func.max(hosts.c.id))) or 0


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
