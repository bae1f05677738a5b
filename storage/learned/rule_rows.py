"""What was learned: rules with their evidence, kept and found again."""

from collections.abc import Collection, Iterable, Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Insert, Select, delete, insert, select, update

from canonry.storage.records import Piece, RuleRow
from canonry.storage.sql.bulk import chunks, upsert
from canonry.storage.sql.schema import evidence, meta, rules

_COLUMNS = [rules.c[name] for name in RuleRow._fields]


def generation(connection: Connection) -> int:
    """Return a number that changes whenever the set of active rules does."""
    found = connection.scalar(select(meta.c.value).where(meta.c.name == "rules"))
    return int(found or 0)


def advance(connection: Connection) -> int:
    """Say that the set of active rules has changed; return its new number."""
    now = generation(connection) + 1
    new = upsert(connection.dialect.name, meta).values(name="rules", value=str(now))
    connection.execute(new.on_conflict_do_update(index_elements=["name"], set_={"value": str(now)}))
    return now


def of_host(connection: Connection, host: str) -> list[RuleRow]:
    """Return the rules of a host, in all states."""
    return _rows(connection, select(*_COLUMNS).where(rules.c.host == host))


def in_states(connection: Connection, states: Collection[str]) -> list[RuleRow]:
    """Return the rules in some states, or in all when none is named."""
    query = select(*_COLUMNS).order_by(rules.c.host, rules.c.id)
    return _rows(connection, query.where(rules.c.state.in_(states)) if states else query)


def wide_hosts(connection: Connection) -> set[str]:
    """Return the hosts that have rules for their subdomains, too."""
    wide = rules.c.lesson.contains('"subdomains":true', autoescape=True)
    return set(connection.scalars(select(rules.c.host).where(wide)))


def named(connection: Connection, name: str) -> list[RuleRow]:
    """Return the rules whose ids begin with a text."""
    return _rows(connection, select(*_COLUMNS).where(rules.c.id.startswith(name, autoescape=True)))


def entered_since(connection: Connection, moment: float) -> list[RuleRow]:
    """Return the rules that became active after a moment."""
    recent = rules.c.entered_at >= moment
    return _rows(connection, select(*_COLUMNS).where(rules.c.state == "active", recent))


def _rows(connection: Connection, query: Select[Any]) -> list[RuleRow]:
    return [RuleRow._make(row) for row in connection.execute(query)]


def pieces(connection: Connection, ids: Iterable[str]) -> dict[str, list[Piece]]:
    """Return what is kept of the evidence of rules."""
    found: dict[str, list[Piece]] = {}
    for part in chunks(list(ids)):
        query = select(evidence.c.rule_id, evidence.c.agrees, evidence.c.url, evidence.c.found)
        here = query.where(evidence.c.rule_id.in_(part)).order_by(evidence.c.id)
        for rule, agrees, url, seen in connection.execute(here):
            found.setdefault(rule, []).append(Piece(bool(agrees), url, seen))
    return found


def put(connection: Connection, given: Iterable[RuleRow]) -> None:
    """Write down rules as they stand now; what they spared is counted by `spare` alone."""
    rows = [row._asdict() for row in given]
    if rows:
        connection.execute(_put(connection.dialect.name), rows)


@cache
def _put(dialect: str) -> Insert:
    """Return the statement that writes down a rule; to make it costs as much as to run it."""
    new = upsert(dialect, rules)
    names = [name for name in RuleRow._fields if name not in {"id", "spared"}]
    later = {name: new.excluded[name] for name in names}
    return new.on_conflict_do_update(index_elements=["id"], set_=later)


def add_pieces(connection: Connection, given: Iterable[tuple[str, Piece]]) -> None:
    """Write down pieces of evidence, each with the id of its rule."""
    rows = [
        {"rule_id": rule, "agrees": int(piece.agrees), "url": piece.url, "found": piece.found}
        for rule, piece in given
    ]
    if rows:
        connection.execute(insert(evidence), rows)


def forget(connection: Connection, ids: Collection[str]) -> None:
    """Drop candidates that made room for others."""
    for part in chunks(list(ids)):
        connection.execute(delete(evidence).where(evidence.c.rule_id.in_(part)))
        connection.execute(delete(rules).where(rules.c.id.in_(part), rules.c.state == "candidate"))


def spare(connection: Connection, counts: Mapping[str, int]) -> None:
    """Add to how many URLs were not fetched for rules."""
    for rule, count in counts.items():
        more = update(rules).where(rules.c.id == rule)
        connection.execute(more.values(spared=rules.c.spared + count))
