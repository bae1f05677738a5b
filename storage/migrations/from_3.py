"""From schema 3 to 4: what fetching known URLs again needs, priorities, and budgets."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    column,
    func,
    insert,
    select,
    table,
    text,
    update,
)

_FETCHED, _REDIRECTED = 1, 2
_OK = 200
_urls = table("urls", *map(column, ("id", "state", "due")))
_pages = table("pages", *map(column, ("url_id", "fetched_at", "status", "size", "digest")))
_aliases = table("aliases", *map(column, ("from_id", "last_seen")))
_counts = table("counts", *map(column, ("kind", "name", "reason", "count")))
_metadata = MetaData()
_robots = Table(
    "robots",
    _metadata,
    Column("origin", Text, primary_key=True, comment="scheme, host and port"),
    Column("rules", Text, comment="the last robots.txt that was read; null: never one"),
    Column("expires_at", Float, nullable=False, comment="ask again after; seconds since 1970"),
    Column("unreachable_since", Float, comment="first try of those that failed in a row"),
)
Table(
    "budgets",
    _metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of the host and the pattern"),
    Column("pattern", Text, nullable=False, comment="what its URLs have in common"),
    Column("count", BigInteger, nullable=False, comment="URLs that were let into the queue"),
)
_OF_PAGES = {
    "charset": "in which it was read, by the Encoding Standard's names",
    "etag": "its entity tag, for asking whether it has changed",
    "modified": "its Last-Modified, for the same",
}


def upgrade(connection: Connection, operations: Operations) -> None:
    """Add columns, indexes and tables, and fill in when each URL was fetched last."""
    for name, comment in _OF_PAGES.items():
        operations.add_column("pages", Column(name, Text, comment=comment))
    operations.create_index("pages_by_digest", "pages", ["digest"])
    operations.add_column(
        "urls", Column("priority", SmallInteger, nullable=False, server_default="0")
    )
    operations.drop_index("urls_queue", table_name="urls")
    order = ["host_id", "priority", "depth", "id"]
    _partial_index(operations, "urls_queue", order, "state = 0")
    _partial_index(operations, "urls_led_to", ["id"], "depth = 0 AND hops > 0")
    operations.drop_table("robots")  # they are fetched again every day anyway
    _metadata.create_all(connection, checkfirst=False)
    _date_urls(connection)
    _count_repeated_bodies(connection)


def _partial_index(operations: Operations, name: str, columns: list[str], where: str) -> None:
    """Create an index of some rows of ``urls``."""
    operations.create_index(
        name, "urls", columns, sqlite_where=text(where), postgresql_where=text(where)
    )


def _date_urls(connection: Connection) -> None:
    """Set ``due`` of settled URLs to the time when they were fetched."""
    fetched_at = select(_pages.c.fetched_at).where(_pages.c.url_id == _urls.c.id)
    last_seen = select(func.max(_aliases.c.last_seen)).where(_aliases.c.from_id == _urls.c.id)
    for state, at in ((_FETCHED, fetched_at), (_REDIRECTED, last_seen)):
        settled = update(_urls).where(_urls.c.state == state)
        connection.execute(settled.values(due=func.coalesce(at.scalar_subquery(), 0.0)))


def _count_repeated_bodies(connection: Connection) -> None:
    """Count the pages whose body another page had before."""
    digest = _pages.c.digest
    with_body = _pages.c.status == _OK, _pages.c.size > 0
    query = select(func.count(), func.count(digest.distinct())).where(*with_body)
    number, distinct = connection.execute(query).one()
    if number > distinct:
        row = {"kind": "bodies", "name": "repeated", "reason": "", "count": number - distinct}
        connection.execute(insert(_counts).values(row))
