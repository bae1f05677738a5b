"""Rows in bulk: what stands in a statement, and what is bound to it, is stored alike."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, delete, select
from sqlalchemy.exc import DBAPIError
from support.stores import open_store

from canonry.storage.sql import bulk, prepared
from canonry.storage.sql.prepared import Done
from canonry.storage.sql.schema import robots, url_rows

pytestmark = pytest.mark.every_database

_NUMBER = 6
_COLUMNS: dict[str, list[Any]] = {
    "id": [*range(1, _NUMBER + 1)],
    "suffix": ["NULL"] * _NUMBER,  # a text is never taken for what it says
    "raw_url": [None] * _NUMBER,
    "host_id": [2**30] * _NUMBER,
    "state": [0] * _NUMBER,
    "reason": [None, "x'); --", *[None] * 4],
    "depth": [*[3] * 5, 4],
    "hops": [-1] * _NUMBER,
    "source_id": [None, *[2**62] * 5],
    "priority": [-4, *[0] * 5],
    "attempts": [0] * _NUMBER,
    "due": [0] * _NUMBER,
    "found_at": [1.1] * _NUMBER,
}


def _stored(connection: Connection) -> list[tuple[Any, ...]]:
    """Return what the table has, with types."""
    wanted = [url_rows.c[name] for name in _COLUMNS]
    rows = [tuple(row) for row in connection.execute(select(*wanted).order_by(url_rows.c.id))]
    connection.execute(delete(url_rows))
    return rows


@pytest.mark.parametrize("many", [_NUMBER, _NUMBER + 1])
def test_columns_are_stored_as_rows_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, many: int
) -> None:
    monkeypatch.setattr(bulk, "_MANY", many)
    store = open_store(tmp_path)
    rows = list(zip(*_COLUMNS.values(), strict=True))
    with store.transaction() as connection:
        bulk.insert_rows(connection, url_rows, list(_COLUMNS), rows)
        one_by_one = _stored(connection)
        bulk.insert_columns(connection, url_rows, _COLUMNS)
        by_column = _stored(connection)
        bulk.insert_columns(connection, url_rows, dict.fromkeys(_COLUMNS, ()))
        assert _stored(connection) == []
    store.close()
    assert by_column == one_by_one == rows
    assert [list(map(type, row)) for row in by_column] == [list(map(type, r)) for r in one_by_one]


@pytest.mark.parametrize("chunk", [2, 500])
def test_rows_are_changed_by_many_values(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(bulk, "_CHUNK", chunk)
    store = open_store(tmp_path)
    with store.transaction() as connection:
        bulk.insert_columns(connection, url_rows, _COLUMNS)
        change = "UPDATE url_rows SET depth = 9 WHERE priority = 0 AND id"
        assert bulk.change_rows(connection, change, [1, 2, 3, 5, 77]) == 3
        assert bulk.change_rows(connection, change, []) == 0
        changed = select(url_rows.c.id).where(url_rows.c.depth == 9).order_by(url_rows.c.id)
        assert list(connection.scalars(changed)) == [2, 3, 5]
        assert bulk.change_rows(connection, "DELETE FROM url_rows WHERE id", [1, 2]) == 2
    store.close()


def test_all_rows_are_given_some_at_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rows = len(_COLUMNS["id"])
    with store.transaction() as connection:
        bulk.insert_columns(connection, url_rows, _COLUMNS)
        question = "SELECT id, suffix FROM url_rows ORDER BY id"
        some = [list(map(tuple, part)) for part in bulk.stream_rows(connection, question, rows - 1)]
        assert [len(part) for part in some] == [rows - 1, 1]
        assert [row for part in some for row in part] == [
            *zip(_COLUMNS["id"], _COLUMNS["suffix"], strict=True)
        ]
        first = next(bulk.stream_rows(connection, question, 1))  # the rest is not in the way
        bulk.change_rows(connection, "DELETE FROM url_rows WHERE id", [first[0][0]])
        with pytest.raises(DBAPIError):
            next(bulk.stream_rows(connection, "SELECT nothing FROM nowhere", 1))
    store.close()


def test_an_unknown_column_is_refused(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        with pytest.raises(KeyError, match="robots has no column 'rule'"):
            bulk.insert_columns(connection, robots, {"origin": ["x"], "rule": [None]})
        connection.rollback()
    store.close()


def test_lists_of_any_length_are_looked_up_with_a_few_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fills a list up neither adds a row, nor is counted."""
    texts: set[str] = set()

    def execute(connection: Connection, text: str, arguments: tuple[Any, ...]) -> Done:
        texts.add(text)
        return prepared.execute(connection, text, arguments)

    monkeypatch.setattr(bulk, "execute", execute)
    store = open_store(tmp_path)
    with store.transaction() as connection:
        many = {name: [values[0]] * 1_100 for name, values in _COLUMNS.items()}
        bulk.insert_columns(connection, url_rows, many | {"id": range(1, 1_101)})
        for number in (*range(1, 70), 255, 256, 257, 499, 500, 501, 999, 1_000, 1_001, 1_100):
            wanted = list(range(number, 0, -1))
            found = bulk.rows_of(connection, "SELECT id FROM url_rows WHERE id", wanted)
            assert sorted(url_id for (url_id,) in found) == wanted[::-1]
            change = "UPDATE url_rows SET depth = depth + 1 WHERE id"
            assert bulk.change_rows(connection, change, wanted) == number
    store.close()
    assert len(texts) <= 20
