"""Learned rules for people: those that merged two URLs, what a rule holds, and lists of rules."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from msgspec.structs import replace
from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import FAMILIES, Rewrite, RuleState, describe
from canonry.canon.pipeline import Rewritten
from canonry.canon.syntax import Parts
from canonry.crawler.inquiry.last_crawl import last_crawl, policy_of
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.plurals import agreement
from canonry.storage.learned import rule_rows
from canonry.storage.learned.host_urls import HeldName
from canonry.storage.learned.rule_rows import IN_FORCE, TrackedRule

_SOME = 32  # held URLs that rules are applied to in one call, at most
# The order of lists: rules that act first, candidates last.
STATE_ORDER: tuple[RuleState, ...] = (
    "active",
    "suspended",
    "revoked",
    "candidate",
)
_HARMLESS = frozenset({"candidate"})  # suppress nothing, and nothing went wrong


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
    """Yield the held URLs that a rule makes equal to others: these can test it.

    Callers mostly need one of the first, so the first group is one URL, and later ones grow.
    """
    left, size = iter(names), 1
    while some := list(islice(left, size)):
        found = in_force.change_all_held([one.url for one in some])
        for one, made in zip(some, found, strict=True):
            if _uses(rule, made) or _changes_the_other(rule, one, in_force):
                yield one
        size = min(2 * size, _SOME)


def _changes_the_other(rule: TrackedRule, one: HeldName, in_force: RulesInForce) -> bool:
    """Return True if a rule changes what represents a held URL, and makes the two equal."""
    other = one.represented_by
    return _uses(rule, in_force.rewrite_held(other)) and (
        _made(rule, other, in_force) == _made(rule, one.url, in_force)
    )


def _made(rule: TrackedRule, url: str, in_force: RulesInForce) -> str:
    """Return what a rule alone makes of a URL."""
    parts = Parts.of(in_force.identity(url))
    return str(FAMILIES[rule.rewrite.family].apply(parts, rule.rewrite))


def _uses(rule: TrackedRule, made: Rewritten | None) -> bool:
    """Return True if a rule is one of those that changed a URL."""
    return made is not None and rule.id in made.rules


class ListedRule(NamedTuple):
    """A rule in a list, and how many rules for parts of its site were folded into it."""

    rule: TrackedRule
    folded: int


def listing(rules: Iterable[TrackedRule], *, everything: bool = False) -> list[ListedRule]:
    """Return rules in the order in which people read them.

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
        whole = by_rewrite.get(replace(rewrite, below="/"))
        same = whole is not None and rule.state in {whole.state, *_HARMLESS}
        if whole is None or whole is rule or everything or not same:
            listed.append(rule)
        else:
            folded[whole.rewrite] += 1
    listed.sort(
        key=lambda rule: (
            STATE_ORDER.index(rule.state),
            -rule.suppressed,
            -rule.agree,
            rule.rewrite,
        )
    )
    return [ListedRule(rule, folded[rule.rewrite]) for rule in listed]
