"""Rows of keys: looked up, and inserted beside other writers that may claim the same keys."""

from collections.abc import Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.storage.sql.bulk import rows_of

# The order of the keys is the order in which their rows lock: two claims never wait for each other.
_INSERT = """
WITH inserted AS (
    INSERT INTO keys (id, key, url_id)
    SELECT
        nextval('keys_id_seq'),
        substring(%b::bytea FROM 16 * (place::int - 1) + 1 FOR 16),
        row_of_url
    FROM unnest(%b::bigint[]) WITH ORDINALITY AS given (row_of_url, place) ORDER BY place
    ON CONFLICT (key) DO NOTHING RETURNING id
)
SELECT count(*), coalesce(min(id), 0), coalesce(max(id), 0) FROM inserted
"""


class Inserted(NamedTuple):
    """What was inserted of some keys: the others were known."""

    number: int
    first: int  # the smallest id of a new row; 0 if there is none
    last: int  # the largest one


class KeyRow(NamedTuple):
    """Where a key is in the table."""

    id: int
    url_id: int


def rows_of_keys(connection: Connection, wanted: Sequence[bytes]) -> dict[bytes, int]:
    """Return by key the URL's row, for the keys that the table has."""
    return dict(rows_of(connection, "SELECT key, url_id FROM keys WHERE key", wanted))


def found_rows(connection: Connection, wanted: Sequence[bytes]) -> dict[bytes, KeyRow]:
    """Return by key where it is in the table, for the keys that the table has."""
    found = rows_of(connection, "SELECT key, id, url_id FROM keys WHERE key", wanted)
    return {key: KeyRow(number, row) for key, number, row in found}


def insert_beside(connection: Connection, given: Sequence[tuple[bytes, int]]) -> Inserted:
    """Insert the keys that nobody has, on PostgreSQL.

    A key that another transaction has just inserted is waited for: it is ours if that one fails.

    Args:
        connection: in a transaction that claims beside others, and has inserted no keys before.
        given: distinct keys, sorted, each with the row of its URL.
    """
    together = b"".join(key for key, _row in given)
    rows = [row for _key, row in given]
    return Inserted(*connection.exec_driver_sql(_INSERT, (together, rows)).one())
