"""Tables that reports are made from: counts, examples, samples, and what was exported."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
)

from canonry.storage.sql.tables.table_parts import (
    OF_ONE_POLICY,
    TOGETHER,
    RowId,
    Words,
    metadata,
)

counts = Table(
    "counts",
    metadata,
    Column("kind", Text, primary_key=True, comment="what is counted: urls, levels, pages ..."),
    Column("name", Text, primary_key=True, comment="their state, depth, status or kind"),
    Column("reason", Text, primary_key=True, comment="why they are held or failed, else empty"),
    Column(
        "count",
        BigInteger,
        nullable=False,
        comment="how many; updated in every transaction",
        info=TOGETHER,
    ),
)

merges = Table(
    "merges",
    metadata,
    Column("rules", Text, primary_key=True, comment="the rules that merged two raw URLs"),
    Column("count", BigInteger, nullable=False, comment="links merged by them", info=TOGETHER),
    Column("raw_url", Words, nullable=False, comment="one such link ..."),
    Column("same_as", Words, nullable=False, comment="... and the URL that it is the same as"),
)

refusals = Table(
    "refusals",
    metadata,
    Column("reason", Text, primary_key=True, comment="reason why links could not be fetched"),
    Column("count", BigInteger, nullable=False, comment="how many", info=TOGETHER),
    Column("sample", Words, nullable=False, comment="one of them"),
)

samples = Table(
    "samples",
    metadata,
    Column("at", Float, primary_key=True, comment="seconds since 1970, UTC"),
    Column("fetched", BigInteger, nullable=False, comment="URLs in that state then"),
    Column("redirected", BigInteger, nullable=False, comment="the same"),
    Column("suppressed", BigInteger, nullable=False, comment="held because of a learned rule"),
    Column("held", BigInteger, nullable=False, comment="held for any other reason"),
    Column("failed", BigInteger, nullable=False, comment="URLs in that state then"),
    Column("queued", BigInteger, nullable=False, comment="the same"),
    Column("merged_links", BigInteger, nullable=False, comment="links merged until then"),
    Column("claims", BigInteger, nullable=False, comment="keys claimed until then"),
)

little_new = Table(
    "little_new",
    metadata,
    Column("host", Text, primary_key=True, comment="a host whose pages bring little new text"),
    Column("share", Float, nullable=False, comment="of the text of its pages that was new"),
    Column(
        "pattern",
        Text,
        nullable=False,
        comment="of most of its latest pages; empty: none stands out",
    ),
    Column("pages", BigInteger, nullable=False, comment="of the latest ones, with this pattern"),
    Column("pattern_share", Float, nullable=False, comment="of their text that was new"),
    Column("at", Float, nullable=False, comment="when it was found; seconds since 1970, UTC"),
)

exports = Table(
    "exports",
    metadata,
    Column("id", RowId, primary_key=True, comment="counts up: the exports that found changes"),
    Column("token", Text, nullable=False, comment="random; a cursor of another store differs"),
    Column("made_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    info=OF_ONE_POLICY,
)

members = Table(
    "members",
    metadata,
    Column(
        "cluster_id",
        BigInteger,
        primary_key=True,
        autoincrement=False,
        comment="id of a page's URL",
    ),
    Column(
        "url_id", BigInteger, primary_key=True, autoincrement=False, comment="id of a URL in it"
    ),
    Column(
        "content_hash", LargeBinary(16), nullable=False, comment="hash of what was exported of it"
    ),
    Column("changed", BigInteger, nullable=False, comment="the export that found it changed"),
    Column("gone", SmallInteger, nullable=False, comment="1: it is no member any more"),
    info=OF_ONE_POLICY,
    sqlite_with_rowid=False,
)
