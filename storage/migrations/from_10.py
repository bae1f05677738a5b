"""From schema 10 to 11: a ledger of pairs and answers, in place of evidence and sketches."""

import hashlib
from collections.abc import Iterator

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
    text,
)

_AT_ONCE = 5_000
_ROW_ID = BigInteger().with_variant(Integer, "sqlite")
_GONE = ("trial_agree", "trial_disagree", "reversed", "hsts", "verified_at", "held_back")
_SAME, _DIFFERENT = 1, 2


def upgrade(connection: Connection, operations: Operations) -> None:
    """Make the tables of the ledger, and move the evidence that rules name into it.

    Active rules stay active and revoked ones revoked, with what was counted for them. Rules on
    probation are candidates again, and frozen ones are revoked.
    """
    pairs, answers = _tables()
    pairs.create(connection)
    answers.create(connection)
    rows = list({(row["rule_id"], row["pair"]): row for row in _evidence(connection)}.values())
    for start in range(0, len(rows), _AT_ONCE):
        connection.execute(pairs.insert(), rows[start : start + _AT_ONCE])
    operations.drop_table("evidence")
    said = "URLs that were requested although it could hold them"
    operations.add_column(
        "rules", Column("tests", Integer, nullable=False, server_default=text("0"), comment=said)
    )
    for name in _GONE:
        operations.drop_column("rules", name)
    operations.drop_column("pages", "sketch")
    for before, after in (("probation", "candidate"), ("frozen", "revoked")):
        values = {"before": before, "after": after}
        connection.execute(text("UPDATE rules SET state = :after WHERE state = :before"), values)


def _evidence(connection: Connection) -> Iterator[dict[str, object]]:
    """Yield the evidence of rules as pairs of two different URLs."""
    question = (
        "SELECT evidence.rule_id, evidence.agrees, evidence.url, evidence.found, rules.last_seen "
        "FROM evidence JOIN rules ON rules.id = evidence.rule_id "
        "WHERE evidence.url <> evidence.found ORDER BY evidence.id DESC"
    )
    for rule_id, agrees, url, class_url, at in connection.execute(text(question)):
        first, second = sorted((url, class_url))
        yield {
            "rule_id": rule_id,
            "pair": hashlib.blake2b(f"{first}\n{second}".encode(), digest_size=16).digest(),
            "first": first,
            "second": second,
            "class_url": class_url,
            "verdict": _SAME if agrees else _DIFFERENT,
            "source": 0,
            "answers": 1,
            "at": at,
        }


def _tables() -> tuple[Table, Table]:
    """Return the two tables as schema 11 has them."""
    made = MetaData()
    pairs = Table(
        "pairs",
        made,
        Column("rule_id", Text, primary_key=True),
        Column("pair", LargeBinary(16), primary_key=True, comment="hash of the two"),
        Column("first", Text, nullable=False, comment="the identity of a URL ..."),
        Column("second", Text, nullable=False, comment="... and of another, in their order"),
        Column("class_url", Text, nullable=False, comment="what the rule makes of them"),
        Column(
            "verdict", SmallInteger, nullable=False, comment="0: unknown, 1: same, 2: different"
        ),
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
        made,
        Column("url_id", _ROW_ID, primary_key=True, autoincrement=False),
        Column("number", SmallInteger, primary_key=True, comment="0: the first answer of the URL"),
        Column("host_id", _ROW_ID, nullable=False),
        Column("digest", LargeBinary(16), nullable=False, comment="BLAKE2b-128 of the body"),
        Column("blocks", LargeBinary, comment="places and texts, 8 bytes each; null: not text"),
        Index("answers_by_host", "host_id"),
    )
    return pairs, answers
