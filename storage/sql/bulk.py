"""Many rows at once: inserted past SQLAlchemy's work for each parameter, asked for in chunks."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from sqlalchemy import Connection, Table
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import OperationalError

_T = TypeVar("_T")
_CHUNK = 500  # values in one IN list


def chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield values in lists that are short enough to be asked for in one statement."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows into a table, past all that is done for each parameter.

    Args:
        connection: in a writing transaction.
        table: where to.
        columns: the names of the columns that are given.
        rows: their values, in the same order; of types that the driver takes as they are.
    """
    if unknown := set(columns) - set(table.columns.keys()):
        raise KeyError(f"table {table.name} has no column {min(unknown)!r}")
    if not rows:
        return
    names = ", ".join(columns)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({names}) FROM STDIN", rows)
        return
    marks = ", ".join("?" * len(columns))
    statement = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608 - our names
    connection.exec_driver_sql(statement, list(rows))


def _copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Send rows by PostgreSQL's COPY."""
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.Error as error:
        raise OperationalError(statement, None, error) from error


def rows_of(
    connection: Connection, question: str, values: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows whose last-named column is one of many values, past SQLAlchemy's compiler.

    Args:
        connection: in a transaction.
        question: a SELECT that ends with ``WHERE column``.
        values: what the column is compared with.
    """
    if connection.dialect.name == "postgresql":
        yield from connection.exec_driver_sql(f"{question} = ANY(%s)", (list(values),))
        return
    for part in chunks(values):
        marks = ", ".join("?" * len(part))
        yield from connection.exec_driver_sql(f"{question} IN ({marks})", tuple(part))


Upsert: TypeAlias = sqlite.Insert | postgresql.Insert


def upsert(dialect: str, table: Table) -> Upsert:
    """Return an insert that can say what to do where the row is there already."""
    return postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
