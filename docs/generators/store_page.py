"""The page of the store's tables: made from their definitions and the comments of the columns."""

from sqlalchemy import Column

from canonry.storage.sql.schema import VERSION, State, metadata, urls

# What people ask a store; the others hold what the program needs.
_OFTEN = {"urls", "url_rows", "pages", "hosts", "aliases", "merges", "jobs", "keys", "refusals"}
_HEAD = """
For those who want to look at a store with SQL; `make docs` makes this page from
`storage/sql/schema.py` and `storage/sql/tables`. Read only: a change behind Canonry's back breaks
what it promises. The tables are no promise, and may change with a release; what stays are the
columns of `canonry export`, and that [every store can be upgraded](compatibility.md#stores).

A new store of SQLite may only be read and written by its owner (mode 0600): URLs in it may have
passwords. [What survives a failure](failures.md).

Times are seconds since 1970, UTC, but where it says otherwise. Keys and digests are bytes.

    sqlite3 -readonly canonry.db 'select url from urls where state = 0 limit 10'

The states of a URL:

| state | |
|---|---|
"""
_VIEW = """\
A view of `url_rows` for all who read: it has the same columns, but instead of the suffix the whole
URL, `url`: what to request, as first found. The table lacks what the row of the host says already.
"""


def store_page() -> str:
    """Return the page."""
    lines = [f"# The tables of a store, schema {VERSION}", *_HEAD.splitlines()]
    lines += [f"| {int(state)} | {state.name.lower()} |" for state in State]
    tables = list(metadata.tables.values())
    rest = ", ".join(sorted(f"`{one.name}`" for one in tables if one.name not in _OFTEN))
    lines += ["", f"Further tables, with comments at their columns in `storage/`: {rest}."]
    for table in sorted(tables, key=lambda one: one.name):
        if table.name not in _OFTEN:
            continue
        if table is urls:
            lines += ["", f"## {table.name}", "", *_VIEW.splitlines()]
            continue
        lines += ["", f"## {table.name}", ""]
        lines += [_row(column) for column in table.columns]
    return "\n".join(lines) + "\n"


def _row(column: Column[object]) -> str:
    """Return the line of a column: its name, what it is, and what it refers to."""
    comment = (column.comment or "").removesuffix("seconds since 1970, UTC").rstrip(",; ")
    said = [comment] if comment else []
    said += ["primary key"] if column.primary_key and not column.comment else []
    said += [f"refers to `{key.target_fullname}`" for key in column.foreign_keys]
    said += ["can be null"] if column.nullable and "null" not in comment else []
    return f"- `{column.name}`" + (f": {'; '.join(said)}" if said else "")
