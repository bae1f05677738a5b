"""Engines: how a database is opened, so that transactions keep the store's promises."""

import sqlite3
import time
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event
from sqlalchemy.engine import make_url

from canonry.canon import redaction
from canonry.extras import MissingExtraError, require

WITHOUT_WRITE_LOCK = (
    "canonry_without_write_lock"  # execution option: a transaction without the write lock
)
_BUSY_SECONDS = 60.0
_CACHE_KIB = (
    64 * 1024
)  # measured: four times as much is no faster, the system caches the file anyway
_PAGE_BYTES = 8_192  # measured: larger pages help bulk loads, smaller ones a crawl's short steps
_LOG_PAGES = 8_192  # 64 MiB: a page that many batches change is written to the file once
_PAUSE_SECONDS = 0.02
_WRITE_LOCK = int.from_bytes(b"canonry")  # the id of the advisory lock in PostgreSQL


class StoreError(Exception):
    """A store that cannot be used; the message says what to do, and has no passwords."""

    def __str__(self) -> str:
        """Return the message; what the database's library says may name a password."""
        return redaction.redact_message(super().__str__())


def shown(url: URL | str) -> str:
    """Return a store's URL for people, without its password."""
    return redaction.redact_message(url.render_as_string() if isinstance(url, URL) else url)


def read_url(url: str) -> URL:
    """Parse a store's URL.

    Raises:
        ArgumentError: if it is not a URL.
        StoreError: if it names a database that cannot hold a store, or no port.
    """
    try:
        parsed = make_url(url)
    except ValueError:  # SQLAlchemy reads the port with int()
        raise StoreError(f"store {shown(url)}: its port is not a number") from None
    if parsed.get_backend_name() == "postgresql":
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() != "sqlite":
        raise StoreError(
            f"store {shown(url)}: stores are kept in SQLite or PostgreSQL; "
            "give sqlite:///FILE or postgresql://..."
        )
    return parsed


def open_engine(url: str, *, read_only: bool = False, create: bool = True) -> Engine:
    """Return an engine for a store.

    A writing transaction takes the one lock of all writers when it begins. No other process can
    change what it reads before it commits; claiming depends on that. Readers never wait, and they
    see the store as it was at one moment.

    Args:
        url: a SQLAlchemy URL.
        read_only: for readers; the file must exist.
        create: False if the file must exist, also for writing.

    Raises:
        StoreError: if no store can be kept there, its driver is missing, or the file must exist
            and does not.
    """
    parsed = read_url(url)
    file = parsed.database if parsed.get_backend_name() == "sqlite" else None
    if file and (read_only or not create) and not Path(file).exists():
        raise StoreError(f"there is no store {file}; 'canonry crawl' makes one, --store names it")
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed, read_only=read_only)
    return _postgresql(parsed, read_only=read_only)


def _sqlite(url: URL, *, read_only: bool) -> Engine:
    """Open SQLite with a write-ahead log: readers and the writer do not block each other."""
    engine = create_engine(url, connect_args={"timeout": _BUSY_SECONDS})
    begin = "BEGIN" if read_only else "BEGIN IMMEDIATE"

    @event.listens_for(engine, "connect")
    def connected(dbapi_connection: Any, _record: object) -> None:  # noqa: ANN401 - DBAPI has no type
        dbapi_connection.isolation_level = None  # the driver must not begin transactions itself
        cursor = dbapi_connection.cursor()
        cursor.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # of a new file
        _execute_patiently(cursor, "PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = NORMAL")
        cursor.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
        cursor.execute("PRAGMA foreign_keys = OFF")  # ids are made under the write lock
        cursor.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine


def _execute_patiently(cursor: sqlite3.Cursor, statement: str) -> None:
    """Execute a statement; retry while another process holds the file, up to the lock timeout.

    SQLite does not wait for the lock that switching to the write-ahead log needs, nor for the last
    connection while it closes (https://sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY
    In WAL Mode"). Without retries, one of two crawls that start together would fail.
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


def _postgresql(url: URL, *, read_only: bool) -> Engine:
    """Open PostgreSQL. An advisory lock admits one writer at a time, on whatever machine.

    The lock belongs to the transaction: it is released if the writer crashes or loses its
    connection.
    """
    level = "REPEATABLE READ" if read_only else "READ COMMITTED"
    try:
        require("postgresql", "PostgreSQL")
    except MissingExtraError as error:
        raise StoreError(str(error)) from None
    engine = create_engine(url, pool_pre_ping=True, isolation_level=level)

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        if not read_only and not connection.get_execution_options().get(WITHOUT_WRITE_LOCK):
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_BUSY_SECONDS}s'")
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_WRITE_LOCK})")

    return engine
