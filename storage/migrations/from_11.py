"""From schema 11 to 12: rows of URLs with their columns in another order, and a leaner queue."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    inspect,
    text,
)

_metadata = MetaData()
Table(
    "url_rows",
    _metadata,
    Column("id", BigInteger().with_variant(Integer(), "sqlite"), primary_key=True),
    Column("source_id", BigInteger, comment="the URL on whose page it was first found"),
    Column("due", Float, nullable=False, comment="queued: not before; else fetched at"),
    Column("found_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("host_id", Integer, nullable=False),
    Column("depth", SmallInteger, nullable=False, comment="links from a seed"),
    Column("hops", SmallInteger, nullable=False, comment="redirects in a row that led here"),
    Column("attempts", SmallInteger, nullable=False, comment="fetches that failed so far"),
    Column("state", SmallInteger, nullable=False, comment="queued, fetched, redirected ..."),
    Column("priority", SmallInteger, nullable=False, comment="smaller ones go first"),
    Column("reason", Text, comment="reason why it is held or failed, or waits"),
    Column("spelling", Text, comment="as written in the document, if different"),
    Column("tail", Text, nullable=False, comment="its URL after https and the host"),
)
_ORDER = ("due", "found_at", "host_id", "state", "priority", "reason", "spelling", "tail")
_LARGEST = 32_767
_CUT = ", ".join(
    f"CASE WHEN {name} > {_LARGEST} THEN {_LARGEST} ELSE {name} END AS {name}"
    for name in ("depth", "hops", "attempts")
)
_COPY = (
    f"INSERT INTO url_rows (id, source_id, {', '.join(_ORDER)}, depth, hops, attempts) "  # noqa: S608 - our names
    f"SELECT id, source_id, {', '.join(_ORDER)}, {_CUT} FROM old_rows ORDER BY id"
)
_NAME = "(SELECT hosts.name FROM hosts WHERE hosts.id = url_rows.host_id)"
_SHOWN = (
    "source_id, due, found_at, host_id, depth, hops, attempts, state, priority, reason, spelling"
)
_COLUMNS = ", ".join(f"url_rows.{name}" for name in _SHOWN.split(", "))
_VIEW = f"""
CREATE VIEW urls AS SELECT url_rows.id, CASE
WHEN (substr(url_rows.tail, 1, 1) = '/') THEN 'https://' || {_NAME} || url_rows.tail
WHEN (substr(url_rows.tail, 1, 2) = ':/') THEN 'http://' || {_NAME} || substr(url_rows.tail, 2)
ELSE url_rows.tail END AS url, {_COLUMNS} FROM url_rows
"""  # noqa: S608 - our names
# Names, columns and conditions.
_INDEXES = (
    ("urls_queue", ["host_id", "priority", "depth"], "state = 0"),
    ("urls_retried", ["host_id", "due"], "state = 0 AND reason IS NOT NULL"),
    ("urls_refused", ["state", "reason", "id"], "state > 2"),
    ("urls_led_to", ["id"], "depth = 0 AND hops > 0"),
)
_BY_HOST = "urls_by_host"  # it exists once a rule was learned


def upgrade(connection: Connection, operations: Operations) -> None:
    """Write URLs into a new table, in their order."""
    indexed = {found["name"] for found in inspect(connection).get_indexes("url_rows")}
    connection.exec_driver_sql("DROP VIEW urls")
    operations.rename_table("url_rows", "old_rows")
    for name in [one[0] for one in _INDEXES] + [_BY_HOST] * (_BY_HOST in indexed):
        connection.exec_driver_sql(f"DROP INDEX IF EXISTS {name}")
    if connection.dialect.name == "postgresql":  # names are unique per schema
        connection.exec_driver_sql("ALTER INDEX IF EXISTS url_rows_pkey RENAME TO old_rows_pkey")
        connection.exec_driver_sql("DROP SEQUENCE IF EXISTS url_rows_id_seq CASCADE")
    _metadata.create_all(connection)
    connection.exec_driver_sql(_COPY)
    operations.drop_table("old_rows")
    for name, columns, condition in _INDEXES:
        where = text(condition)
        operations.create_index(
            name, "url_rows", columns, sqlite_where=where, postgresql_where=where
        )
    if _BY_HOST in indexed:
        operations.create_index(_BY_HOST, "url_rows", ["host_id", "id"])
    connection.exec_driver_sql(_VIEW)
    _cut_levels(connection)


def _cut_levels(connection: Connection) -> None:
    """Count what is deeper than the column can say at the largest depth that it can."""
    levels = "SELECT name, count FROM counts WHERE kind = 'levels'"
    deeper = [
        (name, count)
        for name, count in connection.exec_driver_sql(levels)
        if int(name) > _LARGEST and count
    ]
    for name, count in deeper:
        row = {"name": str(_LARGEST), "count": count}
        changed = connection.execute(
            text(
                "UPDATE counts SET count = count + :count "
                "WHERE kind = 'levels' AND name = :name AND reason = ''"
            ),
            row,
        ).rowcount
        if not changed:
            values = "('levels', :name, '', :count)"
            new = f"INSERT INTO counts (kind, name, reason, count) VALUES {values}"  # noqa: S608 - ours
            connection.execute(text(new), row)
        gone = "UPDATE counts SET count = 0 WHERE kind = 'levels' AND name = :name"
        connection.execute(text(gone), {"name": name})
