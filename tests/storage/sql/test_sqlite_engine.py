"""How SQLite is opened: what is committed outlives the process, and the file the machine."""

import os
import stat
from pathlib import Path

import pytest
from sqlalchemy import URL
from support.stores import admit, open_store

from canonry.storage.sql.sqlite_engine import open_sqlite

_NORMAL = 1  # https://sqlite.org/pragma.html#pragma_synchronous


def test_the_log_is_written_ahead_and_synced_before_it_is_merged(tmp_path: Path) -> None:
    """With less than NORMAL, a machine that loses power may leave a file that is damaged."""
    url = URL.create("sqlite", database=str(tmp_path / "x.db"))
    engine = open_sqlite(url, read_only=False)
    with engine.connect() as connection:
        mode = connection.exec_driver_sql("PRAGMA journal_mode").scalar()
        synchronous = connection.exec_driver_sql("PRAGMA synchronous").scalar()
    engine.dispose()
    assert mode == "wal"
    assert synchronous is not None
    assert synchronous >= _NORMAL


@pytest.mark.parametrize("mode", [None, 0o644, 0o660])
def test_a_new_store_is_for_its_owner_alone_and_others_keep_their_mode(
    tmp_path: Path, mode: int | None
) -> None:
    """With the files beside it: URLs in it may have passwords."""
    before = os.umask(0o022)
    try:
        if mode is not None:
            (tmp_path / "store.db").touch()
            (tmp_path / "store.db").chmod(mode)
        store = open_store(tmp_path)
        admit(store, ["http://u:secret@a.example/"])
        found = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
        assert set(found) >= {"store.db", "store.db-wal", "store.db-shm"}
        store.close()
    finally:
        os.umask(before)
    assert set(found.values()) == {mode or 0o600}, found
