"""Revisits: what visits of a page have shown, and when it is due again.

Only pages that a crawl with ``--recrawl`` has fetched have a row.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    bindparam,
    exists,
    func,
    or_,
    select,
    update,
)

from canonry.storage.records import QUESTION
from canonry.storage.rows import requeueing
from canonry.storage.rows.urls import promote
from canonry.storage.sql import bulk
from canonry.storage.sql.bulk import chunks, rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, url_rows, urls
from canonry.storage.sql.tables.recrawl_tables import revisit_hosts, revisits

PAGE, LIST, SEED = range(3)  # roles


class Revisited(NamedTuple):
    """A row of a page; the columns of the table say what each field means."""

    url_id: int
    due: float
    seen_at: float
    visits: float = 0.0
    changes: float = 0.0
    changed_for: float = 0.0
    same_for: float = 0.0
    listed: float | None = None
    listed_then: float | None = None
    role: int = PAGE
    places: bytes | None = None


class RevisitedHost(NamedTuple):
    """A row of a host; the columns of the table say what each field means."""

    host_id: int
    first: float | None
    moved_changed: float
    moved_same: float
    rested_changed: float
    rested_same: float
    rates: bytes
    places: bytes


_ROWS = f"SELECT {', '.join(Revisited._fields)} FROM revisits WHERE url_id"  # noqa: S608 - our names
_HOSTS = f"SELECT {', '.join(RevisitedHost._fields)} FROM revisit_hosts WHERE host_id"  # noqa: S608 - our names
_LIST = Prepared(
    update(revisits).where(revisits.c.url_id == bindparam("page")).values(listed=bindparam("at"))
)


def read(connection: Connection, url_ids: Iterable[int]) -> dict[int, Revisited]:
    """Return the rows of pages by their ids, where there are some."""
    found = map(Revisited._make, rows_of(connection, _ROWS, list(url_ids)))
    return {row.url_id: row for row in found}


def read_hosts(connection: Connection, host_ids: Iterable[int]) -> dict[int, RevisitedHost]:
    """Return the rows of hosts by their ids, where there are some."""
    found = map(RevisitedHost._make, rows_of(connection, _HOSTS, list(host_ids)))
    return {row.host_id: row for row in found}


def put(connection: Connection, rows: Iterable[Revisited]) -> None:
    """Write rows of pages in place of earlier ones."""
    bulk.put(connection, revisits, [row._asdict() for row in rows])


def put_hosts(connection: Connection, rows: Iterable[RevisitedHost]) -> None:
    """Write rows of hosts in place of earlier ones."""
    bulk.put(connection, revisit_hosts, [row._asdict() for row in rows])


def put_dates(connection: Connection, dates: Mapping[int, float]) -> None:
    """Write the dates that sitemaps and feeds give for pages; those without a row are left out."""
    _LIST.run_many(connection, [{"page": url_id, "at": at} for url_id, at in dates.items()])


def postpone(connection: Connection, url_ids: Collection[int], due: float) -> None:
    """Let URLs that gave no page, but have a row, be due at a time."""
    for part in chunks(list(url_ids)):
        here = revisits.c.url_id.in_(part)
        connection.execute(update(revisits).where(here).values(due=due))


def requeue(
    connection: Connection, now: float, first: float, most: float, *which: ColumnElement[bool]
) -> int:
    """Put URLs that are due back in the queue; return how many. Sitemaps and feeds go first.

    Args:
        connection: in a writing transaction.
        now: seconds since 1970.
        first: seconds until URLs are due that have no row: pages, if their host has none, either.
        most: no page waits longer: only a clock that was ahead makes such waits.
        which: further conditions on `urls`.
    """
    due = _due(first)
    number = requeueing.queue_again(
        connection, and_(requeueing.ANSWERED, or_(due <= now, due > now + most), *which)
    )
    lists = select(revisits.c.url_id).where(revisits.c.role == LIST)
    promote(connection, connection.scalars(lists).all(), QUESTION)
    return number


def _due(first: float) -> ColumnElement[float]:
    """Return when a URL that has answered is due."""
    own = select(revisits.c.due).where(revisits.c.url_id == urls.c.id).scalar_subquery()
    is_like = (revisit_hosts.c.host_id == urls.c.host_id, urls.c.state == State.FETCHED)
    waits = select(revisit_hosts.c.first).where(*is_like).scalar_subquery()
    return func.coalesce(own, urls.c.due + func.coalesce(waits, first))


def bring_forward(connection: Connection, url_ids: Collection[int]) -> int:
    """Put those of some URLs that are fetched back in the queue; return how many."""
    return requeueing.queue_ids_again(connection, url_ids, State.FETCHED)


def number_due(connection: Connection, now: float) -> int | None:
    """Return how many fetched pages are due; None where no recrawl has fetched any."""
    if not connection.scalar(select(exists().select_from(revisits))):
        return None
    query = select(func.count()).join_from(revisits, url_rows, url_rows.c.id == revisits.c.url_id)
    is_due = (revisits.c.due <= now, url_rows.c.state == State.FETCHED)
    return connection.scalar(query.where(*is_due)) or 0


def host_ids_of(connection: Connection, url_ids: Iterable[int]) -> dict[int, int]:
    """Return by URL the id of its host."""
    return dict(rows_of(connection, "SELECT id, host_id FROM url_rows WHERE id", list(url_ids)))
