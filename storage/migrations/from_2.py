"""From schema 2 to 3: rules, their evidence, and the classes of URLs that they merge."""

from alembic.operations import Operations
from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
)

_metadata = MetaData()
_Id = BigInteger().with_variant(Integer(), "sqlite")
_rules = Table(
    "rules",
    _metadata,
    Column("id", Text, primary_key=True, comment="ten hexadecimal digits of what it says"),
    Column("host", Text, nullable=False, comment="the host that it is about, without port"),
    Column("lesson", Text, nullable=False, comment="family and its blanks, as JSON"),
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
Index("rules_by_host", _rules.c.host).ddl_if(dialect="sqlite")
Index("rules_by_hash", _rules.c.host, postgresql_using="hash").ddl_if(dialect="postgresql")
Table(
    "evidence",
    _metadata,
    Column("id", _Id, primary_key=True),
    Column("rule_id", Text, nullable=False),
    Column("agrees", SmallInteger, nullable=False, comment="1: it speaks for the rule"),
    Column("url", Text, nullable=False, comment="the identity of a URL ..."),
    Column("found", Text, nullable=False, comment="... and what it was found to be"),
    Index("evidence_by_rule", "rule_id"),
)
Table(
    "classes",
    _metadata,
    Column("key", LargeBinary(16), primary_key=True, comment="of the identity that rules make"),
    Column("url_id", _Id, nullable=False, comment="the URL that is fetched"),
    Column("host_id", _Id, nullable=False, comment="whose URL that is"),
    Index("classes_by_host", "host_id"),
)


def upgrade(connection: Connection, operations: Operations) -> None:
    """Create the tables of learned rules, and index aliases by their targets."""
    _metadata.create_all(connection, checkfirst=False)
    operations.create_index("aliases_by_target", "aliases", ["to_id"])
