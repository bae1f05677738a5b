"""SQL: the schema, how a database is opened, rows in bulk, counts and the writer thread."""
