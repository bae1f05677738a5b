"""The tables of a frontier that other engines use, apart from the store's own; made on demand.

A queue is a row of ``hosts``: its name is the key that the engine gives, which is usually the host.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
)

from canonry.storage.learned import host_urls
from canonry.storage.sql.tables.table_parts import RowId, partial_index

_metadata = MetaData()
queues = Table(
    "frontier_queues",
    _metadata,
    Column("host_id", RowId, primary_key=True, autoincrement=False, comment="its row in hosts"),
    Column("handed_at", Float, nullable=False, comment="its last URLs; seconds since 1970"),
    Column("blocked_until", Float, nullable=False, comment="no URLs before; seconds since 1970"),
    Column("most", BigInteger, comment="URLs that it may have; null: any number"),
)
partial_index(Index("frontier_limits", queues.c.host_id), queues.c.most.is_not(None))

schedule = Table(
    "frontier_urls",
    _metadata,
    Column("url_id", RowId, primary_key=True, autoincrement=False),
    Column("metadata", LargeBinary, nullable=False, comment="as the engine gave it: a URLInfo"),
    Column("again_at", Integer().with_variant(BigInteger(), "postgresql"), comment="fetch it then"),
)
partial_index(Index("frontier_again", schedule.c.again_at), schedule.c.again_at.is_not(None))


def tables() -> list[Table]:
    """Return the tables; a table comes after those that it refers to."""
    return _metadata.sorted_tables


def create_tables(connection: Connection) -> None:
    """Create the tables, if they are not there, in a transaction that holds the write lock."""
    _metadata.create_all(connection)
    host_urls.index(connection)  # a queue is listed, counted and deleted by its URLs
