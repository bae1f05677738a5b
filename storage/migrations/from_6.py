"""From schema 6 to 7: the latest examples of merges, and indexes for those who look at a store."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
)

_metadata = MetaData()
_Id = BigInteger().with_variant(Integer(), "sqlite")
Table(
    "merge_examples",
    _metadata,
    Column("id", _Id, primary_key=True, comment="counts up: the latest have the largest"),
    Column("rules", Text, nullable=False, comment="the rules that merged two spellings"),
    Column("spelling", Text, nullable=False, comment="a link ..."),
    Column("url_id", BigInteger, nullable=False, comment="... and the URL that it is the same as"),
    Column("source_id", BigInteger, comment="the URL on whose page the link stood"),
    Column("seen_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Index("merge_examples_by_rules", "rules", "id"),
)


def upgrade(connection: Connection, operations: Operations) -> None:
    """Create the table, which is empty until links are merged, and the indexes."""
    _metadata.create_all(connection, checkfirst=False)
    operations.create_index("aliases_by_status", "aliases", ["status", "kind", "id"])
    operations.create_index("rules_by_state", "rules", ["state", "spared", "id"])
