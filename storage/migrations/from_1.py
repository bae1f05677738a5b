"""From schema 1 to 2: counts are kept in a table of their own."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    MetaData,
    Table,
    Text,
    column,
    func,
    insert,
    inspect,
    select,
    table,
)

_QUEUED = 0
_STATES = {0: "queued", 1: "fetched", 2: "redirected", 3: "failed", 4: "held"}
_urls = table("urls", column("state"), column("reason"), column("depth"))
_pages = table("pages", column("status"))
_aliases = table("aliases", column("kind"), column("status"))
_counts = Table(
    "counts",
    MetaData(),
    Column("kind", Text, primary_key=True, comment="what is counted: urls, levels, pages, aliases"),
    Column("name", Text, primary_key=True, comment="state, depth, status or kind of those counted"),
    Column("reason", Text, primary_key=True, comment="why they are held or failed, else empty"),
    Column("count", BigInteger, nullable=False, comment="how many, kept in every transaction"),
)


def upgrade(connection: Connection, operations: Operations) -> None:
    """Create and fill the table of counts; drop the index that only found the lowest depth."""
    _counts.create(connection)
    operations.drop_index("urls_level", table_name="urls")
    _index_hosts(connection, operations)
    reason = func.coalesce(_urls.c.reason, "")
    by_state = select(_urls.c.state, reason, func.count()).group_by(_urls.c.state, reason)
    totals = [
        ("urls", _STATES[state], reason, count)
        for state, reason, count in connection.execute(by_state)
    ]
    queued = select(_urls.c.depth, func.count()).where(_urls.c.state == _QUEUED)
    by_depth = connection.execute(queued.group_by(_urls.c.depth))
    totals += [("levels", str(depth), "", count) for depth, count in by_depth]
    by_status = select(_pages.c.status, func.count()).group_by(_pages.c.status)
    totals += [("pages", str(status), "", count) for status, count in connection.execute(by_status)]
    kind = (_aliases.c.kind, _aliases.c.status)
    by_kind = select(*kind, func.count()).group_by(*kind)
    totals += [
        ("aliases", f"{name} {status}", "", count)
        for name, status, count in connection.execute(by_kind)
    ]
    columns = ("kind", "name", "reason", "count")
    rows = [dict(zip(columns, row, strict=True)) for row in totals]
    if rows:
        connection.execute(insert(_counts), rows)


def _index_hosts(connection: Connection, operations: Operations) -> None:
    """Index hosts by name; by its hash on PostgreSQL, whose B-trees cannot hold long names.

    SQLite also keeps its unnamed unique constraint: dropping it would rewrite the table.
    """
    if connection.dialect.name == "sqlite":
        operations.create_index("hosts_by_name", "hosts", ["name"], unique=True)
        return
    for constraint in inspect(connection).get_unique_constraints("hosts"):
        operations.drop_constraint(str(constraint["name"]), "hosts")
    operations.create_index("hosts_by_hash", "hosts", ["name"], postgresql_using="hash")
