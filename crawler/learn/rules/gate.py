"""The gate: limits that keep a rule from becoming active, however good its evidence is."""

from collections import Counter
from collections.abc import Collection

from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import FAMILIES, Rewrite, act, find_circle, site_in
from canonry.canon.syntax import Parts
from canonry.crawler.learn.inference.proposals import opposite
from canonry.crawler.learn.life.experience import priors_for
from canonry.crawler.learn.life.in_words import HELD_BACK
from canonry.crawler.learn.life.lifecycle import (
    IN_FORCE,
    MOST_MISSING,
    UNDECIDED,
    WITHDRAWN,
    missing_for,
    next_state,
)
from canonry.crawler.learn.life.prior import Prior
from canonry.crawler.learn.life.thresholds import Gate, Threshold, Thresholds
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.rules.rewriting import by_start, identities
from canonry.crawler.plurals import agreement, counted
from canonry.storage.learned import history, rekeying, rule_rows
from canonry.storage.learned.tracked_rule import TrackedRule

_DAY = 86_400.0


def reason_to_block(
    connection: Connection,
    rule: TrackedRule,
    in_force: RulesInForce,
    canonicalizer: Canonicalizer,
    gate: Gate,
    now: float,
) -> str | None:
    """Return the reason why a rule may not become active, for people; None if it may.

    Args:
        connection: in a transaction.
        rule: what it says, and its evidence.
        in_force: the rules that are in force without it.
        canonicalizer: makes identities, without learned rules.
        gate: the limits.
        now: seconds since 1970.
    """
    said = rule.rewrite
    family = FAMILIES[said.family]
    if family.can_chain and find_circle([*(other.rewrite for other in in_force.known), said]):
        return "it would form a circle with rules that are active or suspended"
    same = rule_rows.number_activated(connection, said.family, now - _DAY)
    if same >= gate.hosts_a_day:
        return f"{same:,} hosts have learned such a rule within a day"
    found = _that_may_be_too_many(
        connection, said, in_force.hosts_of(connection, said), canonicalizer, gate
    )
    if found is None:
        return None
    known, marked = found
    sizes: Counter[Parts] = Counter()
    for parts in map(Parts.of, marked):
        after = act(said, parts)
        if after is not parts:
            sizes[after] += 1
    changed = sizes.total()
    # Where every link has a session's identifier, its rule changes all URLs, each page's into one.
    few = changed <= gate.class_size * len(sizes)
    is_spread = family.any_class_size and (few or rule.agree >= gate.proven * len(sizes))
    is_large = gate.from_ < known and changed > gate.share * known
    if is_large and not family.any_share and not is_spread:
        return f"it would change {changed:,} of {known:,} known URLs"
    largest = max(sizes.values(), default=0)
    if largest > gate.class_size and not family.any_class_size:
        return f"it would merge {largest:,} URLs into one"
    return None


def _that_may_be_too_many(
    connection: Connection,
    said: Rewrite,
    names: Collection[str],
    canonicalizer: Canonicalizer,
    gate: Gate,
) -> tuple[int, list[str]] | None:
    """Return how many URLs of a site are known, and the identities that a rule may change.

    Args:
        connection: in a transaction.
        said: what the rule says.
        names: the hosts whose URLs it may change.
        canonicalizer: makes identities, without learned rules.
        gate: the limits.

    Returns:
        None if these cannot be too many, whatever the rule does. Mostly the first URLs tell: once
        as many stay as they are as have to, the others are not read.
    """
    family = FAMILIES[said.family]
    may_merge_many = not (family.any_class_size or family.one_to_one)
    if family.any_share and not may_merge_many:
        return None
    at_most = rekeying.number_of_urls(connection, names)
    is_marked, port = family.mark(said), _port(said.host)
    known, marked = 0, list[str]()
    for urls in rekeying.urls_of(connection, names):
        some = identities(canonicalizer, urls)
        starts = by_start(some).items()
        known += sum(len(places) for start, places in starts if _port(site_in(start)) == port)
        marked += filter(is_marked, some)
        most_changed = at_most - (known - len(marked))
        if not may_merge_many and most_changed <= gate.share * at_most:
            return None
    may_be_large = not family.any_share and gate.from_ < known
    may_be_large = may_be_large and len(marked) > gate.share * known
    may_merge_many = may_merge_many and len(marked) > gate.class_size
    return (known, marked) if may_be_large or may_merge_many else None


