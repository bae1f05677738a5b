"""The learned rules that made one URL another, by their ids, and the evidence of each."""

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import describe
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.plurals import agreement
from canonry.storage.learned import rule_rows
from canonry.storage.learned.tracked_rule import IN_FORCE


class RuleNames:
    """Names rules of a store. Without rules in force, the store's policy is not needed."""

    def __init__(self, connection: Connection, policy: str | None = None) -> None:
        """Load the rules that are active or suspended.

        Args:
            connection: to a store.
            policy: its policy, as a preset's name or a TOML file; None: as its crawl named it.

        Raises:
            PolicyError, StoreError: if the store's keys cannot be made.
        """
        self._tracked = {rule.id: rule for rule in rule_rows.in_states(connection, IN_FORCE)}
        self._in_force: RulesInForce | None = None
        if self._tracked or policy is not None:
            found = policy_of(connection, last_crawl(connection), policy)
            learned = [rule.as_learned() for rule in self._tracked.values()]
            self._in_force = RulesInForce(learned, Canonicalizer(found))

    def __call__(self, url: str, represented_by: str) -> tuple[str, ...]:
        """Return the ids of the rules that make a URL and the one that represents it the same.

        If none changes the URL itself, these are the rules that change the other one.
        """
        if self._in_force is not None:
            for one in (url, represented_by):
                found = self._in_force.rewrite_held(one)
                if found is not None and found.rules:
                    return found.rules
        return ()

    def evidence(self, rule_id: str) -> str:
        """Return what a rule says, and how many pages agree with it or do not."""
        rule = self._tracked[rule_id]
        found = agreement(rule.agree, rule.disagree)
        return f"{rule_id}: {describe(rule.rewrite)}; {rule.state}, {found}"
