"""The tables of a crawl, and the version of all tables.

Every column has a comment, and no length limit, so that nothing is cut off.
"""

from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    UniqueConstraint,
    and_,
    case,
    func,
    literal,
    select,
    text,
)
from sqlalchemy.sql.ddl import CreateView

from canonry.storage.sql.tables import figure_tables, guest_tables, recrawl_tables, table_parts
from canonry.storage.sql.tables.table_parts import (
    FOLLOWS,
    GOES,
    LARGEST,
    OF_ONE_POLICY,
    SMALLEST,
    TOGETHER,
    RowId,
    Words,
    hash_index,
    held_columns,
    partial_index,
)

VERSION = 1  # that of the first release; a change after it increases it


class State(IntEnum):
    """The state of a URL; the value is what the table holds."""

    QUEUED = 0  # to be fetched, or being fetched: it stays queued until its outcome is recorded
    FETCHED = 1  # fetched; the page is in "pages"
    REDIRECTED = 2  # redirects; the target is in "aliases"
    FAILED = 3  # given up, for the reason in "reason"
    HELD = 4  # known and not fetched, for the reason in "reason"


DIALECTS = ("sqlite", "postgresql")
metadata = table_parts.metadata
OTHERS = (figure_tables, guest_tables, recrawl_tables)  # modules that declare tables, too

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True, comment="name of a fact about the store"),
    Column("value", Text, nullable=False, comment="its value, as text"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("command", Text, nullable=False, comment="the command that ran: crawl"),
    Column("settings", Words, nullable=False, comment="its settings, as JSON"),
    Column("state", Text, nullable=False, comment="running, interrupted, finished or failed"),
    Column("started_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("ended_at", Float, comment="seconds since 1970, UTC; null while it runs"),
)

hosts = Table(
    "hosts",
    metadata,
    Column("id", RowId, primary_key=True),
    Column("name", Words, nullable=False, comment="host as in the URL, without port"),
    Column("pending", BigInteger, nullable=False, comment="how many of its URLs are queued"),
    Column("ready_at", Float, nullable=False, comment="no request before this; seconds since 1970"),
    Column("delay", Float, comment="seconds between requests, if robots.txt asks for it"),
    *held_columns(),
    Column(
        "blocked",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="1: it gets no requests until it is unblocked; 2: nor until a run, for its wall",
    ),
    Column("error", Words, comment="reason why the last of its URLs that failed did"),
    Column("error_at", Float, comment="when that was; seconds since 1970"),
    Column(
        "rank",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="how many hosts of its registrable domain were found before it",
    ),
    Index("hosts_by_queue", "pending", "id"),
)
# The next hosts to ask, and those that wait longest; and the next queues of a frontier.
partial_index(Index("hosts_waiting", hosts.c.ready_at, hosts.c.id), text("pending > 0"))
partial_index(Index("hosts_with_work", hosts.c.held_until, hosts.c.id), text("pending > 0"))
partial_index(Index("hosts_held", hosts.c.holder, hosts.c.held_until), hosts.c.holder.is_not(None))
partial_index(Index("hosts_by_error", hosts.c.error_at, hosts.c.id), text("error_at IS NOT NULL"))
partial_index(Index("hosts_blocked", hosts.c.id), text("blocked > 0"))

Index("hosts_by_name", hosts.c.name, unique=True).ddl_if(dialect="sqlite")
# PostgreSQL's B-trees cannot hold long texts. The write lock rules out two rows of one name.
hash_index(Index("hosts_by_hash", hosts.c.name))

# Wide columns first, and texts at the end: PostgreSQL aligns each, so that less is lost.
url_rows = Table(
    "url_rows",
    metadata,
    Column("id", RowId, primary_key=True, info=FOLLOWS),
    Column(
        "source_id",
        BigInteger,
        comment="the URL on whose page it was first found",
        info=FOLLOWS,
    ),
    Column("due", Float, nullable=False, comment="queued: not before; else fetched at"),
    Column("found_at", Float, nullable=False, comment="seconds since 1970, UTC", info=SMALLEST),
    Column("host_id", Integer, ForeignKey("hosts.id"), nullable=False),
    Column(
        "depth",
        SmallInteger,
        nullable=False,
        comment="links from a seed, not counting redirects",
        info=SMALLEST,
    ),
    Column(
        "hops",
        SmallInteger,
        nullable=False,
        comment="redirects in a row that led here",
        info=SMALLEST,
    ),
    Column("attempts", SmallInteger, nullable=False, comment="fetches that failed so far"),
    Column("state", SmallInteger, nullable=False, comment="see State"),
    Column(
        "priority",
        SmallInteger,
        nullable=False,
        comment="a host's URLs with smaller ones go first",
        info=SMALLEST,
    ),
    Column("reason", Words, comment="reason why it is held or failed, or waits"),
    Column("raw_url", Words, comment="as written in the document, if different"),
    Column(
        "suffix",
        Text,
        nullable=False,
        comment="its URL after https and the host; a colon goes before it for http; else all of it",
    ),
)
_queued = url_rows.c.state == State.QUEUED
_in_order: tuple[Column[int], ...] = (
    url_rows.c.host_id,
    url_rows.c.priority,
    url_rows.c.depth,
)
# SQLite ends every entry of an index with the id. PostgreSQL keeps equal entries once, with all
# their places in the table, which are in the order of the ids but for rows that have changed.
partial_index(Index("urls_queue", *_in_order), _queued)
# The queued URLs of a host that wait for a retry: few of many.
partial_index(
    Index("urls_retried", url_rows.c.host_id, url_rows.c.due),
    text("state = 0 AND reason IS NOT NULL"),
)
# What is held or has failed, by reason: examples, and what a release puts back.
partial_index(
    Index("urls_refused", url_rows.c.state, url_rows.c.reason, url_rows.c.id), text("state > 2")
)
partial_index(Index("urls_led_to", url_rows.c.id), and_(url_rows.c.depth == 0, url_rows.c.hops > 0))

_name = select(hosts.c.name).where(hosts.c.id == url_rows.c.host_id).scalar_subquery()
_suffix = url_rows.c.suffix
_text = case(
    (func.substr(_suffix, 1, 1) == "/", literal("https://") + _name + _suffix),
    (func.substr(_suffix, 1, 2) == ":/", literal("http://") + _name + func.substr(_suffix, 2)),
    else_=_suffix,
)
# A view of the rows with the whole URL, which is put together only where it is selected.
urls = CreateView(
    select(
        url_rows.c.id,
        _text.label("url"),
        *(column for column in url_rows.c if column.name not in {"id", "suffix"}),
    ),
    "urls",
    metadata=metadata,
).table


def queue_order(dialect: str) -> tuple[ColumnElement[int], ...]:
    """Return the order in which a database has the queue of a host in an index.

    PostgreSQL sorts by id only what it finds, so it is not asked to: its rows come in that order,
    but for those that have changed.
    """
    order = (urls.c.priority, urls.c.depth)
    return order if dialect == "postgresql" else (*order, urls.c.id)


keys = Table(
    "keys",
    metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of an identity, 16 bytes"),
    Column("url_id", ForeignKey("url_rows.id"), nullable=False, comment="the URL that has it"),
    info=OF_ONE_POLICY,
    sqlite_with_rowid=False,  # the rows are the index: a second copy would be as large
)

pages = Table(
    "pages",
    metadata,
    Column("url_id", ForeignKey("url_rows.id"), primary_key=True, autoincrement=False, info=GOES),
    Column("status", SmallInteger, nullable=False, comment="HTTP status"),
    Column("fetched_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("elapsed", Float, nullable=False, comment="seconds from request to end of body"),
    Column("content_type", Words, comment="Content-Type as sent"),
    Column("size", BigInteger, nullable=False, comment="bytes of the decoded body"),
    Column("digest", LargeBinary(16), nullable=False, comment="BLAKE2b-128 of the decoded body"),
    Column("title", Words, comment="of the HTML document"),
    Column("canonical", Words, comment="its rel=canonical, resolved"),
    Column("links", Integer, nullable=False, comment="links found in it"),
    Column("charset", Text, comment="encoding it was read in, as the Encoding Standard names it"),
    Column("etag", Words, comment="its entity tag, for conditional requests"),
    Column("modified", Words, comment="its Last-Modified, for conditional requests"),
    Column("use_statements", Words, comment="what its site says of its use, a statement a line"),
    Column("use_reserved", Words, comment="the uses that its site reserves, with spaces between"),
    Index("pages_by_digest", "digest"),
    Index("pages_by_time", "fetched_at", "url_id"),
)

aliases = Table(
    "aliases",
    metadata,
    Column("id", RowId, primary_key=True),
    Column(
        "from_id",
        ForeignKey("url_rows.id"),
        nullable=False,
        comment="the URL that was fetched",
        info=FOLLOWS,
    ),
    Column(
        "to_id",
        ForeignKey("url_rows.id"),
        nullable=False,
        comment="the URL that it names",
        info=FOLLOWS,
    ),
    Column("kind", Text, nullable=False, comment="redirect, canonical or rule"),
    Column("status", SmallInteger, nullable=False, comment="HTTP status; 0 for a rule"),
    Column("target_url", Words, nullable=False, comment="the target as given, resolved"),
    Column("first_seen", Float, nullable=False, comment="seconds since 1970, UTC", info=SMALLEST),
    Column("last_seen", Float, nullable=False, comment="seconds since 1970, UTC", info=LARGEST),
    Column("count", Integer, nullable=False, comment="how many times it was seen", info=TOGETHER),
    UniqueConstraint("from_id", "to_id", "kind", "status", name="aliases_edge"),
)

# Finds the aliases that lead to a URL which is gone, or may be a sink.
Index("aliases_by_target", aliases.c.to_id)
# Finds the latest of a kind. The status comes first: else SQLite would take this index, and not
# that of the unique columns, to find the aliases of one URL that are of a kind.
Index("aliases_by_status", aliases.c.status, aliases.c.kind, aliases.c.id)

rules = Table(
    "rules",
    metadata,
    Column(
        "id", Text, primary_key=True, comment="ten hexadecimal digits of a hash of what it says"
    ),
    Column("host", Words, nullable=False, comment="site: host and port, unless it is the default"),
    Column("definition", Words, nullable=False, comment="family and parameters, as JSON"),
    Column("state", Text, nullable=False, comment="candidate, active, suspended or revoked"),
    Column("agree", Integer, nullable=False, comment="classes of URLs that are the same"),
    Column("disagree", Integer, nullable=False, comment="classes that are not"),
    Column(
        "confirmed",
        Integer,
        nullable=False,
        comment="of those that agree, how many by the site's own word",
    ),
    Column("first_seen", Float, nullable=False, comment="first evidence; seconds since 1970"),
    Column("last_seen", Float, nullable=False, comment="last evidence; seconds since 1970"),
    Column("entered_at", Float, nullable=False, comment="when the state was entered"),
    Column(
        "suppressed", BigInteger, nullable=False, comment="URLs that it held, about: for the order"
    ),
    Column(
        "tests",
        Integer,
        nullable=False,
        server_default=text("0"),
        comment="URLs that were requested although it could hold them",
    ),
)
Index("rules_by_host", rules.c.host).ddl_if(dialect="sqlite")
hash_index(Index("rules_by_hash", rules.c.host))
# Finds the rules in a state that suppress most.
Index("rules_by_state", rules.c.state, rules.c.suppressed, rules.c.id)

pairs = Table(
    "pairs",
    metadata,
    Column("rule_id", ForeignKey("rules.id"), primary_key=True),
    Column("pair", LargeBinary(16), primary_key=True, comment="hash of the two: texts may be long"),
    Column("first", Words, nullable=False, comment="the identity of a URL ..."),
    Column("second", Words, nullable=False, comment="... and of another, in their order"),
    Column("class_url", Words, nullable=False, comment="what the rule makes of them"),
    Column("verdict", SmallInteger, nullable=False, comment="0: unknown, 1: same, 2: different"),
    Column(
        "source",
        SmallInteger,
        nullable=False,
        comment="0: content, 1: the site's own word, 2: mined",
    ),
    Column("answers", SmallInteger, nullable=False, comment="of the URL that has fewer"),
    Column("at", Float, nullable=False, comment="seconds since 1970, UTC"),
    sqlite_with_rowid=False,
)

answers = Table(
    "answers",
    metadata,
    Column("url_id", ForeignKey("url_rows.id"), primary_key=True, autoincrement=False, info=GOES),
    Column("number", SmallInteger, primary_key=True, comment="0: the first answer of the URL"),
    Column("host_id", ForeignKey("hosts.id"), nullable=False),
    Column("digest", LargeBinary(16), nullable=False, comment="BLAKE2b-128 of the decoded body"),
    Column("blocks", LargeBinary, comment="places and texts, 8 bytes each; null: not text"),
    Index("answers_by_host", "host_id"),
)

classes = Table(
    "classes",
    metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of the identity under learned rules"),
    Column("url_id", ForeignKey("url_rows.id"), nullable=False, comment="the URL that is fetched"),
    Column("host_id", ForeignKey("hosts.id"), nullable=False, comment="the host of that URL"),
    Index("classes_by_host", "host_id"),
    info=OF_ONE_POLICY,
)

addresses = Table(
    "addresses",
    metadata,
    Column("address", Text, primary_key=True, comment="an IP address"),
    Column("owner", Text, nullable=False, comment="the worker that crawls the hosts on it"),
)

robots = Table(
    "robots",
    metadata,
    Column("origin", Text, primary_key=True, comment="scheme, host and port"),
    Column("rules", Words, comment="the last robots.txt that was read; null: none yet"),
    Column("expires_at", Float, nullable=False, comment="fetch again after; seconds since 1970"),
    Column("unreachable_since", Float, comment="first of the failed tries in a row"),
)

budgets = Table(
    "budgets",
    metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="hash of the host and the pattern"),
    Column("pattern", Words, nullable=False, comment="what its URLs have in common"),
    Column("count", BigInteger, nullable=False, comment="URLs that were queued", info=TOGETHER),
    Column(
        "excluded",
        SmallInteger,
        nullable=False,
        server_default=text("0"),
        comment="1: URLs with it are being held, 2: all are, 3: they are being released",
    ),
)
LARGE = 100  # URLs with a pattern, from which on it is in the index
partial_index(Index("budgets_large", budgets.c.count, budgets.c.key), text(f"count >= {LARGE}"))
partial_index(Index("budgets_excluded", budgets.c.key), text("excluded > 0"))

# All ids are made under the write lock, so the database need not check references.
for _table in metadata.tables.values():
    for _constraint in _table.foreign_key_constraints:
        _constraint.ddl_if(callable_=lambda *_given, **_more: False)
