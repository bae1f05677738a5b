"""Tables of recrawls: when pages are due again, and what had gone when they were asked for."""

from sqlalchemy import Column, Float, Index, LargeBinary, SmallInteger, Table

from canonry.storage.sql.tables.table_parts import GOES, RowId, metadata

revisits = Table(
    "revisits",
    metadata,
    Column("url_id", RowId, primary_key=True, autoincrement=False, info=GOES),
    Column("due", Float, nullable=False, comment="a recrawl fetches it again after"),
    Column("seen_at", Float, nullable=False, comment="the last visit"),
    Column("visits", Float, nullable=False, comment="how often it was fetched again, about"),
    Column("changes", Float, nullable=False, comment="of these, how often it had changed"),
    Column("changed_for", Float, nullable=False, comment="seconds before visits that found that"),
    Column("same_for", Float, nullable=False, comment="seconds before the other visits"),
    Column("listed", Float, comment="its date in a sitemap or feed"),
    Column("listed_then", Float, comment="that date as of the last visit"),
    Column("role", SmallInteger, nullable=False, comment="0: page, 1: sitemap or feed, 2: seed"),
    Column("places", LargeBinary, comment="places of its text, each with a hash; 8 bytes each"),
    Index("revisits_by_due", "due"),
)
revisit_hosts = Table(
    "revisit_hosts",
    metadata,
    Column("host_id", RowId, primary_key=True, autoincrement=False, comment="its row in hosts"),
    Column("first", Float, comment="seconds until a page without a row is fetched again"),
    Column("moved_changed", Float, nullable=False, comment="pages with a new date, that changed"),
    Column("moved_same", Float, nullable=False, comment="pages with a new date, that did not"),
    Column("rested_changed", Float, nullable=False, comment="pages with an old date, that changed"),
    Column("rested_same", Float, nullable=False, comment="pages with an old date, that did not"),
    Column("rates", LargeBinary, nullable=False, comment="by rate of change, seconds of pages"),
    Column("places", LargeBinary, nullable=False, comment="places whose text changes"),
)

absences = Table(
    "absences",
    metadata,
    Column("url_id", RowId, primary_key=True, autoincrement=False, info=GOES),
    Column("host_id", RowId, nullable=False, comment="its row in hosts"),
    Column("since", Float, nullable=False, comment="the first visit without its page"),
    Column("due", Float, nullable=False, comment="no recrawl asks it before"),
    Column("runs", SmallInteger, nullable=False, comment="visits without a page, one for each run"),
    Column("settled", SmallInteger, nullable=False, comment="0: no run has ended since the first"),
    Column("is_left", SmallInteger, nullable=False, comment="1: limits do not count the URL"),
    Column("page", LargeBinary, comment="the last good page, as MessagePack; null: none is known"),
)
