"""How SQLite is opened: what is committed outlives the process, and the file the machine."""

from pathlib import Path

from sqlalchemy import URL

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
