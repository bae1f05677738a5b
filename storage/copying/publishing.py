"""The place beside a store where its copy is made, and how the copy takes the store's place.

It does so in one step: whoever has the store open sees the old rows, and then the new ones.
"""

import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from canonry.storage.sql.engine import in_schema, open_engine
from canonry.storage.sql.schema import metadata, urls
from canonry.storage.sql.sqlite_engine import BUSY_SECONDS, file_of
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.sql.write_locks import NO_LOCK

_ENDINGS = ("", "-wal", "-shm")  # of the files of a store
_PAGES = 8  # of SQLite, in a step; every store has more, so that the first is not the last
_SIZE = """
SELECT coalesce(sum(pg_total_relation_size(pg_class.oid)), 0)::bigint FROM pg_class
JOIN pg_namespace ON pg_namespace.oid = relnamespace
WHERE nspname = current_schema() AND relkind = 'r'
"""


def place_beside(connection: Connection) -> Engine:
    """Return an engine for the copy of a store: in a new place, or in that of an earlier try.

    Args:
        connection: to the store, in a writing transaction, which keeps all other writers out.

    Raises:
        StoreError: the store is named with SQLite's options.
    """
    engine = connection.engine
    if engine.dialect.name == "postgresql":
        # This transaction waits while rows are written, and must not be ended for that.
        connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout = 0")
        schema = _schema_beside(connection)
        url = in_schema(engine.url, schema).render_as_string(hide_password=False)
        new = open_engine(url).execution_options(**{NO_LOCK: True})  # the store's has that lock
        with new.begin() as creating:
            creating.exec_driver_sql(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
        return new
    file = file_of(engine.url)
    if file is None:
        raise StoreError("there is no place beside it, as its URL has options; name its file")
    beside = _file_beside(file)
    if not beside.exists():  # SQLite only puts pages in place that have the same size
        size = connection.exec_driver_sql("PRAGMA page_size").scalar_one()
        with closing(sqlite3.connect(beside)) as made:
            made.execute(f"PRAGMA page_size = {size}")
            made.execute("VACUUM")
        beside.chmod(file.stat().st_mode & 0o777)
    return open_engine(str(beside))


def room(connection: Connection) -> str:
    """Return in a sentence how much room a copy takes."""
    if connection.dialect.name == "postgresql":
        size = connection.exec_driver_sql(_SIZE).scalar_one()
        return f"until it is done, this takes up to {_bytes(size)} in the database"
    file = file_of(connection.engine.url)
    size = 0 if file is None else 2 * file.stat().st_size
    free = 0 if file is None else shutil.disk_usage(file.absolute().parent).free
    return f"until it is done, this takes up to {_bytes(size)} of its disk; {_bytes(free)} are free"


def publish(connection: Connection) -> None:
    """Let a copy, which nobody has open, take the place of the store on PostgreSQL.

    Args:
        connection: as for `place_beside`.
    """
    if connection.dialect.name != "postgresql":
        return
    schema = connection.exec_driver_sql("SELECT current_schema()").scalar_one()
    beside = _schema_beside(connection)
    tables = [table.name for table in metadata.sorted_tables if table is not urls]
    connection.exec_driver_sql(f'DROP VIEW "{schema}".{urls.name}')
    for name in tables:
        connection.exec_driver_sql(f'DROP TABLE IF EXISTS "{schema}".{name} CASCADE')
        connection.exec_driver_sql(f'ALTER TABLE "{beside}".{name} SET SCHEMA "{schema}"')
    connection.exec_driver_sql(f'ALTER VIEW "{beside}".{urls.name} SET SCHEMA "{schema}"')
    connection.exec_driver_sql(f'DROP SCHEMA "{beside}"')


def publish_file(connection: Connection, version: int) -> None:
    """Let the copy of a SQLite file take its place; another database is published already.

    Args:
        connection: the one of `publish`, after its transaction.
        version: of the file in that transaction, as `file_version` returned it.

    Raises:
        StoreError: somebody has written to the store between the two, or holds it.
        DBAPIError: the file cannot be written.
    """
    file = file_of(connection.engine.url)
    if file is None:
        return
    reading: Any = connection.connection.driver_connection

    is_ours = False
    latest = time.monotonic() + BUSY_SECONDS

    def check(status: int, _remaining: int, _total: int) -> None:
        """Look whether anybody has written before the first step that took the write lock."""
        nonlocal is_ours
        if is_ours:
            return
        is_ours = status == sqlite3.SQLITE_OK
        if is_ours and _version(reading) != version:
            raise StoreError("it was written to meanwhile; run the command again")
        if not is_ours and time.monotonic() > latest:
            raise StoreError("another process holds it: wait for that one, or stop it")

    beside = _file_beside(file)
    try:
        with closing(sqlite3.connect(beside)) as made, closing(sqlite3.connect(file)) as target:
            made.backup(target, pages=_PAGES, progress=check)
            target.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.Error as error:
        what = "putting the copy in place"
        raise DBAPIError.instance(what, None, error, sqlite3.Error) from error
    for ending in _ENDINGS:
        Path(f"{beside}{ending}").unlink(missing_ok=True)


def file_version(connection: Connection) -> int:
    """Return SQLite's number of the last change that others have made to a file; 0 for others."""
    if connection.dialect.name == "postgresql":
        return 0
    return _version(connection.connection.driver_connection)


def _version(driver: Any) -> int:  # noqa: ANN401 - as SQLAlchemy gives it
    """Return SQLite's number of the last change by others that a connection sees."""
    return int(driver.execute("PRAGMA data_version").fetchone()[0])


def _schema_beside(connection: Connection) -> str:
    """Return the name of the schema that a copy is made in."""
    return f"new_{connection.exec_driver_sql('SELECT current_schema()').scalar_one()}"


def _file_beside(file: Path) -> Path:
    """Return the file that a copy is made in."""
    return file.with_name(f"{file.name}.new")


def _bytes(number: int) -> str:
    """Return a size for people."""
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.1f} MB"  # noqa: PLR2004
