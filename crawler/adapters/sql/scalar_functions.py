"""The table of functions for one URL at a time, and their registration on a connection."""

import sqlite3
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler.adapters.hosts import host_of_identity

Value = str | bytes | int | float | None  # what SQLite passes


def _key(make: Canonicalizer, url: str | bytes) -> bytes:
    return make(url).key


def _host(make: Canonicalizer, url: str | bytes) -> str | None:
    return host_of_identity(make.identity(url))


SCALARS: dict[str, Callable[[Canonicalizer, str | bytes], str | bytes | None]] = {
    "canonry_identity": Canonicalizer.identity,
    "canonry_key": _key,
    "canonry_surt": Canonicalizer.surt,
    "canonry_host": _host,
}


@lru_cache(maxsize=32)
def _compiled(policy: str) -> Canonicalizer:
    """Return the canonicalizer of a preset, compiled once."""
    return Canonicalizer(policy)


def scalar(name: str) -> Callable[..., str | bytes | None]:
    """Return a function of a URL and an optional policy name.

    It returns None for a missing URL and for one that is refused.
    """
    apply = SCALARS[name]

    def function(url: Value, policy: str | None = "web") -> str | bytes | None:
        if url is None or policy is None:
            return None
        make = _compiled(policy)
        try:
            return apply(make, url if isinstance(url, str | bytes) else str(url))
        except InvalidURL:
            return None

    return function


def reason(url: Value, policy: str | None = "web") -> str | None:
    """Return the name of the reason why a URL is refused; None if it is not, or is missing."""
    if url is None or policy is None:
        return None
    make = _compiled(policy)
    try:
        make.identity(url if isinstance(url, str | bytes) else str(url))
    except InvalidURL as error:
        return error.reason.name
    return None


def functions() -> dict[str, Callable[..., str | bytes | None]]:
    """Return all functions by their names in SQL."""
    return {**{name: scalar(name) for name in SCALARS}, "canonry_reason": reason}


def register(connection: Any) -> None:  # noqa: ANN401 - of any of several libraries
    """Add SQL functions to a connection.

    These are ``canonry_identity``, ``canonry_key`` (16 bytes), ``canonry_surt``, ``canonry_host``
    and ``canonry_reason``. Each takes a URL and, optionally, the name of a preset.
    NULL gives NULL, and so does a refused URL; ``canonry_reason`` says why.

    Args:
        connection: of `sqlite3` or of DuckDB.

    Raises:
        TypeError: for any other.
        MissingExtraError: for DuckDB, if pyarrow is not installed.
    """
    if isinstance(connection, sqlite3.Connection):
        _register_sqlite(connection)
    elif type(connection).__module__.partition(".")[0] in {"duckdb", "_duckdb"}:
        from canonry.crawler.adapters.sql import duckdb_functions  # noqa: PLC0415 - needs Arrow

        duckdb_functions.register_functions(connection)
    else:
        kind = f"{type(connection).__module__}.{type(connection).__qualname__}"
        raise TypeError(f"a connection of sqlite3 or DuckDB is needed, not a {kind}")


def _register_sqlite(connection: sqlite3.Connection) -> None:
    """Add the functions; they are deterministic, so that indexes on their results are allowed."""
    for name, function in functions().items():
        for arguments in (1, 2):
            connection.create_function(name, arguments, function, deterministic=True)
