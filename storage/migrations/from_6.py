"""From schema 6 to 7: samples of the counts, examples of merges, indexes for those who look."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
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


def upgrade(connection: Connection, operations: Operations) -> None:
    """Create the tables, which are empty until the next crawl, and the indexes."""
    _metadata.create_all(connection, checkfirst=False)
    operations.create_index("aliases_by_status", "aliases", ["status", "kind", "id"])
    operations.create_index("rules_by_state", "rules", ["state", "spared", "id"])
    operations.create_index("pages_by_time", "pages", ["fetched_at", "url_id"])
