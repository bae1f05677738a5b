"""Registers the functions ``canonry_key`` and others on a connection to a database."""

import sqlite3
from typing import Any

from canonry.crawler.adapters.sql.scalar_functions import functions


def register(connection: Any) -> None:  # noqa: ANN401 - of any of several libraries
    """Add SQL functions to a connection.

    These are ``canonry_identity``, ``canonry_key`` (16 bytes), ``canonry_surt``, ``canonry_host``
    and ``canonry_reason``. Each takes a URL and, if wanted, the name of a preset of policies.
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
