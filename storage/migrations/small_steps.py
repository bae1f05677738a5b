"""Steps that only add columns, or empty tables: from schema 4, 5, 8, 9 and 12."""

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
    text,
)

_of_5 = MetaData()
_Id = BigInteger().with_variant(Integer(), "sqlite")


def from_4(_connection: Connection, operations: Operations) -> None:
    """Add the column; pages have no sketch before they are fetched again."""
    operations.add_column(
        "pages", Column("sketch", LargeBinary, comment="what its text says; null: none was made")
    )


Table(
    "exports",
    _of_5,
    Column("id", _Id, primary_key=True, comment="counts up: the exports that found changes"),
    Column("token", Text, nullable=False, comment="random; a cursor of another store differs"),
    Column("made_at", Float, nullable=False, comment="seconds since 1970, UTC"),
)
Table(
    "members",
    _of_5,
    Column(
        "cluster_id", BigInteger, primary_key=True, autoincrement=False, comment="row of a page"
    ),
    Column("url_id", BigInteger, primary_key=True, autoincrement=False, comment="row of its URL"),
    Column("said", LargeBinary(16), nullable=False, comment="hash of what was exported of it"),
    Column("changed", BigInteger, nullable=False, comment="the export that found it changed"),
    Column("gone", SmallInteger, nullable=False, comment="1: it is no member any more"),
    sqlite_with_rowid=False,
)


def from_5(connection: Connection, _operations: Operations) -> None:
    """Create the tables; they are empty until the first export that asks for a cursor."""
    _of_5.create_all(connection, checkfirst=False)


def from_8(_connection: Connection, operations: Operations) -> None:
    """Add a column, which is empty until the rule is decided on again."""
    said = "why a rule with evidence enough does not act; null: not known"
    operations.add_column("rules", Column("held_back", Text, comment=said))


def from_9(_connection: Connection, operations: Operations) -> None:
    """Add a column; hosts that are known already count as the first of their domains."""
    said = "how many hosts of its registrable domain were found before it"
    rank = Column("rank", Integer, nullable=False, server_default=text("0"), comment=said)
    operations.add_column("hosts", rank)


_of_13 = MetaData()
Table(
    "little_new",
    _of_13,
    Column("host", Text, primary_key=True, comment="a host whose pages bring little new text"),
    Column("share", Float, nullable=False, comment="of the text of its pages that was new"),
    Column(
        "pattern",
        Text,
        nullable=False,
        comment="of most of its latest pages; empty: none stands out",
    ),
    Column("pages", BigInteger, nullable=False, comment="of the latest ones, with this pattern"),
    Column("pattern_share", Float, nullable=False, comment="of their text that was new"),
    Column("at", Float, nullable=False, comment="when it was found; seconds since 1970, UTC"),
)


def from_12(connection: Connection, operations: Operations) -> None:
    """Add two columns, which are empty until a page is fetched again, and an empty table."""
    said = "what its site says of its use, a statement a line"
    operations.add_column("pages", Column("use_statements", Text, comment=said))
    reserved = "the uses that its site reserves, with spaces between"
    operations.add_column("pages", Column("use_reserved", Text, comment=reserved))
    _of_13.create_all(connection, checkfirst=False)
