"""Bulk statements: many rows inserted, looked up or added to at once."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    UniqueConstraint,
    bindparam,
    func,
    select,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import IntegrityError, OperationalError

from canonry.storage.sql.prepared import Prepared, execute, stream

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql

_T = TypeVar("_T")
_CHUNK = 500  # values in one IN list
_MANY = 500  # rows at once for which a statement of their own is worth compiling


def chunks(values: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield the values in lists that are short enough for one statement."""
    for start in range(0, len(values), _CHUNK):
        yield values[start : start + _CHUNK]


def insert_rows(
    connection: Connection, table: Table, columns: Sequence[str], rows: Sequence[tuple[Any, ...]]
) -> None:
    """Insert rows without SQLAlchemy's work for each parameter.

    Args:
        connection: in a writing transaction.
        table: the table.
        columns: names of columns.
        rows: their values, in the same order, of types that the driver accepts.
    """
    _insert(connection, table, dict.fromkeys(columns, "?"), rows)


def insert_columns(
    connection: Connection, table: Table, columns: Mapping[str, Sequence[Any]]
) -> None:
    """Insert rows that are given column by column.

    Binding values takes up to half of SQLite's time. So if many rows have the same integer in a
    column, or null, it is written into the statement.

    Args:
        connection: in a writing transaction.
        table: the table.
        columns: by name the values, of types that the driver accepts. The first column tells the
            rows apart.
    """
    first, *others = columns
    placeholders = dict.fromkeys(columns, "?")
    if connection.dialect.name == "sqlite" and len(columns[first]) >= _MANY:
        placeholders |= {name: _placeholder(columns[name]) for name in others}
    bound = [values for name, values in columns.items() if placeholders[name] == "?"]
    _insert(connection, table, placeholders, list(zip(*bound, strict=True)))


def _placeholder(values: Sequence[Any]) -> str:
    """Return what stands for a column in a statement: its only value, or a question mark."""
    one = values[0]
    if (one is not None and type(one) is not int) or values.count(one) < len(values):
        return "?"
    return "NULL" if one is None else str(one)


def _insert(
    connection: Connection,
    table: Table,
    placeholders: Mapping[str, str],
    rows: Sequence[tuple[Any, ...]],
) -> None:
    """Insert rows: they hold the columns with a "?"; the other placeholders are literal values."""
    if unknown := placeholders.keys() - set(table.columns.keys()):
        raise KeyError(f"table {table.name} has no column {min(unknown)!r}")
    if not rows:
        return
    names = ", ".join(placeholders)
    if connection.dialect.name == "postgresql":
        _copy(connection, f"COPY {table.name} ({names}) FROM STDIN", rows)
        return
    values = ", ".join(placeholders.values())
    statement = f"INSERT INTO {table.name} ({names}) VALUES ({values})"  # noqa: S608 - our names
    connection.exec_driver_sql(statement, list(rows))