def reason_held_back(
    connection: Connection,
    rule: TrackedRule,
    canonicalizer: Canonicalizer,
    thresholds: Thresholds,
    now: float,
) -> str | None:
    """Return why a rule is not active; None if it is, or if it was withdrawn or is about to be.

    Args:
        connection: to a store.
        rule: as the store has it.
        canonicalizer: makes identities, without learned rules.
        thresholds: how much evidence makes a rule.
        now: seconds since 1970.
    """
    said = rule.rewrite
    limits = thresholds.family[said.family]
    prior = priors_for(connection, thresholds)[said.family]
    after = next_state(rule, limits, prior)
    if rule.state not in {*UNDECIDED, "suspended"} or after in WITHDRAWN:
        return None
    held_back = None if rule.held_back is None else HELD_BACK[rule.held_back]
    if after != "active":
        missing = _missing(rule, limits, prior)
        was_suspended = rule.state == "suspended" and held_back is not None
        return f"{held_back}; {missing}" if was_suspended else missing
    reason = _of_other_rules(connection, rule, limits) or held_back
    if reason is None and history.has_index(connection):  # the gate makes it
        in_force = RulesInForce.around(connection, canonicalizer, said.host)
        reason = reason_to_block(connection, rule, in_force, canonicalizer, thresholds.gate, now)
    return reason or "the next crawl decides"


def _of_other_rules(connection: Connection, rule: TrackedRule, limits: Threshold) -> str | None:
    """Return why a rule with evidence enough waits for other rules; None if it does not."""
    said = rule.rewrite
    whole = _stored(connection, replace(said, below="/"), said)
    against = _stored(connection, opposite(said), said)
    if against is not None and against.state in IN_FORCE:
        return f"rule {against.id} says the opposite, and is {against.state}"
    if whole is not None and whole.state == "active":
        return f"rule {whole.id} says the same of the whole host, and is active"
    if whole is not None and whole.disagree:
        return (
            f"of the whole host, {agreement(whole.agree, whole.disagree, ' and')} "
            f"(rule {whole.id}): without the parts where most disagree, all parts together need a "
            f"bound of {limits.alone:g}, and of {limits.doubted:g} if any path disagrees"
        )
    return None


def _missing(rule: TrackedRule, limits: Threshold, prior: Prior) -> str:
    """Return in words what a rule needs that its own evidence has not."""
    missing = missing_for(rule, limits, prior)
    needs = []
    if missing.paths:
        many = "more than " * (missing.paths >= MOST_MISSING)
        needs.append(f"{many}{counted(missing.paths, 'more path')} for it, and none against")
    if missing.trial:
        where = "on probation" if rule.state in UNDECIDED else "while it is suspended"
        needs.append(f"{counted(missing.trial, 'more prediction')} to come true {where}")
    if missing.seconds:
        lasted = rule.last_seen - rule.first_seen
        needs.append(f"evidence over {limits.span:,.0f} s (now {lasted:,.0f} s)")
    return f"it needs {'; '.join(needs)}" if needs else "its next evidence decides"


def _stored(connection: Connection, wanted: Rewrite, said: Rewrite) -> TrackedRule | None:
    """Return the stored rule that says something, if it is another one than a rule says."""
    if wanted == said:
        return None
    return next(
        (one for one in rule_rows.with_prefix(connection, wanted.id) if one.rewrite == wanted), None
    )


def _port(site: str) -> str | None:
    """Return the port of a site: another one is another site."""
    return Parts.of(f"http://{site}").port
