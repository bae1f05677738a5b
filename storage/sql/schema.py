"""The tables. Every column says what it holds; nothing has a length limit, so nothing is cut."""

from enum import IntEnum

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    and_,
)
from sqlalchemy.engine import Dialect

VERSION = 4  # raise it with every change, and add its step to migrations


class State(IntEnum):
    """Where a URL stands; the value is what the table holds."""

    QUEUED = 0  # to be fetched, or being fetched: it stays so until its outcome is recorded
    FETCHED = 1  # answered; the answer is in "pages"
    REDIRECTED = 2  # answered with a redirect; the target is in "aliases"
    FAILED = 3  # given up; "reason" says why
    HELD = 4  # known and not to be fetched; "reason" says why


class Words(TypeDecorator[str]):
    """Text from elsewhere. PostgreSQL's has no NUL, so everywhere it is written as its escape."""

    impl = Text
    cache_ok = True

    @property
    def python_type(self) -> type[str]:
        """Return what values are."""
        return str

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """Return what is stored."""
        return None if value is None else value.replace("\0", "%00")


metadata = MetaData()

# SQLite numbers rows by itself only in a column of type INTEGER.
_Id = BigInteger().with_variant(Integer(), "sqlite")

meta = Table(
    "meta",
    metadata,
    Column("name", Text, primary_key=True, comment="which fact about the store"),
    Column("value", Text, nullable=False, comment="the fact, as text"),
)

