"""Canonry for SQLite and DuckDB: ``canonry.sql.register(connection)`` adds functions to SQL."""

from canonry.crawler.adapters.sql.scalar_functions import register

__all__ = ["register"]
