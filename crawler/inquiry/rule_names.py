"""Learned rules for people: those that merged two URLs, what a rule holds, and lists of rules."""

from collections import Counter
from collections.abc import Iterable, Iterator

from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import FAMILIES, Rewrite, RuleState, describe
from canonry.canon.syntax import Parts
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.plurals import agreement
from canonry.storage.learned import rule_rows
from canonry.storage.learned.host_urls import HeldName
from canonry.storage.learned.rule_rows import IN_FORCE, TrackedRule

# The order of lists: rules that act first, candidates last.
STATE_ORDER: tuple[RuleState, ...] = ("active", "suspended", "revoked", "candidate")


class RuleNames:
    """Finds the rules that merged URLs. While no rule is in force, no policy is needed."""

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


def held_by(
    rule: TrackedRule, names: Iterable[HeldName], in_force: RulesInForce
) -> Iterator[HeldName]:
    """Yield the held URLs that a rule makes equal to what represents them, itself or with others.

    It changes the URL; or it changes its representative, and makes the two one.
    """

    def uses_it(url: str) -> bool:
        made = in_force.rewrite_held(url)
        return made is not None and rule.id in made.rules

    def made_of(url: str) -> str:
        parts = Parts.of(in_force.identity(url))
        return str(FAMILIES[rule.rewrite.family].apply(parts, rule.rewrite))

    for one in names:
        other = one.represented_by
        if uses_it(one.url) or (uses_it(other) and made_of(other) == made_of(one.url)):
            yield one


def listing(
    rules: Iterable[TrackedRule], *, everything: bool = False
) -> list[tuple[TrackedRule, int]]:
    """Return rules in the order in which people read them, each with how many are folded into it.

    A rule for a part of a site is folded into the rule that says the same for the whole site, if it
    has the same state or is a candidate.

    Args:
        rules: of any state.
        everything: fold none.
    """
    by_rewrite = {rule.rewrite: rule for rule in rules}
    folded: Counter[Rewrite] = Counter()
    listed: list[TrackedRule] = []
    for rewrite, rule in by_rewrite.items():
        whole = by_rewrite.get(replace(rewrite, below="/"), rule)
        if whole is rule or everything or rule.state not in {whole.state, "candidate"}:
            listed.append(rule)
        else:
            folded[whole.rewrite] += 1
    listed.sort(key=lambda one: (by_state(one), -one.suppressed, -one.agree, one.rewrite))
    return [(rule, folded[rule.rewrite]) for rule in listed]


def by_state(rule: TrackedRule) -> int:
    """Return the place of a rule's state in lists."""
    return STATE_ORDER.index(rule.state)