def _copy(connection: Connection, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
    """Send rows with PostgreSQL's COPY."""
    driver: Any = connection.connection.driver_connection
    try:
        with driver.cursor() as cursor, cursor.copy(statement) as copy:
            for row in rows:
                copy.write_row(row)
    except connection.dialect.loaded_dbapi.IntegrityError as error:
        raise IntegrityError(statement, None, error) from error
    except connection.dialect.loaded_dbapi.Error as error:
        raise OperationalError(statement, None, error) from error


def rows_of(
    connection: Connection, question: str, values: Sequence[Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield the rows that match one of many values, without SQLAlchemy's compiler.

    Args:
        connection: in a transaction.
        question: a SELECT that ends with ``WHERE column``.
        values: the values of that column.
    """
    if not values:
        return
    if connection.dialect.name == "postgresql":
        yield from execute(connection, f"{question} = ANY(%s)", (list(values),)).rows
        return
    for part in _filled_up(values):
        placeholders = ", ".join("?" * len(part))
        yield from execute(connection, f"{question} IN ({placeholders})", part).rows


def stream_rows(
    connection: Connection, question: str, at_once: int
) -> Iterator[Sequence[tuple[Any, ...]]]:
    """Yield all rows of a query in batches, with one batch in memory at a time.

    Args:
        connection: in a transaction.
        question: a SELECT without parameters.
        at_once: how many rows.
    """
    if connection.dialect.name == "sqlite":
        yield from stream(connection, question, at_once)
        return
    options = {"yield_per": at_once}  # a cursor on the server: else it sends all at once
    with connection.exec_driver_sql(question, execution_options=options) as found:
        yield from found.partitions(at_once)


def change_rows(connection: Connection, change: str, values: Sequence[Any]) -> int:
    """Change the rows that match one of many values, without SQLAlchemy's compiler.

    Args:
        connection: in a writing transaction.
        change: an UPDATE or a DELETE that ends with ``WHERE column``.
        values: the values of that column.

    Returns:
        How many rows there were.
    """
    if values and connection.dialect.name == "postgresql":
        return execute(connection, f"{change} = ANY(%s)", (list(values),)).changed
    changed = 0
    for part in _filled_up(values):
        placeholders = ", ".join("?" * len(part))
        changed += execute(connection, f"{change} IN ({placeholders})", part).changed
    return changed


def _filled_up(values: Sequence[_T]) -> Iterator[tuple[_T, ...]]:
    """Yield the values in lists of a few lengths, padded with their last value.

    So a few statements serve lists of any length, and SQLite has usually prepared them.
    """
    for part in chunks(values):
        length = min(1 << (len(part) - 1).bit_length(), _CHUNK)
        yield (*part, *repeat(part[-1], length - len(part)))


Upsert: TypeAlias = "sqlite.Insert | postgresql.Insert"


def next_id(connection: Connection, table: Table) -> int:
    """Return the id of a table's next row. Only an exclusive transaction reserves it."""
    [(last,)] = _last_id(table).run(connection, {})
    return (last or 0) + 1


@cache
def _last_id(table: Table) -> Prepared:
    """Return the question for `next_id`."""
    return Prepared(select(func.max(table.c.id)))


def upsert(dialect: str, table: Table) -> Upsert:
    """Return an insert that can say what to do if the row exists."""
    if dialect != "postgresql":
        return sqlite.insert(table)
    from sqlalchemy.dialects import postgresql  # noqa: PLC0415 - a tenth of a store's imports

    return postgresql.insert(table)


def put(
    connection: Connection,
    table: Table,
    rows: Sequence[Mapping[str, Any]],
    *,
    change: Collection[str] | None = None,
) -> int:
    """Insert rows; a row that is there already is changed. Return how many were written.

    Args:
        connection: in a writing transaction.
        table: the table; its primary key tells rows apart.
        rows: with the same columns each.
        change: the columns that get their new values; None: all that are given. If there are none,
            the row that is there stays.
    """
    if not rows:
        return 0
    how = None if change is None else frozenset(change)
    one = _putting(connection.dialect.name, table, tuple(rows[0]), how)
    return one.run_many(connection, rows)


@cache
def _putting(
    dialect: str, table: Table, columns: tuple[str, ...], change: frozenset[str] | None
) -> Prepared:
    """Return the statement for `put`."""
    new = _new_row(dialect, table, columns)
    keys = [column.name for column in table.primary_key]
    changed = set(columns).difference(keys) if change is None else change
    return _or(new, keys, {name: new.excluded[name] for name in columns if name in changed})


def join(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; a row that is there already is joined with the new one, as its columns say.

    Args:
        connection: in a writing transaction.
        table: the table; see `table_parts.TOGETHER` for what its columns say.
        rows: with the same columns each.
    """
    if rows:
        _joining(connection.dialect.name, table, tuple(rows[0])).run_many(connection, rows)


@cache
def _joining(dialect: str, table: Table, columns: tuple[str, ...]) -> Prepared:
    """Return the statement for `join`."""
    new = _new_row(dialect, table, columns)
    least, most = ("min", "max") if dialect == "sqlite" else ("least", "greatest")
    both: dict[str, ColumnElement[Any]] = {}
    for column in map(table.c.__getitem__, columns):
        now = new.excluded[column.name]
        if (how := column.info.get("both")) == "sum":
            both[column.name] = column + now
        elif how is not None:
            pick = getattr(func, least if how == "min" else most)
            both[column.name] = pick(func.coalesce(column, now), func.coalesce(now, column))
    return _or(new, [column.name for column in identity(table)], both)


def _new_row(dialect: str, table: Table, columns: Sequence[str]) -> Upsert:
    """Return an insert of one row."""
    return upsert(dialect, table).inline().values({name: bindparam(name) for name in columns})


def _or(new: Upsert, keys: Sequence[str], values: Mapping[str, ColumnElement[Any]]) -> Prepared:
    """Return an insert that changes the row with its keys; without values, any in its way stays."""
    if not values:
        return Prepared(new.on_conflict_do_nothing())
    return Prepared(new.on_conflict_do_update(index_elements=list(keys), set_=dict(values)))


@cache
def identity(table: Table) -> list[Column[Any]]:
    """Return the columns by which rows of a table are told apart."""
    unique = [c for c in table.constraints if isinstance(c, UniqueConstraint)]
    several = [list(one.columns) for one in unique if len(one.columns) > 1]
    return several[0] if several else list(table.primary_key)
