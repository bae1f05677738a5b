"""Work tables: the progress of a policy change. They are dropped when it is done.

Until then the store itself is unchanged. If a change is killed, the store works under its old
policy, and the next try goes on from these tables.
"""

from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    delete,
    select,
)

from canonry.storage.sql.bulk import upsert
from canonry.storage.sql.schema import meta
from canonry.storage.sql.tables.table_parts import RowId

_FACT = "changing_policy"  # what the tables are for: policy and fingerprint


def _row(name: str) -> Column[int]:
    """Return a column with the id of a row, as the primary key."""
    return Column(name, RowId, primary_key=True, autoincrement=False)


_metadata = MetaData()
new_keys = Table(
    "rekey_urls",
    _metadata,
    _row("url_id"),
    Column("key", LargeBinary(16), nullable=False, comment="under the new policy"),
)
links = Table(
    "rekey_links",
    _metadata,
    _row("alias_id"),
    Column("to_id", RowId, nullable=False, comment="where it leads under the old policy"),
    Column("key", LargeBinary(16), comment="of the target as it was given; null: it is no URL"),
)
merged = Table(
    "rekey_merged",
    _metadata,
    _row("old_id"),
    Column("new_id", RowId, nullable=False, comment="the URL that it becomes one with"),
)
best = Table(
    "rekey_best",
    _metadata,
    _row("one"),
    Column("depth", Integer, nullable=False),
    Column("hops", Integer, nullable=False),
    Column("source_id", RowId),
    Column("found_at", Float, nullable=False),
    Column("priority", SmallInteger, comment="of those that are queued"),
)
edges = Table(
    "rekey_edges",
    _metadata,
    _row("id"),
    Column("from_id", RowId, nullable=False),
    Column("to_id", RowId, nullable=False),
    Column("kind", Text, nullable=False),
    Column("status", SmallInteger, nullable=False),
)
joined = Table(
    "rekey_joined",
    _metadata,
    _row("id"),
    Column("from_id", RowId, nullable=False),
    Column("to_id", RowId, nullable=False),
    Column("first_seen", Float, nullable=False),
    Column("last_seen", Float, nullable=False),
    Column("count", Integer, nullable=False),
)
_KEPT = (new_keys, links)  # from one try to the next


def prepare(connection: Connection, target: str) -> bool:
    """Make the tables for a change to a policy, or keep those that an earlier try has left.

    Args:
        connection: in a writing transaction.
        target: the new policy; tables for another one are dropped.

    Returns:
        True if an earlier try is continued.
    """
    before = connection.scalar(select(meta.c.value).where(meta.c.name == _FACT))
    if before == target:
        return True
    _metadata.drop_all(connection)
    for table in _KEPT:
        table.create(connection)
    new = upsert(connection.dialect.name, meta).values(name=_FACT, value=target)
    connection.execute(new.on_conflict_do_update(index_elements=["name"], set_={"value": target}))
    return False


def create(connection: Connection) -> None:
    """Make the tables in a database that holds nothing else."""
    for table in _KEPT:
        table.create(connection)


def index(connection: Connection) -> None:
    """Index the keys once all are inserted: before that, it takes several times as long."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS rekey_urls_by_key ON rekey_urls (key)")


def finish(connection: Connection) -> None:
    """Make the tables that the last step needs."""
    index(connection)
    _metadata.create_all(connection)


def drop(connection: Connection) -> None:
    """Drop all of them: the change is done."""
    _metadata.drop_all(connection)
    connection.execute(delete(meta).where(meta.c.name == _FACT))
