"""Change the rules in a store: publish, revoke, import and reinstate them."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.canon import Canonicalizer, Policy
from canonry.canon.learned import LearnedRule, Rewrite, RuleSet, RuleState, act
from canonry.canon.pipeline import Rewritten
from canonry.canon.syntax import Parts
from canonry.crawler.learn.rules.in_force import SOURCE, RulesInForce
from canonry.crawler.learn.rules.infer import opposite
from canonry.storage import StoreError, facts
from canonry.storage.learned import applied_rules, ledger, rule_rows
from canonry.storage.learned.applied_rules import AppliedRules
from canonry.storage.learned.ledger import StoredPair
from canonry.storage.learned.rule_rows import IN_FORCE, TrackedRule


def find(connection: Connection, prefix: str) -> TrackedRule:
    """Return the rule whose id begins with a prefix.

    Raises:
        StoreError: if there is none, or more than one.
    """
    found = rule_rows.with_prefix(connection, prefix) if prefix else []
    if len(found) != 1:
        problem = f"{len(found)} rules have such an id" if found else "there is no such rule"
        raise StoreError(f"rule {prefix!r}: {problem}; 'canonry rules list' shows their ids")
    return found[0]


def rules_in(connection: Connection, states: tuple[str, ...] = ()) -> list[LearnedRule]:
    """Return the rules in some states, with their evidence; all rules if no state is named."""
    return [rule.as_learned() for rule in rule_rows.in_states(connection, states)]


def active_in(connection: Connection, policy: Policy) -> RuleSet:
    """Return the active rules of a store."""
    return RuleSet(rules_in(connection, ("active",)), policy.label, SOURCE)


def publish(
    connection: Connection,
    changed: Iterable[Rewrite],
    canonicalizer: Canonicalizer,
    now: float,
    choose_as_test: Callable[[RulesInForce, Rewritten], bool] = lambda _rules, _rewritten: False,
    loaded: RulesInForce | None = None,
) -> tuple[RulesInForce, AppliedRules]:
    """Apply rules to the known URLs, after their state was saved in the same transaction.

    Args:
        connection: of that transaction.
        changed: the rules whose state changed.
        canonicalizer: makes identities, without learned rules.
        now: seconds since 1970.
        choose_as_test: returns True for URLs to fetch as tests, although rules could hold them.
        loaded: the rules that are in force now, if already loaded.

    Returns:
        The rules that are in force now, and what became of the known URLs.
    """
    rewrites = list(changed)
    in_force = loaded or RulesInForce.load(connection, canonicalizer)
    names: set[str] = set()
    for rewrite in rewrites:
        names |= in_force.hosts_of(connection, rewrite)
    applied = applied_rules.apply_rules(
        connection,
        names,
        in_force.change_all,
        in_force.rewrite_all_held,
        now,
        partial(choose_as_test, in_force),
    )
    # A rule for subdomains covers more than these hosts, unless it is one of those that changed.
    suppressed = {name: n for name, n in applied.suppressed.items() if not in_force.is_wide(name)}
    own = {rewrite.id: applied.suppressed.get(rewrite.id, 0) for rewrite in rewrites}
    rule_rows.set_suppressed(connection, suppressed | own)
    facts.advance(connection, facts.RULES)
    return in_force, applied


def put(
    connection: Connection, rules: Sequence[TrackedRule], canonicalizer: Canonicalizer, now: float
) -> AppliedRules:
    """Save rules that people have changed, and apply them to the known URLs.

    Raises:
        RulesError: if they form a circle with the rules of the store.
    """
    rule_rows.put(connection, rules)
    return publish(connection, [rule.rewrite for rule in rules], canonicalizer, now)[1]


def revoke(
    connection: Connection, rule: TrackedRule, canonicalizer: Canonicalizer, now: float
) -> AppliedRules:
    """Revoke a rule for good; the URLs that it held go back to the queue."""
    rule.enter("revoked", now)
    return put(connection, [rule], canonicalizer, now)


class Overruled(NamedTuple):
    """Counts of the stored states that an import overrules."""

    withdrawn: int  # revoked rules that are no longer revoked
    deactivated: int  # active rules that are no longer active


def overruled(
    connection: Connection, rules: Iterable[LearnedRule], *, trial: bool = False
) -> Overruled:
    """Count the stored states that an import of rules will overrule; see `import_rules`."""
    withdrawn = deactivated = 0
    given = {rule.id: _state_of(rule, trial=trial) for rule in rules}
    for known in rule_rows.with_ids(connection, given):
        after = given[known.id]
        withdrawn += known.state == "revoked" != after
        deactivated += known.state == "active" and after != "active"
    return Overruled(withdrawn, deactivated)


def _state_of(given: LearnedRule, *, trial: bool) -> RuleState:
    """Return the state in which a rule is imported."""
    return "candidate" if trial and given.state == "active" else given.state


def import_rules(
    connection: Connection,
    rules: Iterable[LearnedRule],
    canonicalizer: Canonicalizer,
    now: float,
    *,
    trial: bool = False,
) -> AppliedRules:
    """Import rules into a store; their states and counts replace those of the same rules there.

    Args:
        connection: in a transaction that holds the write lock.
        rules: in any state.
        canonicalizer: makes identities, without learned rules.
        now: seconds since 1970.
        trial: make active rules candidates.

    Raises:
        RulesError: if they form a circle with the rules of the store.
    """
    given = list(rules)
    known = {rule.rewrite: rule for rule in rule_rows.with_ids(connection, [r.id for r in given])}
    imported = [_imported(known.get(rule.rewrite), rule, now, trial=trial) for rule in given]
    rule_rows.put(connection, imported)
    for rule in given:
        is_new = rule.rewrite not in known or not known[rule.rewrite].samples
        ledger.put_pairs(connection, _named_in(rule, now) if is_new else ())
    return put(connection, imported, canonicalizer, now)


def _imported(
    stored: TrackedRule | None, imported: LearnedRule, now: float, *, trial: bool
) -> TrackedRule:
    """Return the row to store for an imported rule."""
    rule = stored or TrackedRule(imported.rewrite)
    evidence = imported.evidence
    rule.agree, rule.disagree = evidence.agree, evidence.disagree
    rule.first_seen, rule.last_seen = evidence.first_seen or now, evidence.last_seen or now
    rule.enter(_state_of(imported, trial=trial), now)
    return rule


def _named_in(rule: LearnedRule, now: float) -> Iterable[StoredPair]:
    """Yield the pairs of URLs that a rule names as its evidence."""
    named = ((ledger.SAME, rule.evidence.samples), (ledger.DIFFERENT, rule.evidence.against))
    for verdict, pairs in named:
        for url, found in pairs:
            first, second = sorted((url, found))
            page = str(act(rule.rewrite, Parts.of(url)))
            yield StoredPair(rule.id, first, second, page, verdict, ledger.MINED, 1, now)


def reinstate(
    connection: Connection,
    rule: TrackedRule,
    canonicalizer: Canonicalizer,
    now: float,
    *,
    trial: bool = False,
) -> AppliedRules:
    """Reinstate a revoked rule; its evidence stays, for and against.

    Args:
        connection: in a transaction that holds the write lock.
        rule: as the store has it.
        canonicalizer: makes identities, without learned rules.
        now: seconds since 1970.
        trial: make it a candidate; it holds no URL until its evidence is enough.

    Returns:
        What became of the known URLs: queued ones that the rule changes are held again.

    Raises:
        StoreError: if the rule is not revoked, or its opposite is in force.
        RulesError: if it forms a circle with the rules that are active.
    """
    if rule.state != "revoked":
        raise StoreError(f"rule {rule.id} is {rule.state}: only revoked rules come back")
    turned = opposite(rule.rewrite)
    for other in rule_rows.with_ids(connection, [turned.id]):
        if other.rewrite == turned and other.state in IN_FORCE:
            raise StoreError(
                f"rule {rule.id}: rule {other.id} says the opposite and is {other.state}; "
                "revoke that one first"
            )
    rule.enter("candidate" if trial else "active", now)
    return put(connection, [rule], canonicalizer, now)
