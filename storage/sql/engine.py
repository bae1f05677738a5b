"""Engines: how a database is opened, and the thread that writes to it."""

import asyncio
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from sqlalchemy import URL, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from canonry.canon import redaction
from canonry.extras import MissingExtraError, require
from canonry.storage.sql import write_locks
from canonry.storage.sql.sqlite_engine import WRITING, file_of, is_writable, open_sqlite
from canonry.storage.sql.store_errors import StoreError, StoreURLError

_IS_URL = re.compile(r"[a-z][a-z0-9+.\-]*://|(?:sqlite|postgres)[a-z0-9+]*:", re.IGNORECASE)
_IS_PATH = re.compile(r"[./\\]")
_ALLOWED = (
    "give a file with an ending, such as canonry.db, or a URL: sqlite:///canonry.db or "
    "postgresql://USER@HOST/DATABASE"
)
_SQLITE = frozenset({"sqlite", "sqlite+pysqlite"})
_POSTGRESQL = frozenset({"postgresql", "postgresql+psycopg", "postgres"})
_LAST_PORT = 65_535
_P = ParamSpec("_P")
_T = TypeVar("_T")


def without_password(url: URL | str) -> str:
    """Return a store's URL for people, without its password, whatever characters that has."""
    if isinstance(url, URL):
        url = url.set(drivername=url.get_backend_name()).render_as_string()
    return redaction.redact_message(redaction.redact_refused(url)[0])


def read_url(url: str) -> URL:
    """Read what names a store: a SQLAlchemy URL, or the path of a SQLite file.

    A word alone, such as ``store``, is only taken for a path if there is such a file.

    Raises:
        StoreURLError: if it names no database, or one that cannot hold a store.
    """
    if not _IS_URL.match(url) and (_IS_PATH.search(url) or (url and Path(url).is_file())):
        return URL.create("sqlite", database=url)
    try:
        parsed = make_url(url)
        wrong = _fault(parsed)
    except ArgumentError:
        wrong = "it is no URL of a database"
    except ValueError:  # SQLAlchemy reads the port with int()
        wrong = "its port is not a number"
    if wrong:
        raise StoreURLError(f"store {without_password(url)}: {wrong}; {_ALLOWED}")
    is_file = parsed.drivername in _SQLITE
    return parsed.set(drivername="sqlite" if is_file else "postgresql+psycopg")


def _fault(url: URL) -> str:
    """Return why a database cannot hold a store; "" if it can."""
    if url.drivername in _POSTGRESQL:
        if "@" in (url.host or ""):
            return "in its password, write @ as %40"
        is_port = url.port is None or 0 < url.port <= _LAST_PORT
        return "" if is_port else f"its port is not between 1 and {_LAST_PORT}"
    if url.drivername not in _SQLITE:
        return "stores are kept in SQLite or PostgreSQL"
    if url.host or url.username:
        return "three slashes go before the path of a file"
    if not url.database or url.database == ":memory:":
        return "it names no file"
    return "parameters need uri=true" if url.query and "uri" not in url.query else ""


def open_engine(url: str, *, read_only: bool = False, create: bool = True) -> Engine:
    """Return an engine for a store.

    A writing transaction takes the lock of all writers when it begins. No other process can
    change what it reads before it commits; on PostgreSQL, those that claim keys share it (see
    `write_locks`). Readers never wait, and they see the store as it was at one moment.

    Args:
        url: a SQLAlchemy URL, or the path of a file.
        read_only: for readers; the file must exist.
        create: False if the file must exist, also for writing.

    Raises:
        StoreError: if no store can be kept there, its driver or a required file is missing, or the
            file cannot be written.
    """
    parsed = read_url(url)
    file = file_of(parsed)
    if file and (read_only or not create) and not file.exists():
        raise StoreError(f"there is no store {file}; 'canonry crawl' makes one, --store names it")
    if file and not read_only and file.exists() and not is_writable(file):
        raise StoreError(f"store {without_password(parsed)}: it cannot be written; {WRITING}")
    if parsed.get_backend_name() == "sqlite":
        return open_sqlite(parsed, read_only=read_only)
    return _postgresql(parsed, read_only=read_only)


def in_schema(url: URL, schema: str) -> URL:
    """Return the URL of a PostgreSQL database with the tables of a schema."""
    options = f'{url.query.get("options", "")} -csearch_path="{schema}"'.strip()
    return url.update_query_dict({"options": options})


def _postgresql(url: URL, *, read_only: bool) -> Engine:
    """Open PostgreSQL; its locks also work between writers on several machines."""
    level = "REPEATABLE READ" if read_only else "READ COMMITTED"
    try:
        require("postgresql", "PostgreSQL")
    except MissingExtraError as error:
        raise StoreError(str(error)) from None
    engine = create_engine(url, pool_pre_ping=True, isolation_level=level)
    if not read_only:
        event.listen(engine, "connect", _prepare)
        event.listen(engine, "begin", write_locks.begin)
    return engine


def _prepare(connection: Any, _record: object) -> None:  # noqa: ANN401 - DBAPI has no type
    """Let commits wait for the disk, and let the server end a transaction that is idle.

    A server may be configured to lose the last commits. And a process that is stopped in a
    transaction would keep its locks, so that all others wait.
    """
    setting = "SELECT set_config(%s, %s, false)"
    idle = f"{write_locks.IDLE_SECONDS}s"
    connection.execute(setting, ("idle_in_transaction_session_timeout", idle))
    is_off = " WHERE current_setting('synchronous_commit') = 'off'"
    connection.execute(setting + is_off, ("synchronous_commit", "on"))
    connection.commit()


class Writer:
    """Runs calls to a store one after the other, on its own thread."""

    def __init__(self) -> None:
        """Prepare the thread; it starts with the first call."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="canonry-writer")

    async def call(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a function on the thread after all earlier calls, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """Wait for the calls that are running, and stop the thread."""
        self._thread.shutdown(wait=True)
