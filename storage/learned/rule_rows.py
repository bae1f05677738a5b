"""Rows of learned rules: the one place where rules are encoded for the store and decoded."""

from collections.abc import Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any

import msgspec
from sqlalchemy import (
    BindParameter,
    Connection,
    RowMapping,
    Select,
    and_,
    bindparam,
    delete,
    func,
    insert,
    or_,
    select,
    update,
)

from canonry.canon import redact
from canonry.canon.learned import FAMILIES, Rewrite, to_fields
from canonry.storage.learned.tracked_rule import Sample, TrackedRule
from canonry.storage.sql.bulk import chunks, upsert
from canonry.storage.sql.prepared import Prepared, execute
from canonry.storage.sql.schema import evidence, meta, rules
from canonry.storage.sql.stored_json import damaged, stored_json

_COUNTERS = (  # columns that are attributes of a rule, under the same names
    "state",
    "agree",
    "disagree",
    "moved",
    "trial_agree",
    "trial_disagree",
    "reversed",
    "first_seen",
    "last_seen",
    "entered_at",
    "verified_at",
    "spared",
    "held_back",
)
_SETTLED = 8  # paths, from which on the end of a rule is experience
_COLUMNS = ("id", "host", "lesson", "hsts", *_COUNTERS)
_SELECT = select(*(rules.c[name] for name in _COLUMNS))
# Built once: building a statement takes longer than running it.
_ids: BindParameter[str] = bindparam("ids", expanding=True)
_DELETE_EVIDENCE = delete(evidence).where(evidence.c.rule_id.in_(_ids))
_WITHDRAW = Prepared(
    delete(evidence).where(
        evidence.c.rule_id == bindparam("rule"),
        evidence.c.agrees == bindparam("side"),
        evidence.c.url == bindparam("name"),
    )
)
_GENERATION = Prepared(select(meta.c.value).where(meta.c.name == "rules"))  # in each transaction
_ADVANCE = (
    "INSERT INTO meta (name, value) VALUES ('rules', '{:d}') "
    "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
)
_SET_SPARED = Prepared(
    update(rules).where(rules.c.id == bindparam("rule")).values(spared=bindparam("number"))
)
_ADD_SPARED = Prepared(
    update(rules)
    .where(rules.c.id == bindparam("rule"))
    .values(spared=rules.c.spared + bindparam("number"))
)
_DELETE_RULES = delete(rules).where(
    rules.c.id.in_(_ids), rules.c.state.in_(("candidate", "probation"))
)


def _encode(rule: TrackedRule) -> dict[str, Any]:
    """Return a rule as the row that holds it."""
    row = {name: getattr(rule, name) for name in _COUNTERS}
    row |= {"id": rule.id, "host": rule.rewrite.host, "hsts": int(rule.hsts)}
    return row | {"lesson": _lesson(rule.rewrite)}


@lru_cache(maxsize=4096)  # a rule is saved with each answer that says something about it
def _lesson(said: Rewrite) -> str:
    """Return what a rule says but for its host, as JSON."""
    fields = to_fields(said)
    del fields["host"]
    return msgspec.json.encode(fields).decode()


def _decode(row: RowMapping, samples: Iterable[Sample]) -> TrackedRule:
    """Return the rule that a row holds, with the samples of its evidence."""
    said = _rewrite(row["id"], row["host"], row["lesson"])
    counters = {name: row[name] for name in _COUNTERS}
    rule = TrackedRule(said, hsts=bool(row["hsts"]), **counters)
    for agrees, url, found in samples:
        (rule.samples if agrees else rule.against).append((url, found))
    return rule


def _rewrite(rule_id: str, host: str, fields: str) -> Rewrite:
    """Return what a stored rule says.

    Raises:
        StoreError: if that is not what any rule can say.
    """
    try:
        said = msgspec.convert({"host": host, **stored_json(fields, "rules", rule_id)}, Rewrite)
    except msgspec.ValidationError as error:
        raise damaged("rules", rule_id, error) from None
    if said.family not in FAMILIES:
        raise damaged("rules", rule_id, f"there is no family {said.family!r}")
    return said


def generation(connection: Connection) -> int:
    """Return a number that changes whenever the set of active rules does."""
    found = _GENERATION.run(connection, {})
    return int(found[0][0]) if found else 0


def advance(connection: Connection) -> int:
    """Record that the set of active rules has changed; return its new number."""
    now = generation(connection) + 1
    execute(connection, _ADVANCE.format(now))
    return now


def of_host(connection: Connection, host: str) -> list[TrackedRule]:
    """Return the rules of a host, in all states."""
    return _rules(connection, _SELECT.where(rules.c.host == host))


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
    """Return the rules of a state, without their samples: those first that spare most fetches.

    Args:
        connection: to a store.
        state: of the rules.
        most: how many.
        after: only those after a rule with so many spared fetches and such an id.
    """
    query = _SELECT.where(rules.c.state == state)
    if after is not None:
        spared, rule_id = after
        same = and_(rules.c.spared == spared, rules.c.id < rule_id)
        query = query.where(rules.c.spared <= spared, or_(rules.c.spared < spared, same))
    query = query.order_by(rules.c.spared.desc(), rules.c.id.desc()).limit(most)
    return [_decode(row, ()) for row in connection.execute(query).mappings()]


