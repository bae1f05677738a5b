"""Parts of tables: column types, what columns say of themselves, and indexes of one database.

Whoever copies a store under another policy makes one URL of several (`canonry.storage.copying`). A
column or a table says in its ``info`` what becomes of its rows then.
"""

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    Text,
    TextClause,
    TypeDecorator,
    event,
    text,
)
from sqlalchemy.engine import Dialect

metadata = MetaData()  # of all tables
# Of a column with the id of a URL, if that URL becomes one with another: the row goes on with the
# URL that stays, or it goes.
FOLLOWS, GOES = {"url": "follows"}, {"url": "goes"}
# Of a column, if a row joins the one with its key that is there (`bulk.join`). Columns that say
# nothing keep their value.
SMALLEST, LARGEST, TOGETHER = {"both": "min"}, {"both": "max"}, {"both": "sum"}
OF_ONE_POLICY = {"one_policy": True}  # of a table that is made anew under another policy
# SQLite assigns row numbers only in a column of type INTEGER.
RowId = BigInteger().with_variant(Integer(), "sqlite")


class Words(TypeDecorator[str]):
    """Text that we did not write. PostgreSQL's text has no NUL: it is stored as ``%00``."""

    impl = Text
    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        """Return the type of the values."""
        return str

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """Return the text that is stored."""
        return None if value is None else value.replace("\0", "%00")


def held_columns() -> tuple[Column[str | None], Column[float]]:
    """Return the columns of rows that may belong to a worker for a time."""
    return (
        Column("holder", Text, comment="the worker to which it belongs"),
        Column(
            "held_until",
            Float,
            nullable=False,
            server_default=text("0"),
            comment="nobody else gets it before; seconds since 1970",
        ),
    )


def partial_index(index: Index, where: ColumnElement[bool] | TextClause) -> None:
    """Let an index hold only the rows that meet a condition."""
    _give(index, sqlite_where=where, postgresql_where=where)


def hash_index(index: Index) -> None:
    """Let an index of PostgreSQL, and of no other database, hold hashes of its column."""
    _give(index.ddl_if(dialect="postgresql"), postgresql_using="hash")


def _give(index: Index, **options: object) -> None:
    """Give an index the options for a database when it is created there.

    Given earlier, they would load SQLAlchemy's code for PostgreSQL: a tenth of the start of a
    command that opens a store.
    """

    @event.listens_for(index, "before_create")
    def made(_index: Index, connection: Connection, **_more: object) -> None:
        its_own = f"{connection.dialect.name}_"
        for name, value in options.items():
            if name.startswith(its_own):
                index.dialect_kwargs[name] = value
