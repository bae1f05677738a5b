"""What went wrong with a database, in a sentence that says what to do about it."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import URL, Connection, Engine
from sqlalchemy.exc import DBAPIError

from canonry.storage.sql.engine import open_engine, without_password
from canonry.storage.sql.sqlite_engine import WRITING, file_of
from canonry.storage.sql.store_errors import StoreError

# Modules of unexpected errors.
_PLAIN = frozenset({"builtins", "msgspec", "sqlalchemy.exc", "struct"})
_DAMAGED = (
    "the file is damaged: restore a copy of it, or save what can be read into a new file: "
    "sqlite3 {} .recover | sqlite3 saved.db"
)
_ADVICE = {
    sqlite3.SQLITE_NOTADB: "give another --store",
    sqlite3.SQLITE_READONLY: WRITING,
    sqlite3.SQLITE_FULL: "make room on its disk",
    sqlite3.SQLITE_IOERR: "its disk is full or broken, or a quota is used up",
    sqlite3.SQLITE_BUSY: "another process holds it: wait for that one, or stop it",
}


@contextmanager
def explaining(engine: Engine, advice: str = "") -> Iterator[None]:
    """Turn the database errors of a block into a `StoreError` that explains them.

    A damaged file may yield values that no column can hold. So if Python itself raises an error,
    the file is checked: if it is damaged, that was the cause.

    Args:
        engine: of the database.
        advice: the end of the message.

    Raises:
        StoreError: if the database fails; the message names it, and says what to do.
    """
    try:
        yield
    except DBAPIError as error:
        raise _store_error(engine, explained(error, engine.url), advice) from error
    except Exception as error:
        damage = "" if isinstance(error, OSError | MemoryError) else damage_behind(error, engine)
        if not damage:
            raise
        raise _store_error(engine, damage, advice) from error


@contextmanager
def opened(url: str, *, read_only: bool = True) -> Iterator[Engine]:
    """Open a database, explain its errors, and close it at the end."""
    engine = open_engine(url, read_only=read_only)
    try:
        with explaining(engine):
            yield engine
    finally:
        engine.dispose()


@contextmanager
def naming(engine: Engine) -> Iterator[None]:
    """Put the store's name before the message of each `StoreError` of a block."""
    try:
        yield
    except StoreError as error:
        if str(error).startswith(f"store {without_password(engine.url)}: "):
            raise
        raise _store_error(engine, str(error), "", type(error)) from None


def _store_error(
    engine: Engine, said: str, advice: str, kind: type[StoreError] = StoreError
) -> StoreError:
    """Return the error with the store's name and what to do."""
    return kind(f"store {without_password(engine.url)}: {said}{advice and '; '}{advice}")


def damage_behind(error: Exception, engine: Engine) -> str:
    """Return what is damaged in a SQLite file, in a sentence, if that may have caused an error.

    Returns:
        "" if nothing is found, or if the error is an expected one.
    """
    if engine.dialect.name != "sqlite" or type(error).__module__ not in _PLAIN:
        return ""
    try:
        with engine.connect() as connection:
            is_whole = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar() == "ok"
            connection.exec_driver_sql("SELECT * FROM urls LIMIT 0")  # the check omits views
    except (DBAPIError, UnicodeDecodeError):  # the driver also decodes what SQLite says
        is_whole = False
    return "" if is_whole else _DAMAGED.format(file_of(engine.url) or "FILE")


@contextmanager
def begun(url: str) -> Iterator[Connection]:
    """Run a block as one writing transaction of a store that nothing else here has open.

    Raises:
        StoreError: if the database fails.
    """
    engine = open_engine(url)
    try:
        with explaining(engine), engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


def damaged_store(error: Exception, url: str) -> StoreError | None:
    """Return the error for a store that is damaged, if that may have caused another error.

    Args:
        error: of a program that has read the store.
        url: of the store, as users name it; there need not be one.
    """
    try:
        engine = open_engine(url, read_only=True)
    except StoreError:
        return None
    said = damage_behind(error, engine)
    engine.dispose()
    return _store_error(engine, said, "") if said else None


def explained(error: DBAPIError, url: URL) -> str:
    """Return what a database's driver said, and what to do about it.

    Args:
        error: from SQLAlchemy.
        url: of the store.
    """
    diagnosis = getattr(error.orig, "diag", None)  # PostgreSQL's; its text also quotes our SQL
    said = " ".join(str(getattr(diagnosis, "message_primary", None) or error.orig).split())
    advice = _advice(error.orig, url)
    return f"{said}; {advice}" if advice else said


def _advice(error: BaseException | None, url: URL) -> str:
    """Return what to do about an error of SQLite; "" if its own words say it."""
    if not isinstance(error, sqlite3.Error):
        return ""
    file = file_of(url)
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # the primary result code
    if code == sqlite3.SQLITE_CANTOPEN and file is not None:
        return _not_opened(file)
    if code == sqlite3.SQLITE_CORRUPT or any(word in str(error) for word in ("no such", "decode")):
        return _DAMAGED.format(file or "FILE")
    return _ADVICE.get(code, "")


def _not_opened(file: Path) -> str:
    """Return why a file could not be opened."""
    if not file.parent.is_dir():
        return f"there is no folder {file.parent}"
    if file.is_dir():
        return "it is a folder; name a file in it"
    if Path(f"{file}-wal").exists():
        return (
            f"its last changes are in {file}-wal, which can only be read where the folder can be "
            "written: copy both files to such a folder"
        )
    return "the permissions of the file or of its folder do not allow it"
