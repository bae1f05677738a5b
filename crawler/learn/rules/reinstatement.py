"""Reinstatement: people bring back a rule that was revoked. Nothing else does."""

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.pair_rules import opposite
from canonry.storage import StoreError
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rekeying import Rekeyed
from canonry.storage.learned.tracked_rule import IN_FORCE, TrackedRule


def reinstate(
    connection: Connection,
    rule: TrackedRule,
    canonicalizer: Canonicalizer,
    now: float,
    *,
    trial: bool = False,
) -> Rekeyed:
    """Bring back a rule that was revoked; its evidence stays, for and against.

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
    return rule_store.put(connection, [rule], canonicalizer, now)
