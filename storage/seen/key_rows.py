"""Rows of keys: look-ups, inserts in the order of the index, and counts of claims."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from canonry.storage.sql.bulk import insert_rows, rows_of
from canonry.storage.sql.schema import keys
from canonry.storage.sql.write_locks import is_shared

KEY_BYTES = 16
MANY = 1 << 15  # keys for which loading NumPy is worth it: 0.1 seconds and 15 MiB
_INSERT = "INSERT INTO keys (key, url_id) VALUES {} ON CONFLICT (key) DO NOTHING"
_GROUP = 100  # rows in one statement: SQLite takes two thirds of the time
# The order of the keys is the order in which their rows lock: two claims never wait for each other.
_INSERT_ALL = """
INSERT INTO keys (key, url_id)
SELECT substring(%b::bytea FROM 16 * (place::int - 1) + 1 FOR 16), url_id
FROM unnest(%b::bigint[]) WITH ORDINALITY AS given (url_id, place) ORDER BY place
ON CONFLICT (key) DO NOTHING
"""
LARGEST = b"\xff" * KEY_BYTES  # of all keys
_END = "SELECT key FROM keys WHERE key > {0} ORDER BY key LIMIT 1 OFFSET {0}"
_UP_TO_END = "FROM keys WHERE key > {0} AND key <= {0} AND url_id <= {0}"
# The database joins the keys: as rows, they take several times as long. SQLite joins texts, and
# takes the bytes of a key for one, whatever they are.
_JOINED = {
    "sqlite": "SELECT CAST(group_concat(key, '') AS BLOB) " + _UP_TO_END.format("?"),
    "postgresql": "SELECT string_agg(key, ''::bytea) " + _UP_TO_END.format("%s"),
}


def joined_keys(
    connection: Connection, after: bytes, most: int, newest: int
) -> tuple[bytes, bytes]:
    """Return the next keys in the order of the index, joined, and up to where these are all.

    Args:
        connection: in a transaction.
        after: the key where the last ones ended; empty to begin.
        most: how many.
        newest: without the keys of later URLs than this ``urls.id``.

    Returns:
        The keys, and the last of them; `LARGEST` if there are no more.
    """
    name = connection.dialect.name
    find_end = _END.format("?" if name == "sqlite" else "%s")
    found = connection.exec_driver_sql(find_end, (after, most - 1)).scalar()
    end = LARGEST if found is None else bytes(found)
    joined = connection.exec_driver_sql(_JOINED[name], (after, end, newest)).scalar()
    return bytes(joined or b""), end


def url_ids_of_keys(connection: Connection, wanted: Sequence[bytes]) -> dict[bytes, int]:
    """Return by key the URL's id, for the keys that the table has."""
    return dict(rows_of(connection, "SELECT key, url_id FROM keys WHERE key", wanted))


def insert_keys(connection: Connection, ids_by_key: Mapping[bytes, int]) -> dict[bytes, int]:
    """Insert the keys that the table lacks; return the others, with the ids of their URLs.

    Neighbours in the index are written together. If another open transaction of PostgreSQL has
    inserted a key, this waits for it; the key is ours if that transaction fails.

    Args:
        connection: in a writing transaction; if it shares the lock, it has inserted no keys
            before.
        ids_by_key: by key the id of its URL, at least one.
    """
    ordered, url_ids = in_order(ids_by_key)
    if connection.dialect.name != "postgresql":
        inserted = _insert_groups(connection, ordered, url_ids)
    elif not is_shared(connection) and _copied(connection, ordered, url_ids):
        return {}
    else:
        inserted = connection.exec_driver_sql(_INSERT_ALL, (b"".join(ordered), url_ids)).rowcount
    if inserted == len(ordered):
        return {}
    there = url_ids_of_keys(connection, ordered)
    return {key: url_id for key, url_id in there.items() if url_id != ids_by_key[key]}


def _insert_groups(connection: Connection, ordered: Sequence[bytes], url_ids: Sequence[int]) -> int:
    """Insert the keys that SQLite's table lacks; return how many these were."""
    values: list[bytes | int] = [*ordered, *url_ids]
    values[::2], values[1::2] = ordered, url_ids
    inserted, start = 0, 0
    for size in (_GROUP, 1):
        width = 2 * size
        end = len(values) - (len(values) - start) % width
        if start < end:
            statement = _INSERT.format(", ".join(["(?, ?)"] * size))
            groups = [tuple(values[at : at + width]) for at in range(start, end, width)]
            inserted += connection.exec_driver_sql(statement, groups).rowcount
        start = end
    return inserted


def _copied(connection: Connection, ordered: Sequence[bytes], url_ids: Sequence[int]) -> bool:
    """Insert keys with COPY, which takes half the time; return False if the table has any of them.

    Only where nobody else can insert them meanwhile.
    """
    connection.exec_driver_sql("SAVEPOINT copying")
    try:
        insert_rows(connection, keys, ("key", "url_id"), list(zip(ordered, url_ids, strict=True)))
    except IntegrityError:
        connection.exec_driver_sql("ROLLBACK TO copying")
        return False
    connection.exec_driver_sql("RELEASE copying")
    return True


def loads_numpy(number: int) -> bool:
    """Return True if this many keys are worth loading NumPy, or if it is loaded."""
    return number >= MANY or "numpy" in sys.modules


def in_order(numbers_by_key: Mapping[bytes, int]) -> tuple[list[bytes], list[int]]:
    """Return keys of 16 bytes, from the smallest to the largest, and the number of each.

    For many keys, NumPy takes a quarter of the time. It makes new objects, side by side in memory:
    collecting the old ones from everywhere takes longer than sorting.
    """
    if not loads_numpy(len(numbers_by_key)):
        keys = sorted(numbers_by_key)
        return keys, list(map(numbers_by_key.__getitem__, keys))
    import numpy as np  # noqa: PLC0415 - it takes a tenth of a second to load

    joined = b"".join(numbers_by_key)
    halves = np.frombuffer(joined, dtype=">u8").reshape(-1, 2).astype(np.uint64)
    first = halves[:, 0]
    places = np.argsort(first)
    ordered = first[places]
    if (ordered[1:] == ordered[:-1]).any():  # keys are hashes: the second halves rarely matter
        places = np.lexsort((halves[:, 1], first))
    numbers = np.fromiter(numbers_by_key.values(), np.int64, len(numbers_by_key))
    return np.frombuffer(joined, dtype=f"V{KEY_BYTES}")[places].tolist(), numbers[places].tolist()


@dataclass(slots=True)
class ClaimTally:
    """Counts of claims, updated in place."""

    claims: int = 0  # keys
    passed: int = 0  # new keys of which the filter said "surely not known"
    wrong: int = 0  # new keys of which it said "perhaps known"

    def clear(self) -> None:
        """Set all counts to zero."""
        self.claims = self.passed = self.wrong = 0
