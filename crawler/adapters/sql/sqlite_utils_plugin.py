"""The plugin for sqlite-utils: its SQL has our functions."""

import sqlite3

from sqlite_utils import hookimpl

from canonry.crawler.adapters.sql.scalar_functions import register


@hookimpl
def prepare_connection(conn: sqlite3.Connection) -> None:
    """Add the functions to a connection."""
    register(conn)
