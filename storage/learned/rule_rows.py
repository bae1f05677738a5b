"""Rules as a store holds them: the one place where they are encoded and decoded."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import astuple
from sqlalchemy import (
    Column,
    Connection,
    RowMapping,
    Select,
    bindparam,
    func,
    select,
    update,
)

from canonry.canon.learned import FAMILIES, Evidence, LearnedRule, Rewrite, RuleState, to_fields
from canonry.storage.learned.ledger import SAME, UNKNOWN
from canonry.storage.sql import bulk
from canonry.storage.sql.bulk import chunks
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import pairs, rules
from canonry.storage.sql.stored_json import damaged, stored_json

SAMPLES = 5  # pairs that a rule shows, for it and against it each
IN_FORCE: tuple[RuleState, ...] = ("active", "suspended")  # these rules hold URLs
URLPair: TypeAlias = tuple[str, str]  # two identities, sorted
# Columns that are attributes of a rule, under the same names.
_COUNTERS = [c.name for c in rules.c if c.name not in {"id", "host", "definition"}]
_is_it = rules.c.id == bindparam("rule")
# Built once: building a statement takes longer than running it.
_SET_SUPPRESSED = Prepared(update(rules).where(_is_it).values(suppressed=bindparam("number")))
_ADD_SUPPRESSED = Prepared(
    update(rules).where(_is_it).values(suppressed=rules.c.suppressed + bindparam("number"))
)


@dataclass(slots=True)
class TrackedRule:
    """A rule with counts of classes that agree and disagree; times are seconds since 1970."""

    rewrite: Rewrite
    state: RuleState = "candidate"
    agree: int = 0
    disagree: int = 0
    confirmed: int = 0  # of those that agree, how many by the site's own word
    tests: int = 0  # URLs that were requested although it could hold them
    first_seen: float = 0.0
    last_seen: float = 0.0
    entered_at: float = 0.0
    suppressed: int = 0  # approximate number of URLs that it holds; sorts lists
    samples: list[URLPair] = field(default_factory=list)  # the first few that agree ...
    against: list[URLPair] = field(default_factory=list)  # ... and that do not
    id: str = field(init=False)  # the id of its rewrite

    def __post_init__(self) -> None:
        """Compute the id once."""
        self.id = self.rewrite.id

    def enter(self, state: RuleState, now: float) -> None:
        """Enter a state."""
        self.state, self.entered_at = state, now

    def as_learned(self) -> LearnedRule:
        """Return the rule as users see it and as rule sets apply it."""
        evidence = Evidence(
            agree=self.agree,
            disagree=self.disagree,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
            samples=tuple(self.samples),
            against=tuple(self.against),
        )
        return LearnedRule(*astuple(self.rewrite), state=self.state, evidence=evidence)


def _encode(rule: TrackedRule) -> dict[str, Any]:
    """Return a rule as the row that holds it."""
    own = {"id": rule.id, "host": rule.rewrite.host, "definition": _definition(rule.rewrite)}
    return own | {name: getattr(rule, name) for name in _COUNTERS}


@lru_cache(maxsize=4096)  # a rule is saved with each answer that says something about it
def _definition(rewrite: Rewrite) -> str:
    """Return a rule without its host, as JSON."""
    fields = to_fields(rewrite)
    del fields["host"]
    return msgspec.json.encode(fields).decode()


def _decode(row: RowMapping) -> TrackedRule:
    """Return the rule that a row holds, without samples.

    Raises:
        StoreError: if it is not a valid one.
    """
    rule_id = row["id"]
    fields = {"host": row["host"], **stored_json(row["definition"], "rules", rule_id)}
    try:
        rewrite = msgspec.convert(fields, Rewrite)
    except msgspec.ValidationError as error:
        raise damaged("rules", rule_id, error) from None
    if rewrite.family not in FAMILIES:
        raise damaged("rules", rule_id, f"there is no family {rewrite.family!r}")
    return TrackedRule(rewrite, **{name: row[name] for name in _COUNTERS})


def of_hosts(
    connection: Connection, hosts: Collection[str], states: Collection[str]
) -> list[TrackedRule]:
    """Return the rules of hosts that are in some states."""
    return [rule for rule in _among(connection, rules.c.host, hosts) if rule.state in states]


def with_ids(connection: Connection, ids: Collection[str]) -> list[TrackedRule]:
    """Return the rules with some ids, in all states."""
    return _among(connection, rules.c.id, ids)


def most_useful(connection: Connection, state: str, most: int) -> list[TrackedRule]:
    """Return the rules in a state, without samples; those that suppress most fetches come first."""
    query = select(rules).where(rules.c.state == state)
    query = query.order_by(rules.c.suppressed.desc(), rules.c.id.desc()).limit(most)
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
    query = select(rules).order_by(rules.c.host, rules.c.id)
    return _rules(connection, query.where(rules.c.state.in_(states)) if states else query)


def with_prefix(connection: Connection, prefix: str) -> list[TrackedRule]:
    """Return the rules whose ids begin with a text."""
    return _rules(connection, select(rules).where(rules.c.id.startswith(prefix, autoescape=True)))


def states_by_host(connection: Connection, states: Collection[str]) -> dict[str, dict[str, str]]:
    """Return by host the ids of the rules in some states, with their states."""
    query = select(rules.c.host, rules.c.id, rules.c.state).where(rules.c.state.in_(states))
    found: dict[str, dict[str, str]] = {}
    for host, rule_id, state in connection.execute(query):
        found.setdefault(host, {})[rule_id] = state
    return found


def _among(
    connection: Connection, column: Column[str], values: Collection[str]
) -> list[TrackedRule]:
    """Return the rules with one of some values in a column."""
    queries = (select(rules).where(column.in_(part)) for part in chunks(list(values)))
    return [rule for query in queries for rule in _rules(connection, query)]


def _rules(connection: Connection, query: Select[Any]) -> list[TrackedRule]:
    """Return the rules that a query finds, with the earliest few of their pairs."""
    found = {row["id"]: _decode(row) for row in connection.execute(query).mappings().all()}
    for part in chunks(list(found)):
        of_rules = (
            select(pairs.c.rule_id, pairs.c.verdict, pairs.c.first, pairs.c.second)
            .where(pairs.c.rule_id.in_(part), pairs.c.verdict != UNKNOWN)
            .order_by(pairs.c.at, pairs.c.first, pairs.c.second)
        )
        for rule_id, verdict, first, second in connection.execute(of_rules):
            rule = found[rule_id]
            shown = rule.samples if verdict == SAME else rule.against
            if len(shown) < SAMPLES:
                shown.append((first, second))
    return list(found.values())


def put(connection: Connection, given: Iterable[TrackedRule]) -> None:
    """Save rules, without their pairs; a known rule keeps its stored ``suppressed``."""
    rows = [_encode(rule) for rule in given]
    bulk.put(connection, rules, rows, change={*rules.c.keys()} - {"id", "suppressed"})


def set_suppressed(connection: Connection, numbers: Mapping[str, int]) -> None:
    """Set the number of URLs that are not fetched because of rules, by id."""
    rows = [{"rule": rule, "number": number} for rule, number in sorted(numbers.items())]
    _SET_SUPPRESSED.run_many(connection, rows)


def add_suppressed(connection: Connection, counts: Mapping[str, int]) -> None:
    """Add to the number of URLs that were not fetched because of rules, by id."""
    rows = [{"rule": rule, "number": number} for rule, number in counts.items()]
    _ADD_SUPPRESSED.run_many(connection, rows)
