"""Texts in columns that are damaged: the error says which row of which table it is."""

import re
from contextlib import closing
from typing import Any

import msgspec
from sqlalchemy import Engine
from sqlalchemy.exc import DBAPIError

from canonry.storage.sql.schema import metadata
from canonry.storage.sql.store_errors import StoreError

_NO_TEXT = re.compile(r"Could not decode to UTF-8 column '(\w+)'")  # sqlite3's words


def damaged(table: str, row: object, reason: object) -> StoreError:
    """Return the error for a row that holds what nobody wrote there."""
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
        StoreError: if it is none.
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
                key = next(iter(table.primary_key.columns)).name
                if name not in table.columns:
                    continue
                for row, text in driver.execute(f"SELECT {key}, {name} FROM {table.name}"):  # noqa: S608 - our names
                    if isinstance(text, bytes) and not _is_text(text):
                        shown = row.decode(errors="replace") if isinstance(row, bytes) else row
                        return damaged(table.name, shown, f"its {name} is no UTF-8")
        finally:
            driver.text_factory = str
    return None


def _is_text(found: bytes) -> bool:
    """Return True if bytes are UTF-8."""
    try:
        found.decode()
    except UnicodeDecodeError:
        return False
    return True
