"""From schema 6 to 7: tables and indexes to browse large stores and to block hosts."""

from collections.abc import Iterator
from typing import Any

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    SmallInteger,
    Table,
    Text,
    text,
)

_metadata = MetaData()
_Id = BigInteger().with_variant(Integer(), "sqlite")
Table(
    "merge_examples",
    _metadata,
    Column("id", _Id, primary_key=True, comment="counts up: the latest have the largest"),
    Column("rules", Text, nullable=False, comment="the rules that merged two spellings"),
    Column("spelling", Text, nullable=False, comment="a link ..."),
    Column("url_id", BigInteger, nullable=False, comment="... and the URL that it is the same as"),
    Column("source_id", BigInteger, comment="the URL on whose page the link stood"),
    Column("seen_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Index("merge_examples_by_rules", "rules", "id"),
)
Table(
    "samples",
    _metadata,
    Column("at", Float, primary_key=True, comment="seconds since 1970, UTC"),
    Column("fetched", BigInteger, nullable=False, comment="URLs in that state then"),
    Column("redirected", BigInteger, nullable=False, comment="the same"),
    Column("spared", BigInteger, nullable=False, comment="held because of a learned rule"),
    Column("held", BigInteger, nullable=False, comment="held for any other reason"),
    Column("failed", BigInteger, nullable=False, comment="URLs in that state then"),
    Column("queued", BigInteger, nullable=False, comment="the same"),
    Column("merged_links", BigInteger, nullable=False, comment="links merged until then"),
    Column("claims", BigInteger, nullable=False, comment="keys claimed until then"),
)
# Names, tables, columns and conditions.
_INDEXES: tuple[tuple[str, str, list[str], str | None], ...] = (
    ("aliases_by_status", "aliases", ["status", "kind", "id"], None),
    ("pages_by_time", "pages", ["fetched_at", "url_id"], None),
    ("rules_by_state", "rules", ["state", "spared", "id"], None),
    ("hosts_by_queue", "hosts", ["pending", "id"], None),
    ("hosts_waiting", "hosts", ["ready_at", "id"], "pending > 0"),
    ("hosts_by_error", "hosts", ["error_at", "id"], "error_at IS NOT NULL"),
    ("hosts_blocked", "hosts", ["id"], "blocked > 0"),
    ("urls_retried", "urls", ["host_id", "due"], "state = 0 AND reason IS NOT NULL"),
    ("urls_refused", "urls", ["state", "reason", "id"], "state > 2"),
    ("budgets_large", "budgets", ["count", "key"], "count >= 100"),
    ("budgets_excluded", "budgets", ["key"], "excluded > 0"),
)
# The last failure of each host, from its URLs that have failed.
_LAST_ERRORS = """
    UPDATE hosts SET error = last.reason, error_at = last.due FROM (
        SELECT host_id, reason, due,
            row_number() OVER (PARTITION BY host_id ORDER BY due DESC, id DESC) AS place
        FROM urls WHERE state = 3
    ) AS last WHERE last.host_id = hosts.id AND last.place = 1
"""


def upgrade(connection: Connection, operations: Operations) -> None:
    """Create columns, indexes, and tables that are empty until the next crawl."""
    _metadata.create_all(connection, checkfirst=False)
    for table, column in _columns():
        operations.add_column(table, column)
    for name, table, names, condition in _INDEXES:
        where = None if condition is None else text(condition)
        operations.create_index(name, table, names, sqlite_where=where, postgresql_where=where)
    connection.exec_driver_sql(_LAST_ERRORS)


def _columns() -> Iterator[tuple[str, Column[Any]]]:
    """Yield the new columns, each with its table."""

    def zero(name: str, comment: str) -> Column[Any]:
        nothing = text("0")
        return Column(name, SmallInteger, nullable=False, server_default=nothing, comment=comment)

    yield "hosts", zero("blocked", "1: no requests are sent to it until it is unblocked")
    yield "hosts", Column("error", Text, comment="reason why the last of its URLs that failed did")
    yield "hosts", Column("error_at", Float, comment="when that was; seconds since 1970")
    yield (
        "budgets",
        zero("excluded", "1: URLs with it are being held, 2: all are, 3: they are being released"),
    )
