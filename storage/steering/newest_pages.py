"""The newest pages, and which of them have a body that an earlier page had already."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.storage.http_status import OK
from canonry.storage.records import UNREAD

_NEWEST = """
SELECT urls.url, EXISTS (
    SELECT 1 FROM pages earlier WHERE earlier.digest = newest.digest
    AND (earlier.fetched_at < newest.fetched_at
        OR (earlier.fetched_at = newest.fetched_at AND earlier.url_id < newest.url_id))
)
FROM (SELECT url_id, status, links, size, digest, fetched_at FROM pages
    ORDER BY fetched_at DESC, url_id DESC LIMIT {most:d}) newest
JOIN urls ON urls.id = newest.url_id
WHERE newest.status = {ok:d} AND newest.size > 0 AND newest.links <> {unread:d}
"""


class NewestPage(NamedTuple):
    """A page that was fetched lately."""

    url: str
    repeats: bool  # the body of a page that was fetched earlier, on any host


def newest_pages(connection: Connection, most: int) -> Iterator[NewestPage]:
    """Yield the pages that were fetched last, in no order; what is no page with a body is left out.

    Args:
        connection: in a transaction.
        most: fetched URLs to look at.
    """
    question = _NEWEST.format(most=most, ok=OK, unread=UNREAD)
    for url, repeats in connection.exec_driver_sql(question):
        yield NewestPage(str(url), bool(repeats))
