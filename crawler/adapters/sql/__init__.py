"""Functions for the SQL of SQLite and DuckDB, and plugins for Datasette and sqlite-utils."""
