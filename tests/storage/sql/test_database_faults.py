"""Errors of a database, and errors that a damaged one causes."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import Engine
from support.stores import admit, open_store

from canonry.storage import StoreError
from canonry.storage.sql.database_faults import explaining
from canonry.storage.sql.engine import open_engine

URLS = [f"http://a.example/{n}" for n in range(2000)]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Open an engine for a store with some URLs."""
    store = open_store(tmp_path)
    admit(store, URLS)
    store.close()
    engine = open_engine(str(tmp_path / "store.db"))
    yield engine
    engine.dispose()


def damage(file: Path) -> None:
    """Overwrite every second page after the first five."""
    data = bytearray(file.read_bytes())
    for start in range(5 * 8192, len(data), 2 * 8192):
        data[start : start + 8192] = b"\xff" * 8192
    file.write_bytes(data)


def test_an_error_of_ours_is_not_blamed_on_a_whole_file(engine: Engine) -> None:
    with pytest.raises(TypeError, match="ours"), explaining(engine):
        raise TypeError("ours")


def test_an_error_that_a_damaged_file_causes_names_the_file(engine: Engine, tmp_path: Path) -> None:
    damage(tmp_path / "store.db")
    said = r"the file is damaged: .*store.db .recover.*; try again"
    with pytest.raises(StoreError, match=said), explaining(engine, "try again"):
        raise TypeError("a value that no column holds")
    with pytest.raises(FileNotFoundError), explaining(engine):
        raise FileNotFoundError


def test_a_store_that_is_damaged_while_it_is_open(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, URLS)
    with closing(sqlite3.connect(tmp_path / "store.db", isolation_level=None)) as other:
        other.execute("INSERT INTO meta VALUES ('other', 'fact')")  # SQLite forgets what it read
        other.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    damage(tmp_path / "store.db")
    with pytest.raises(StoreError, match=r"the file is damaged: .*; nothing of the last step was"):
        admit(store, [f"{url}/more" for url in URLS])
    store.close()
