"""Rows of learned rules: the one place where rules are encoded for the store and decoded."""

from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import (
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    func,
    or_,
    select,
    update,
)

from canonry.canon.learned import FAMILIES, Rewrite, to_fields
from canonry.storage.learned import ledger
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.sql import bulk
from canonry.storage.sql.bulk import chunks
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import meta, rules
from canonry.storage.sql.stored_json import damaged, stored_json

_COUNTERS = (  # columns that are attributes of a rule, under the same names
    "state",
    "agree",
    "disagree",
    "confirmed",
    "tests",
    "first_seen",
    "last_seen",
    "entered_at",
    "spared",
)
_COLUMNS = ("id", "host", "definition", *_COUNTERS)
_SELECT = select(*(rules.c[name] for name in _COLUMNS))
# Built once: building a statement takes longer than running it.
_GENERATION = Prepared(select(meta.c.value).where(meta.c.name == "rules"))  # run per transaction
_SET_SPARED = Prepared(
    update(rules).where(rules.c.id == bindparam("rule")).values(spared=bindparam("number"))
)
_ADD_SPARED = Prepared(
    update(rules)
    .where(rules.c.id == bindparam("rule"))
    .values(spared=rules.c.spared + bindparam("number"))
)


def _encode(rule: TrackedRule) -> dict[str, Any]:
    """Return a rule as the row that holds it."""
    row = {name: getattr(rule, name) for name in _COUNTERS}
    row |= {"id": rule.id, "host": rule.rewrite.host}
    return row | {"definition": _definition(rule.rewrite)}


@lru_cache(maxsize=4096)  # a rule is saved with each answer that says something about it
def _definition(rewrite: Rewrite) -> str:
    """Return a rule without its host, as JSON."""
    fields = to_fields(rewrite)
    del fields["host"]
    return msgspec.json.encode(fields).decode()


def _decode(row: RowMapping) -> TrackedRule:
    """Return the rule that a row holds, without samples."""
    rewrite = _decoded_rewrite(row["id"], row["host"], row["definition"])
    return TrackedRule(rewrite, **{name: row[name] for name in _COUNTERS})


def _decoded_rewrite(rule_id: str, host: str, fields_json: str) -> Rewrite:
    """Return the rewrite of a stored rule.

    Raises:
        StoreError: if it is not a valid one.
    """
    try:
        rewrite = msgspec.convert(
            {"host": host, **stored_json(fields_json, "rules", rule_id)}, Rewrite
        )
    except msgspec.ValidationError as error:
        raise damaged("rules", rule_id, error) from None
    if rewrite.family not in FAMILIES:
        raise damaged("rules", rule_id, f"there is no family {rewrite.family!r}")
    return rewrite


def generation(connection: Connection) -> int:
    """Return a number that changes whenever the set of active rules does."""
    found = _GENERATION.run(connection, {})
    return int(found[0][0]) if found else 0


def advance(connection: Connection) -> int:
    """Record that the set of active rules has changed; return its new number."""
    now = generation(connection) + 1
    bulk.put(connection, meta, [{"name": "rules", "value": str(now)}])
    return now


def of_hosts(
    connection: Connection, hosts: Collection[str], states: Collection[str]
) -> list[TrackedRule]:
    """Return the rules of hosts that are in some states."""
    found = []
    for part in chunks(list(hosts)):
        found += _rules(connection, _SELECT.where(rules.c.host.in_(part)))
    return [rule for rule in found if rule.state in states]


def most_useful(
    connection: Connection, state: str, most: int, after: tuple[int, str] | None = None
) -> list[TrackedRule]:
    """Return the rules in a state, without samples; those that spare most fetches come first.

    Args:
        connection: to a store.
        state: of the rules.
        most: how many.
        after: the spared fetches and the id of the last rule of the page before.
    """
    query = _SELECT.where(rules.c.state == state)
    if after is not None:
        spared, rule_id = after
        same = and_(rules.c.spared == spared, rules.c.id < rule_id)
        query = query.where(rules.c.spared <= spared, or_(rules.c.spared < spared, same))
    query = query.order_by(rules.c.spared.desc(), rules.c.id.desc()).limit(most)
    return [_decode(row) for row in connection.execute(query).mappings()]


def number_in(connection: Connection, state: str, most: int) -> int:
    """Return how many rules are in a state, without counting further than to ``most``."""
    some = select(rules.c.id).where(rules.c.state == state).limit(most).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def has_any(connection: Connection) -> bool:
    """Return True if the store has rules."""
    return connection.scalar(select(rules.c.id).limit(1)) is not None


def in_states(connection: Connection, states: Collection[str] = ()) -> list[TrackedRule]:
    """Return the rules in some states; all rules if none is named."""
    query = _SELECT.order_by(rules.c.host, rules.c.id)
    return _rules(connection, query.where(rules.c.state.in_(states)) if states else query)


def with_ids(connection: Connection, ids: Collection[str]) -> list[TrackedRule]:
    """Return the rules with some ids, in all states."""
    found = []
    for part in chunks(list(ids)):
        found += _rules(connection, _SELECT.where(rules.c.id.in_(part)))
    return found


def with_prefix(connection: Connection, prefix: str) -> list[TrackedRule]:
    """Return the rules whose ids begin with a text."""
    return _rules(connection, _SELECT.where(rules.c.id.startswith(prefix, autoescape=True)))


def states_by_host(connection: Connection, states: Collection[str]) -> dict[str, dict[str, str]]:
    """Return by host the ids of the rules in some states, with their states."""
    query = select(rules.c.host, rules.c.id, rules.c.state).where(rules.c.state.in_(states))
    found: dict[str, dict[str, str]] = {}
    for host, rule_id, state in connection.execute(query):
        found.setdefault(host, {})[rule_id] = state
    return found


def _rules(connection: Connection, query: Select[Any]) -> list[TrackedRule]:
    """Return the rules that a query finds, with some of their pairs."""
    tracked_rules = [_decode(row) for row in connection.execute(query).mappings().all()]
    ids = [rule.id for rule in tracked_rules]
    same, different = (
        ledger.samples_of(connection, ids, verdict) for verdict in (ledger.SAME, ledger.DIFFERENT)
    )
    for rule in tracked_rules:
        rule.samples, rule.against = same.get(rule.id, []), different.get(rule.id, [])
    return tracked_rules


def put(connection: Connection, given: Iterable[TrackedRule]) -> None:
    """Save rules, without their pairs; a known rule keeps its stored ``spared``."""
    rows = [_encode(rule) for rule in given]
    bulk.put(connection, rules, rows, change={*_COLUMNS} - {"id", "spared"})


def set_spared(connection: Connection, numbers: Mapping[str, int]) -> None:
    """Set the number of URLs that are not fetched because of rules, by id."""
    rows = [{"rule": rule, "number": number} for rule, number in sorted(numbers.items())]
    _SET_SPARED.run_many(connection, rows)


def add_spared(connection: Connection, counts: Mapping[str, int]) -> None:
    """Add to the number of URLs that were not fetched because of rules, by id."""
    rows = [{"rule": rule, "number": number} for rule, number in counts.items()]
    _ADD_SPARED.run_many(connection, rows)
