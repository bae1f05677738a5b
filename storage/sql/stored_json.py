"""Damaged values in columns: errors that name the row and the table."""

from typing import Any

import msgspec

from canonry.storage.sql.store_errors import StoreError


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
