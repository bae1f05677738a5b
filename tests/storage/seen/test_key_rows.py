"""Rows of keys: what is read of all of them at once."""

from pathlib import Path

import pytest
from sqlalchemy import Connection
from support.stores import open_store

from canonry.storage.seen.key_rows import LARGEST, insert_keys, joined_keys, url_ids_of_keys

pytestmark = pytest.mark.every_database

# No text in any encoding, zeros in it, and both ends of all keys.
_ODD = [
    *(bytes([n]) * 16 for n in (0, 1, 0x7F, 0x80, 0xC3, 0xFF)),
    *(b"\0" * n + b"\xff" * (16 - n) for n in range(1, 16)),
    b"'; DROP TABLE--;",
]


def _all(connection: Connection, most: int, newest: int = 1_000) -> list[bytes]:
    found, end = [], b""
    while end != LARGEST:
        joined, end = joined_keys(connection, end, most, newest)
        found += [joined[at : at + 16] for at in range(0, len(joined), 16)]
    return found


def test_all_keys_are_read_whatever_their_bytes(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        assert _all(connection, 10) == []
        insert_keys(connection, {key: n for n, key in enumerate(_ODD, 1)})
        for at_once in (1, 2, len(_ODD) - 1, len(_ODD), 200_000):
            assert _all(connection, at_once) == sorted(_ODD)
            assert _all(connection, at_once, newest=4) == sorted(_ODD[:4])
            assert _all(connection, at_once, newest=0) == []
        connection.rollback()
    store.close()


@pytest.mark.parametrize("number", [1, 99, 100, 101, 250])
def test_keys_that_are_there_keep_their_url(tmp_path: Path, number: int) -> None:
    store = open_store(tmp_path)
    made = [n.to_bytes(16) for n in range(number)]
    known = {key: 1_000 + n for n, key in enumerate(made) if n % 7 == 0}
    with store.transaction() as connection:
        assert insert_keys(connection, known) == {}
        given = {key: n for n, key in enumerate(made, 1)}
        assert insert_keys(connection, given) == known
        assert url_ids_of_keys(connection, made) == given | known
        connection.rollback()
    store.close()