def number_in(connection: Connection, state: str, most: int) -> int:
    """Return how many rules are in a state, without counting further than to ``most``."""
    some = select(rules.c.id).where(rules.c.state == state).limit(most).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


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


def wide_hosts(connection: Connection) -> set[str]:
    """Return the hosts that have rules for their subdomains, too."""
    wide = rules.c.lesson.contains('"subdomains":true', autoescape=True)
    return set(connection.scalars(select(rules.c.host).where(wide)))


def states_by_host(connection: Connection, states: Collection[str]) -> dict[str, dict[str, str]]:
    """Return by host the ids of the rules in some states, with their states."""
    query = select(rules.c.host, rules.c.id, rules.c.state).where(rules.c.state.in_(states))
    found: dict[str, dict[str, str]] = {}
    for host, rule_id, state in connection.execute(query):
        found.setdefault(host, {})[rule_id] = state
    return found


def number_activated(connection: Connection, family: str, moment: float) -> int:
    """Return how many rules of a family are active, and became so after a moment."""
    query = select(func.count()).select_from(rules).where(rules.c.state == "active")
    said = rules.c.lesson.contains(f'"family":"{family}"', autoescape=True)
    return connection.scalar(query.where(rules.c.entered_at >= moment, said)) or 0


def outcomes(connection: Connection) -> dict[str, list[tuple[int, int]]]:
    """Return how rules for whole hosts ended: by family, the paths for and against each of them.

    Rules with few paths are left out, and those for subdomains, which speak for many hosts.
    """
    paths = rules.c.agree + rules.c.disagree
    query = select(rules.c.id, rules.c.host, rules.c.lesson, rules.c.agree, rules.c.disagree)
    query = query.where(paths >= _SETTLED)
    for name in ("below", "subdomains"):  # fields that have their defaults are not written
        query = query.where(~rules.c.lesson.contains(f'"{name}":', autoescape=True))
    found: dict[str, list[tuple[int, int]]] = {}
    for rule_id, host, fields, agree, disagree in connection.execute(query):
        family = _rewrite(rule_id, host, fields).family
        found.setdefault(family, []).append((agree, disagree))
    return found


def _rules(connection: Connection, query: Select[Any]) -> list[TrackedRule]:
    """Return the rules that a query finds, with their samples."""
    rows = connection.execute(query).mappings().all()
    samples = _samples(connection, [row["id"] for row in rows])
    return [_decode(row, samples.get(row["id"], ())) for row in rows]


def _samples(connection: Connection, ids: Iterable[str]) -> dict[str, list[Sample]]:
    """Return the samples of evidence that are stored for rules, by id."""
    found: dict[str, list[Sample]] = {}
    for part in chunks(list(ids)):
        query = select(evidence.c.rule_id, evidence.c.agrees, evidence.c.url, evidence.c.found)
        here = query.where(evidence.c.rule_id.in_(part)).order_by(evidence.c.id)
        for rule, agrees, url, seen in connection.execute(here):
            found.setdefault(rule, []).append(Sample(bool(agrees), url, seen))
    return found


def put(connection: Connection, given: Iterable[TrackedRule]) -> None:
    """Save rules and their samples, without passwords; `add_spared` alone counts fetches."""
    changed = list(given)
    if changed:
        _put(connection.dialect.name).run_many(connection, [_encode(rule) for rule in changed])
    withdrawn = [
        {"rule": rule.id, "side": int(sample.agrees), "name": redact(sample.url)}
        for rule in changed
        for sample in rule.withdrawn
    ]
    if withdrawn:
        _WITHDRAW.run_many(connection, withdrawn)
    samples = [
        {
            "rule_id": rule.id,
            "agrees": int(sample.agrees),
            "url": redact(sample.url),
            "found": redact(sample.found),
        }
        for rule in changed
        for sample in rule.unsaved
    ]
    if samples:
        connection.execute(insert(evidence), samples)
    for rule in changed:
        rule.unsaved.clear()
        rule.withdrawn.clear()


@cache
def _put(dialect: str) -> Prepared:
    """Return the statement that saves a rule."""
    new = upsert(dialect, rules).inline().values({name: bindparam(name) for name in _COLUMNS})
    later = {name: new.excluded[name] for name in _COLUMNS if name not in {"id", "spared"}}
    return Prepared(new.on_conflict_do_update(index_elements=["id"], set_=later))


def delete_candidates(connection: Connection, ids: Collection[str]) -> None:
    """Delete rules that became candidates without evidence, also those stored on probation."""
    for part in chunks(list(ids)):
        connection.execute(_DELETE_EVIDENCE, {"ids": part})
        connection.execute(_DELETE_RULES, {"ids": part})


def set_spared(connection: Connection, numbers: Mapping[str, int]) -> None:
    """Set the number of URLs that are not fetched because of rules, by id."""
    rows = [{"rule": rule, "number": number} for rule, number in sorted(numbers.items())]
    _SET_SPARED.run_many(connection, rows)


def add_spared(connection: Connection, counts: Mapping[str, int]) -> None:
    """Add to the number of URLs that were not fetched because of rules, by id."""
    rows = [{"rule": rule, "number": number} for rule, number in counts.items()]
    _ADD_SPARED.run_many(connection, rows)