jobs = Table(
    "jobs",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("command", Text, nullable=False, comment="what ran: crawl"),
    Column("settings", Words, nullable=False, comment="what it was asked to do, as JSON"),
    Column("state", Text, nullable=False, comment="running, interrupted, finished or failed"),
    Column("started_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("ended_at", Float, comment="seconds since 1970, UTC; null while it runs"),
)

hosts = Table(
    "hosts",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("name", Words, nullable=False, comment="host as in the URL, without port"),
    Column("pending", BigInteger, nullable=False, comment="how many of its URLs are queued"),
    Column("ready_at", Float, nullable=False, comment="no request before; seconds since 1970"),
    Column("delay", Float, comment="seconds between requests, where robots.txt asks for it"),
    Column("lease_owner", Text, comment="the worker that may fetch from it"),
    Column("lease_until", Float, nullable=False, comment="when that ends; seconds since 1970"),
    Index("hosts_with_work", "lease_until", "ready_at"),
)

Index("hosts_by_name", hosts.c.name, unique=True).ddl_if(dialect="sqlite")
# PostgreSQL's trees take no long texts. Two rows of one name are ruled out by the writers' lock.
Index("hosts_by_hash", hosts.c.name, postgresql_using="hash").ddl_if(dialect="postgresql")

urls = Table(
    "urls",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("url", Text, nullable=False, comment="what to request, as first found"),
    Column("spelling", Words, comment="as it stood in the document, where that differs"),
    Column("host_id", ForeignKey("hosts.id"), nullable=False),
    Column("state", SmallInteger, nullable=False, comment="see State"),
    Column("reason", Words, comment="why it is held or failed"),
    Column("depth", Integer, nullable=False, comment="links from a seed, redirects not counted"),
    Column("hops", Integer, nullable=False, comment="redirects that led here in a row"),
    Column("source_id", BigInteger, comment="the URL on whose page it was first found"),
    Column("attempts", Integer, nullable=False, comment="fetches that failed so far"),
    Column("due", Float, nullable=False, comment="not to be tried before; when settled: asked at"),
    Column("found_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("priority", SmallInteger, nullable=False, comment="smaller ones of a host go first"),
)
_queued = urls.c.state == State.QUEUED
Index(
    "urls_queue",
    urls.c.host_id,
    urls.c.priority,
    urls.c.depth,
    urls.c.id,
    sqlite_where=_queued,
    postgresql_where=_queued,
)

_led_to = and_(urls.c.depth == 0, urls.c.hops > 0)
Index("urls_led_to", urls.c.id, sqlite_where=_led_to, postgresql_where=_led_to)

keys = Table(
    "keys",
    metadata,
    Column("id", _Id, primary_key=True, comment="counts up; the filter's snapshots refer to it"),
    Column("key", LargeBinary(16), nullable=False, unique=True, comment="16 bytes of the identity"),
    Column("url_id", ForeignKey("urls.id"), nullable=False, comment="the resource it stands for"),
)

pages = Table(
    "pages",
    metadata,
    Column("url_id", ForeignKey("urls.id"), primary_key=True, autoincrement=False),
    Column("status", SmallInteger, nullable=False, comment="HTTP status"),
    Column("fetched_at", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("elapsed", Float, nullable=False, comment="seconds from request to end of body"),
    Column("content_type", Words, comment="as the server sent it"),
    Column("size", BigInteger, nullable=False, comment="bytes of the decoded body"),
    Column("digest", LargeBinary(16), nullable=False, comment="BLAKE2b-128 of the decoded body"),
    Column("title", Words, comment="of the HTML document"),
    Column("canonical", Words, comment="its rel=canonical, resolved"),
    Column("links", Integer, nullable=False, comment="links found in it"),
    Column("charset", Text, comment="in which it was read, by the Encoding Standard's names"),
    Column("etag", Words, comment="its entity tag, for asking whether it has changed"),
    Column("modified", Words, comment="its Last-Modified, for the same"),
    Index("pages_by_digest", "digest"),
)

aliases = Table(
    "aliases",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("from_id", ForeignKey("urls.id"), nullable=False, comment="the URL that was asked"),
    Column("to_id", ForeignKey("urls.id"), nullable=False, comment="the URL that it named"),
    Column("kind", Text, nullable=False, comment="redirect, canonical or rule"),
    Column("status", SmallInteger, nullable=False, comment="HTTP status; 0 where a rule says so"),
    Column("located", Words, nullable=False, comment="the target as it was given, resolved"),
    Column("first_seen", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("last_seen", Float, nullable=False, comment="seconds since 1970, UTC"),
    Column("count", Integer, nullable=False, comment="how often it was seen"),
    UniqueConstraint("from_id", "to_id", "kind", "status", name="aliases_edge"),
)

# Who leads to a URL: asked when that turns out not to be there, or to be a sink.
Index("aliases_by_target", aliases.c.to_id)

rules = Table(
    "rules",
    metadata,
    Column("id", Text, primary_key=True, comment="ten hexadecimal digits of what it says"),
    Column("host", Words, nullable=False, comment="the host that it is about, without port"),
    Column("lesson", Words, nullable=False, comment="family and its blanks, as JSON"),
    Column("state", Text, nullable=False, comment="candidate, probation, active, suspended ..."),
    Column("agree", Integer, nullable=False, comment="distinct paths that agree"),
    Column("disagree", Integer, nullable=False, comment="distinct paths that do not"),
    Column("moved", Integer, nullable=False, comment="of those that agree, by redirects"),
    Column("trial_agree", Integer, nullable=False, comment="since the state was entered"),
    Column("trial_disagree", Integer, nullable=False, comment="since the state was entered"),
    Column("reversed", Integer, nullable=False, comment="redirects the other way round"),
    Column("hsts", SmallInteger, nullable=False, comment="1: the host asks for https itself"),
    Column("first_seen", Float, nullable=False, comment="first evidence; seconds since 1970"),
    Column("last_seen", Float, nullable=False, comment="last evidence; seconds since 1970"),
    Column("entered_at", Float, nullable=False, comment="when the state was entered"),
    Column("verified_at", Float, nullable=False, comment="last prediction that was looked at"),
    Column("spared", BigInteger, nullable=False, comment="URLs that were not fetched for it"),
)
Index("rules_by_host", rules.c.host).ddl_if(dialect="sqlite")
Index("rules_by_hash", rules.c.host, postgresql_using="hash").ddl_if(dialect="postgresql")

evidence = Table(
    "evidence",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("rule_id", ForeignKey("rules.id"), nullable=False),
    Column("agrees", SmallInteger, nullable=False, comment="1: it speaks for the rule"),
    Column("url", Words, nullable=False, comment="the identity of a URL ..."),
    Column("found", Words, nullable=False, comment="... and what it was found to be"),
    Index("evidence_by_rule", "rule_id"),
)

classes = Table(
    "classes",
    metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of the identity that rules make"),
    Column("url_id", ForeignKey("urls.id"), nullable=False, comment="the URL that is fetched"),
    Column("host_id", ForeignKey("hosts.id"), nullable=False, comment="whose URL that is"),
    Index("classes_by_host", "host_id"),
)

robots = Table(
    "robots",
    metadata,
    Column("origin", Text, primary_key=True, comment="scheme, host and port"),
    Column("rules", Words, comment="the last robots.txt that was read; null: never one"),
    Column("expires_at", Float, nullable=False, comment="ask again after; seconds since 1970"),
    Column("unreachable_since", Float, comment="first try of those that failed in a row"),
)

budgets = Table(
    "budgets",
    metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of the host and the pattern"),
    Column("pattern", Words, nullable=False, comment="what its URLs have in common"),
    Column("count", BigInteger, nullable=False, comment="URLs that were let into the queue"),
)

counts = Table(
    "counts",
    metadata,
    Column("kind", Text, primary_key=True, comment="what is counted: urls, levels, pages ..."),
    Column("name", Text, primary_key=True, comment="state, depth, status or kind of those counted"),
    Column("reason", Text, primary_key=True, comment="why they are held or failed, else empty"),
    Column("count", BigInteger, nullable=False, comment="how many, kept in every transaction"),
)

merges = Table(
    "merges",
    metadata,
    Column("rules", Text, primary_key=True, comment="the rules that made two spellings one"),
    Column("count", BigInteger, nullable=False, comment="links merged by them"),
    Column("spelling", Words, nullable=False, comment="one such link ..."),
    Column("same_as", Words, nullable=False, comment="... and what it is the same as"),
)

refusals = Table(
    "refusals",
    metadata,
    Column("reason", Text, primary_key=True, comment="why links could not be URLs to fetch"),
    Column("count", BigInteger, nullable=False, comment="how many"),
    Column("sample", Words, nullable=False, comment="one of them"),
)

# All ids are made under the writers' lock, so no database needs to look after them once more.
for _table in metadata.tables.values():
    for _constraint in _table.foreign_key_constraints:
        _constraint.ddl_if(callable_=lambda *_given, **_more: False)
