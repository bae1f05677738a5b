"""Damaged values in columns: errors that name the row and the table."""

import re
from contextlib import closing
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, Engine, Float, Integer, LargeBinary, SmallInteger
from sqlalchemy.exc import DBAPIError, OperationalError

from canonry.storage.sql.schema import metadata
from canonry.storage.sql.store_errors import StoreError

# SQLite's names for the types of a column's values; it stores any type in any column.
_STORED = {str: "'text'", bytes: "'blob'", int: "'integer'", float: "'integer', 'real'"}
# The largest numbers of columns; no time or duration of ours is beyond the year 9999.
_LARGEST = {SmallInteger: (1 << 15) - 1, Integer: (1 << 31) - 1, Float: 253_402_300_799}
_NO_TEXT = re.compile(r"Could not decode to UTF-8 column '(\w+)'")  # sqlite3's words


def damaged(table: str, row: object, reason: object) -> StoreError:
    """Return the error for a damaged row."""
    said = str(reason).partition("\n")[0]
    return StoreError(
        f"row {row} of table {table} is damaged: {said}; restore a copy of the store, or save what "
        "can be read with 'canonry export'"
    )


def stored_json(text: str, table: str, row: object) -> dict[str, Any]:
    """Return the JSON object that a column holds.

    Args:
        text: what the column holds.
        table: the table's name, for the error.
        row: what identifies the row, for the error.

    Raises:
        StoreError: if it holds none.
    """
    try:
        return msgspec.json.decode(text, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise damaged(table, row, error) from None


def undecodable(engine: Engine, error: DBAPIError) -> StoreError | None:
    """Return the error for the row that SQLite could not read because its text is no UTF-8.

    Args:
        engine: of the database.
        error: what it raised.
    """
    if (column := _NO_TEXT.match(str(error.orig))) is None:
        return None
    name = column[1]
    with closing(engine.raw_connection()) as connection:
        driver: Any = connection.driver_connection
        driver.text_factory = bytes
        try:
            for table in metadata.sorted_tables:
                if name not in table.columns or not table.primary_key:
                    continue
                key = next(iter(table.primary_key.columns)).name
                for row, text in driver.execute(f"SELECT {key}, {name} FROM {table.name}"):  # noqa: S608 - our names
                    if isinstance(text, bytes) and not _is_text(text):
                        shown = row.decode(errors="replace") if isinstance(row, bytes) else row
                        return damaged(table.name, shown, f"its {name} is no UTF-8")
        finally:
            driver.text_factory = str
    with engine.connect() as connection:
        return wrong_row(connection)


def wrong_row(connection: Connection) -> StoreError | None:
    """Return the error for a row of a SQLite store with a value that its column cannot have.

    Raises:
        DBAPIError: the file itself is damaged.
    """
    for table in (table for table in metadata.sorted_tables if table.primary_key):
        key = next(iter(table.primary_key.columns)).name
        wrong = f"CASE {' '.join(_is_wrong(column) for column in table.columns)} END"
        query = f"SELECT CAST({key} AS BLOB), {wrong} FROM {table.name} WHERE {wrong} <> '' LIMIT 1"  # noqa: S608 - our names
        try:
            row = connection.exec_driver_sql(query).first()
        except OperationalError as error:
            if "no such" in str(error):  # it has an earlier schema
                continue
            raise
        if row is not None:
            return damaged(table.name, row[0].decode(errors="replace"), row[1])
    return None


def _is_wrong(column: Column[Any]) -> str:
    """Return the branch of a CASE that says what is wrong with a column's value."""
    name, kind = column.name, column.type
    stored = _STORED[kind.python_type] + ", 'null'" * bool(column.nullable)
    faults = [f"typeof({name}) NOT IN ({stored})"]
    faults += [f"abs({name}) > {most}" for of, most in _LARGEST.items() if type(kind) is of]
    if values := column.info.get("values"):
        faults.append(f"{name} NOT IN ({', '.join(map(str, map(int, values)))})")
    if isinstance(kind, LargeBinary) and kind.length:
        faults.append(f"length({name}) <> {kind.length}")
    for key in column.foreign_keys:
        there = key.column
        ids = f"SELECT {there.name} FROM {there.table.name}"  # noqa: S608 - our names
        faults.append(f"{name} NOT IN ({ids})")
    return f"WHEN {' OR '.join(faults)} THEN 'its {name} is nothing that it can be'"


def _is_text(found: bytes) -> bool:
    """Return True if bytes are UTF-8."""
    try:
        found.decode()
    except UnicodeDecodeError:
        return False
    return True
