"""From schema 5 to 6: what was exported of clusters, so that an export can say what changed."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

_metadata = MetaData()
_Id = BigInteger().with_variant(Integer(), "sqlite")
Table(
    "exports",
    _metadata,
    Column("id", _Id, primary_key=True, comment="counts up: the exports that found changes"),
    Column("token", Text, nullable=False, comment="random; a cursor of another store differs"),
    Column("made_at", Float, nullable=False, comment="seconds since 1970, UTC"),
)
Table(
    "members",
    _metadata,
    Column(
        "cluster_id", BigInteger, primary_key=True, autoincrement=False, comment="row of a page"
    ),
    Column("url_id", BigInteger, primary_key=True, autoincrement=False, comment="row of its URL"),
    Column("said", LargeBinary(16), nullable=False, comment="hash of what was exported of it"),
    Column("changed", BigInteger, nullable=False, comment="the export that found it changed"),
    Column("gone", SmallInteger, nullable=False, comment="1: it is no member any more"),
    sqlite_with_rowid=False,
)


def upgrade(connection: Connection, _operations: Operations) -> None:
    """Create the tables; they are empty until the first export that asks for a cursor."""
    _metadata.create_all(connection, checkfirst=False)
