"""Many rows at once: inserted past SQLAlchemy's work for each parameter, asked for in chunks."""

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

from sqlalchemy import Connection, Table

_T = TypeVar("_T")
_CHUNK = 500  # values in one IN list


def chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield values in lists that are short enough to be asked for in one statement."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows into a table with one prepared statement.

    Args:
        connection: in a writing transaction.
        table: where to.
        columns: the names of the columns that are given.
        rows: their values, in the same order; of types that the driver takes as they are.
    """
    if unknown := set(columns) - set(table.columns.keys()):
        raise KeyError(f"table {table.name} has no column {min(unknown)!r}")
    if rows:
        names, marks = ", ".join(columns), ", ".join("?" * len(columns))
        statement = f"INSERT INTO {table.name} ({names}) VALUES ({marks})"  # noqa: S608 - our names
        connection.exec_driver_sql(statement, list(rows))
