"""Reinstatement: people bring back a rule that was revoked or frozen. Nothing else does."""

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.crawler.learn.inference.proposals import opposite
from canonry.crawler.learn.life.experience import priors_for
from canonry.crawler.learn.life.in_words import IN_STATE
from canonry.crawler.learn.life.lifecycle import IN_FORCE, WITHDRAWN, next_state
from canonry.crawler.learn.life.thresholds import Thresholds
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.plurals import agreement
from canonry.storage import StoreError
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rekeying import Rekeyed
from canonry.storage.learned.tracked_rule import TrackedRule


def reinstate(
    connection: Connection,
    rule: TrackedRule,
    canonicalizer: Canonicalizer,
    now: float,
    *,
    trial: bool = False,
) -> Rekeyed:
    """Bring back a rule that was revoked or frozen; its evidence stays, for and against.

    Args:
        connection: in a transaction that holds the write lock.
        rule: as the store has it.
        canonicalizer: makes identities, without learned rules.
        now: seconds since 1970.
        trial: put it on probation; it spares no fetch until its predictions hold.

    Returns:
        What became of the known URLs: queued ones that the rule changes are held again.

    Raises:
        StoreError: if the rule is neither revoked nor frozen, or its opposite is in force.
        RulesError: if it forms a circle with the rules that are active.
    """
    if rule.state not in WITHDRAWN:
        raise StoreError(
            f"rule {rule.id} is {IN_STATE[rule.state]}: only revoked and frozen rules come back"
        )
    turned = opposite(rule.rewrite)
    for other in rule_rows.with_prefix(connection, turned.id):
        if other.rewrite == turned and other.state in IN_FORCE:
            raise StoreError(
                f"rule {rule.id}: rule {other.id} says the opposite and is {other.state}; "
                "revoke that one first"
            )
    rule.enter("probation" if trial else "active", now)
    return rule_store.put(connection, [rule], canonicalizer, now)


def doubt_about(connection: Connection, rule: TrackedRule, thresholds: Thresholds) -> str | None:
    """Return why a rule that was just reinstated will not stay; None if its evidence is enough.

    A crawl decides on every rule by its evidence, whoever made it active.

    Args:
        connection: to the store.
        rule: in its new state.
        thresholds: how much evidence makes a rule.
    """
    family = rule.rewrite.family
    prior = priors_for(connection, thresholds)[family]
    after = next_state(rule, thresholds.family[family], prior)
    if after in {rule.state, "active"}:
        return None
    if after == "frozen":
        cause = f"{rule.reversed:,} redirects lead in the opposite direction"
    else:
        cause = agreement(rule.agree, rule.disagree, " and")
    return f"{cause}: with the next evidence, a crawl makes it {IN_STATE[after]}"
