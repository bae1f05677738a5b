"""Changes of the queue from outside a crawl: a number tells running crawls that there was one."""

from collections.abc import Collection

from sqlalchemy import Connection, select

from canonry.storage.sql.bulk import rows_of, upsert
from canonry.storage.sql.schema import meta

_NAME = "queue"
_READ = select(meta.c.value).where(meta.c.name == _NAME)


def generation(connection: Connection) -> int:
    """Return a number that grows whenever people change the queue."""
    return int(connection.scalar(_READ) or 0)


def advance(connection: Connection) -> None:
    """Record that the queue was changed, in the transaction that changes it."""
    now = str(generation(connection) + 1)
    new = upsert(connection.dialect.name, meta).values(name=_NAME, value=now)
    connection.execute(new.on_conflict_do_update(index_elements=["name"], set_={"value": now}))


def withdrawn(connection: Connection, rows: Collection[int]) -> set[int]:
    """Return those of some URLs that were queued and are not to be fetched any more."""
    question = (
        "SELECT urls.id FROM urls JOIN hosts ON hosts.id = host_id "
        "WHERE (state <> 0 OR blocked > 0) AND urls.id"
    )
    return {row for (row,) in rows_of(connection, question, list(rows))}
