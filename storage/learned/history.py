"""History: what the store knows of a host's URLs, for those who read it later."""

from collections.abc import Iterable, Iterator

from sqlalchemy import Connection, inspect, select

from canonry.storage.http_status import GONE
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import hosts, pages, urls


def index(connection: Connection) -> None:
    """Make the index that finds the URLs of a host, unless it is there."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS urls_by_host ON url_rows (host_id, id)")


def has_index(connection: Connection) -> bool:
    """Return True if the index that finds the URLs of a host is there; it is made when needed."""
    return any(
        found["name"] == "urls_by_host" for found in inspect(connection).get_indexes("url_rows")
    )


def gone_of(connection: Connection, host: str, most: int = 2_000) -> Iterator[str]:
    """Yield the URLs of a host, the latest ones, that answered 404 or 410.

    The index must be there.
    """
    query = (
        select(urls.c.url)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .join(pages, pages.c.url_id == urls.c.id)
        .where(hosts.c.name == host, pages.c.status.in_(GONE))
        .order_by(urls.c.id.desc())
        .limit(most)
    )
    yield from connection.scalars(query)


def last_redirects(connection: Connection, rows: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return by row where it redirected when it was last fetched: the row, and the HTTP status."""
    question = "SELECT from_id, to_id, kind, status, last_seen FROM aliases WHERE from_id"
    last: dict[int, tuple[float, int, int]] = {}
    for row, to_id, kind, status, seen in rows_of(connection, question, list(rows)):
        if kind == "redirect" and (row not in last or seen > last[row][0]):
            last[row] = seen, to_id, status
    return {row: (to_id, status) for row, (_seen, to_id, status) in last.items()}
