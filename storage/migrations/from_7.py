"""From schema 7 to 8: a key is stored once, and most URLs without their host's name."""

from collections.abc import Iterator

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    inspect,
    text,
)

_metadata = MetaData()
_Id = BigInteger().with_variant(Integer(), "sqlite")
Table(
    "keys",
    _metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of an identity, 16 bytes"),
    Column("url_id", _Id, nullable=False, comment="the URL that has it"),
    sqlite_with_rowid=False,
)
Table(
    "url_rows",
    _metadata,
    Column("id", _Id, primary_key=True),
    Column("tail", Text, nullable=False, comment="its URL after https and the host"),
    Column("spelling", Text, comment="as written in the document, if different"),
    Column("host_id", _Id, nullable=False),
    Column("state", SmallInteger, nullable=False, comment="queued, fetched, redirected ..."),
    Column("reason", Text, comment="reason why it is held or failed, or waits"),
    Column("depth", Integer, nullable=False, comment="links from a seed, not counting redirects"),
    Column("hops", Integer, nullable=False, comment="redirects in a row that led here"),
    Column("source_id", BigInteger, comment="the URL on whose page it was first found"),
    Column("attempts", Integer, nullable=False, comment="fetches that failed so far"),
    Column("due", Float, nullable=False, comment="queued: not before; else fetched at"),
    Column("found_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("priority", SmallInteger, nullable=False, comment="smaller ones go first"),
)
_KEPT = (
    "spelling, host_id, state, reason, depth, hops, source_id, attempts, due, found_at, priority"
)
_COPIES = {
    "old_keys": "INSERT INTO keys (key, url_id) SELECT key, url_id FROM old_keys ORDER BY key",
    "old_urls": f"""INSERT INTO url_rows (id, tail, {_KEPT}) SELECT old_urls.id, CASE
        WHEN substr(url, 1, length(name) + 9) = 'https://' || name || '/'
            THEN substr(url, length(name) + 9)
        WHEN substr(url, 1, length(name) + 8) = 'http://' || name || '/'
            THEN ':' || substr(url, length(name) + 8)
        ELSE url END, {_KEPT}
    FROM old_urls LEFT JOIN hosts ON hosts.id = host_id ORDER BY old_urls.id""",  # noqa: S608 - our names
}
_NAME = "(SELECT hosts.name FROM hosts WHERE hosts.id = url_rows.host_id)"
_COLUMNS = ", ".join(f"url_rows.{name}" for name in _KEPT.split(", "))
_VIEW = f"""
CREATE VIEW urls AS SELECT url_rows.id, CASE
WHEN (substr(url_rows.tail, 1, 1) = '/') THEN 'https://' || {_NAME} || url_rows.tail
WHEN (substr(url_rows.tail, 1, 2) = ':/') THEN 'http://' || {_NAME} || substr(url_rows.tail, 2)
ELSE url_rows.tail END AS url, {_COLUMNS} FROM url_rows
"""  # noqa: S608 - our names
# Names, columns and conditions.
_INDEXES = (
    ("urls_queue", ["host_id", "priority", "depth", "id"], "state = 0"),
    ("urls_retried", ["host_id", "due"], "state = 0 AND reason IS NOT NULL"),
    ("urls_refused", ["state", "reason", "id"], "state > 2"),
    ("urls_led_to", ["id"], "depth = 0 AND hops > 0"),
)

_BY_HOST = "urls_by_host"  # it exists once a rule was learned


def upgrade(connection: Connection, operations: Operations) -> None:
    """Write keys and URLs into new tables, in their order."""
    indexed = {found["name"] for found in inspect(connection).get_indexes("urls")}
    operations.rename_table("urls", "old_urls")
    operations.rename_table("keys", "old_keys")
    if connection.dialect.name == "postgresql":  # index names are unique per schema
        connection.exec_driver_sql("ALTER INDEX keys_pkey RENAME TO old_keys_pkey")
    _metadata.create_all(connection)
    for old, copy in _COPIES.items():
        connection.exec_driver_sql(copy)
        operations.drop_table(old)  # now: the next copy may use its space
    for name, columns, condition in _indexes(connection.dialect.name):
        where = text(condition)
        operations.create_index(
            name, "url_rows", columns, sqlite_where=where, postgresql_where=where
        )
    if _BY_HOST in indexed:
        operations.create_index(_BY_HOST, "url_rows", ["host_id", "id"])
    connection.exec_driver_sql(_VIEW)


def _indexes(dialect: str) -> Iterator[tuple[str, list[str], str]]:
    """Yield the indexes of URLs. SQLite ends every index entry with the id anyway."""
    for name, columns, condition in _INDEXES:
        twice = dialect == "sqlite" and name == "urls_queue"
        yield name, columns[:-1] if twice else columns, condition
