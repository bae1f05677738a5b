"""SQLite: how its file is opened for writing, and for reading, even without write permission."""

import os
import sqlite3
import time
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event

from canonry.storage.sql.store_errors import StoreError

BUSY_SECONDS = 60.0
_CACHE_KIB = (
    64 * 1024
)  # measured: four times as much is no faster, the system caches the file anyway
_READING_KIB = 16 * 1024  # for readers, such as the summary at the end of a crawl
_PAGE_BYTES = 8_192  # measured: larger pages help bulk loads, smaller ones a crawl's short steps
_LOG_PAGES = 8_192  # 64 MiB: a page that many batches change is written to the file once
PRIVATE = 0o600  # the mode of a new store
_PAUSE_SECONDS = 0.02
_SHORT_PAUSE_SECONDS = 0.001
WRITING = (
    "to crawl or to change rules, write permission is needed for the file and its folder; "
    "'status', 'export', 'why' and 'rules list' only read"
)


def file_of(url: URL) -> Path | None:
    """Return a store's file; None for a database that is no file, or one with options (URI)."""
    if url.get_backend_name() != "sqlite" or not url.database or "uri" in url.query:
        return None
    return Path(url.database)


def is_writable(file: Path) -> bool:
    """Return True if we may write to a file and to its folder, where SQLite keeps its log."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(p, os.W_OK, effective_ids=effective) for p in (file, file.parent))


def open_sqlite(url: URL, *, read_only: bool) -> Engine:
    """Open SQLite with a write-ahead log: readers and the writer do not block each other."""
    if read_only and (mode := _mode(file_of(url))):
        return _read_only(url, mode)
    if not read_only:
        _make_private(file_of(url))
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def connected(dbapi_connection: Any, _record: object) -> None:  # noqa: ANN401 - DBAPI has no type
        dbapi_connection.isolation_level = None  # the driver must not begin transactions itself
        cursor = dbapi_connection.cursor()
        if not read_only:
            cursor.execute(f"PRAGMA page_size = {_PAGE_BYTES}")  # of a new file
            _execute_patiently(cursor, "PRAGMA journal_mode = WAL")
            # A loss of power may lose the last commits, but never damages the file.
            cursor.execute("PRAGMA synchronous = NORMAL")
            cursor.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
            # One large transaction must not leave a large log behind for as long as we run.
            cursor.execute(f"PRAGMA journal_size_limit = {_LOG_PAGES * _PAGE_BYTES}")
            cursor.execute("PRAGMA foreign_keys = OFF")  # ids are made under the write lock
        cursor.execute(f"PRAGMA cache_size = -{_READING_KIB if read_only else _CACHE_KIB}")
        if not read_only:  # the last one: those before it may wait for a lock to read the schema
            cursor.execute("PRAGMA busy_timeout = 0")  # `_begin_soon` waits
        cursor.close()

    if read_only:
        _begin_with(engine, "BEGIN")
    else:
        event.listen(engine, "begin", _begin_soon)
        _fail_if_replaced(engine, file_of(url))
    return engine


def _fail_if_replaced(engine: Engine, file: Path | None) -> None:
    """Let writers fail once another file has replaced theirs: what they write would be lost.

    They cannot go on with the new file: the log beside it belongs to the old one.
    """
    if file is None:
        return
    opened: tuple[int, int] | None = None

    @event.listens_for(engine, "connect")
    def connected(*_given: object) -> None:
        nonlocal opened
        opened = _file_id(file)

    @event.listens_for(engine, "do_connect")  # check first: connecting would create a missing file
    @event.listens_for(engine, "checkout")
    def check(*_given: object) -> None:
        if opened is not None and opened != _file_id(file):
            raise StoreError(
                f"store {file}: its file was replaced or deleted while it was open; "
                "stop all that use it, put the right file there, and run the command again"
            )


def _file_id(file: Path) -> tuple[int, int] | None:
    """Return the identity of a file, whatever its name; None if there is no file."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _make_private(file: Path | None) -> None:
    """Make a file that only we may read, unless it is there: URLs in it may have passwords.

    SQLite gives the files beside it the same mode.
    """
    if file is not None:
        with suppress(OSError):  # SQLite says what is wrong when it opens it
            os.close(os.open(file, os.O_RDWR | os.O_CREAT, PRIVATE))


def _begin_soon(connection: Connection) -> None:
    """Begin a transaction with the write lock, soon after another process has released it.

    SQLite's own waiting sleeps for up to a tenth of a second at a time: of two workers on one file,
    each slept for a third of its time. Nothing else that a writer does waits for a lock.
    """
    driver: Any = connection.connection.driver_connection
    begin = "BEGIN IMMEDIATE"
    try:
        _execute_patiently(driver.cursor(), begin, _SHORT_PAUSE_SECONDS)
    except sqlite3.OperationalError:
        connection.exec_driver_sql(begin)  # raises it as SQLAlchemy does


def limit_cache(connection: Connection, kib: int) -> None:
    """Let SQLite keep less of its file in memory, on this connection; other databases ignore it."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql(f"PRAGMA cache_size = -{kib}")


def _execute_patiently(
    cursor: sqlite3.Cursor, statement: str, pause: float = _PAUSE_SECONDS
) -> None:
    """Execute a statement; retry while another process holds the file, up to the lock timeout.

    SQLite does not wait for the lock that switching to the write-ahead log needs, nor for the last
    connection while it closes (https://sqlite.org/wal.html, "Sometimes Queries Return SQLITE_BUSY
    In WAL Mode"). Without retries, one of two crawls that start together would fail.
    """
    latest = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            cursor.execute(statement)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > latest:
                raise
            time.sleep(pause)
        else:
            return


def _begin_with(engine: Engine, statement: str) -> None:
    """Let every transaction begin with a statement."""

    @event.listens_for(engine, "begin")
    def began(connection: Connection) -> None:
        connection.exec_driver_sql(statement)


def _mode(file: Path | None) -> str:
    """Return the URI parameters to open a file that we cannot write; "" if we can.

    A log that was not merged into the file can only be read with its index (``-shm``), which
    SQLite makes in the folder. Without a log, the file is all there is: SQLite reads it as one
    that nobody changes (https://sqlite.org/wal.html, "Read-Only Databases").
    """
    if file is None or is_writable(file):
        return ""
    log = Path(f"{file}-wal")
    has_log = log.exists() and log.stat().st_size > 0
    return "mode=ro" if has_log else "mode=ro&immutable=1"


def _read_only(url: URL, mode: str) -> Engine:
    """Open a file that we cannot write."""
    address = f"{Path(url.database or '').absolute().as_uri()}?{mode}"
    connect = partial(sqlite3.connect, address, uri=True, timeout=BUSY_SECONDS)
    engine = create_engine(url, creator=partial(connect, check_same_thread=False))

    @event.listens_for(engine, "connect")
    def connected(dbapi_connection: Any, _record: object) -> None:  # noqa: ANN401 - DBAPI has no type
        dbapi_connection.isolation_level = None

    _begin_with(engine, "BEGIN")
    return engine


def file_version(url: URL) -> tuple[int, int] | None:
    """Return change time and size of a file that is read without locks; None for all others."""
    file = file_of(url)
    if file is None or "immutable" not in _mode(file):
        return None
    found = file.stat()
    return found.st_mtime_ns, found.st_size
