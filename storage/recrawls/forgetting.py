"""Forgetting: URLs that have been gone, or redirected for good, for a long time leave the store.

They go in two steps. First such a URL is held, without its page, so that the next export says that
its document is gone. Its row and key follow when every reader of the export log has had the time to
hear that. A link to it is new then, and is asked.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, delete, func, select, text, update

from canonry.storage.rows import pages
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows, rows_of
from canonry.storage.sql.schema import State, metadata, url_rows, urls
from canonry.storage.sql.tables.figure_tables import exports

LONG_GONE: Final = "long-gone"  # the reason of URLs that are held until readers know it
READERS = 30 * 86_400.0  # seconds that a reader of the export log may stay away
_HELD = State.HELD, LONG_GONE
# A seed is asked in each run. On SQLite, the next id follows the largest, which is not given twice.
_GONE = text(f"""
SELECT id FROM url_rows JOIN absences ON absences.url_id = id
WHERE absences.due > 0 AND since <= :then AND depth > 0 AND id < (SELECT max(id) FROM url_rows)
    AND (state = {State.REDIRECTED:d} OR state = {State.FETCHED:d} AND reason IS NULL)
""")  # noqa: S608 - our own numbers
_LONG_GONE = f"FROM url_rows WHERE state = {State.HELD:d} AND reason = '{LONG_GONE}'"
_UNTOLD = f"""
SELECT {{0}} FROM members WHERE (gone = 0 OR changed > :told) AND {{0}} IN (SELECT id {_LONG_GONE})
"""  # noqa: S608 - our own names
_MARK = "UPDATE url_rows SET due = -1 WHERE id"  # no URL was asked then
_IDS = f"SELECT id {_LONG_GONE} AND due = -1"
_EDGES = "SELECT kind, status FROM aliases WHERE from_id"


def forget(connection: Connection, now: float, after: float) -> int:
    """Hold URLs that have been gone for long enough, and delete those of which readers know it.

    A URL stays as long as another one leads to it that does not go as well.

    Args:
        connection: in a writing transaction, while no crawl remembers the URLs.
        now: seconds since 1970.
        after: seconds that a URL has to be gone.

    Returns:
        How many were deleted.
    """
    held = set(connection.exec_driver_sql(f"SELECT id {_LONG_GONE}").scalars())
    found = held.union(connection.scalars(_GONE, {"then": now - after}))
    if not found:
        return 0
    leading = "SELECT to_id, from_id FROM aliases WHERE to_id"
    edges = list(rows_of(connection, leading, list(found)))
    while stays := {to_id for to_id, from_id in edges if from_id not in found} & found:
        found -= stays
    _hold(connection, found - held)
    told = connection.scalar(
        select(func.max(exports.c.id)).where(exports.c.made_at <= now - READERS)
    )
    untold = {
        url_id
        for column in ("cluster_id", "url_id")
        for url_id in connection.scalars(text(_UNTOLD.format(column)), {"told": told or 0})
    }
    found -= untold
    _delete(connection, found)
    return len(found)


def _hold(connection: Connection, url_ids: Collection[int]) -> None:
    """Hold URLs, without their pages and without what they led to."""
    new = list(url_ids)
    pages.remove(connection, new)
    _remove_edges(connection, new)
    change_rows(connection, "DELETE FROM absences WHERE url_id", new)
    transitions.move_ids(connection, new, _HELD)


def _remove_edges(connection: Connection, url_ids: list[int]) -> None:
    """Delete what URLs led to."""
    edges = Counter(counts.alias(*edge) for edge in rows_of(connection, _EDGES, url_ids))
    change_rows(connection, "DELETE FROM aliases WHERE from_id", url_ids)
    counts.add(connection, {edge: -number for edge, number in edges.items()})


def _delete(connection: Connection, url_ids: Collection[int]) -> None:
    """Delete held URLs from all tables. Each table is read once, as not all have an index."""
    if not url_ids:
        return
    change_rows(connection, _MARK, list(url_ids))
    counts.add(connection, {counts.url(*_HELD): -len(url_ids)})
    # Readers that have not come since the last of these exports have to begin anew.
    known = f"FROM members WHERE cluster_id IN ({_IDS}) OR url_id IN ({_IDS})"
    last = connection.exec_driver_sql(f"SELECT max(changed) {known}").scalar()
    connection.exec_driver_sql(f"DELETE {known}")
    connection.execute(delete(exports).where(exports.c.id < (last or 0)))
    tables = [table for table in metadata.sorted_tables if table not in {urls, url_rows}]
    for table in (*tables, url_rows):
        for column in reversed(table.columns.values()):
            if column.references(url_rows.c.id) or "url" in column.info:
                which = column.in_(text(_IDS))
                goes = update(table).values({column: None}) if column.nullable else delete(table)
                connection.execute(goes.where(which))
