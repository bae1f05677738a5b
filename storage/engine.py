"""Engines: how a database is opened, so that transactions mean what the store promises."""

import sqlite3
import time
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

from storage.errors import StoreError

_BUSY_SECONDS = 60.0
_CACHE_KIB = 256 * 1024
_PAUSE_SECONDS = 0.02


def open_engine(url: str, *, read_only: bool = False) -> Engine:
    """Return an engine for a store.

    SQLite runs with a write-ahead log, so that ``status`` and ``export`` read while a crawl writes.
    A writing transaction takes the write lock when it begins ("BEGIN IMMEDIATE"): what it reads
    cannot be changed by another process before it commits, which is what claiming rests on.

    Raises:
        StoreError: for a URL that is not SQLite's.
    """
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        raise StoreError(
            f"store {parsed.render_as_string()!r}: this version keeps its stores in SQLite; "
            "give sqlite:///FILE"
        )
    engine = create_engine(parsed, connect_args={"timeout": _BUSY_SECONDS})
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"

    @event.listens_for(engine, "connect")
    def connected(dbapi_connection: Any, _record: object) -> None:  # noqa: ANN401 - DBAPI has no type
        dbapi_connection.isolation_level = None  # the driver must not begin on its own
        cursor = dbapi_connection.cursor()
        _execute_patiently(cursor, "PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute("PRAGMA foreign_keys = OFF")  # ids are made under the write lock
        cursor.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _execute_patiently(cursor: sqlite3.Cursor, statement: str) -> None:
    """Execute a statement, again while another process holds the file, for as long as a lock waits.

    SQLite does not wait for the lock that changing to the write-ahead log needs, nor for a last
    connection that is just closing (https://sqlite.org/wal.html, "Sometimes Queries Return
    SQLITE_BUSY In WAL Mode"): of two crawls that start together, one would fail.
    """
    latest = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            cursor.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > latest:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return
