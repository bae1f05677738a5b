"""The URLs that a rule holds: which they are, of those that any rule does."""

from collections.abc import Iterable, Iterator
from itertools import islice

from canonry.canon.learned import FAMILIES
from canonry.canon.pipeline import Rewritten
from canonry.canon.syntax import Parts
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.learned.held_names import HeldName
from canonry.storage.learned.tracked_rule import TrackedRule

_SOME = 32  # held URLs at once, at most, for which it is found what rules make of them


def held_by(
    rule: TrackedRule, names: Iterable[HeldName], in_force: RulesInForce
) -> Iterator[HeldName]:
    """Yield the held URLs by which a rule is tested: it makes them equal to others.

    Mostly one of the first will do, so at first it is one, and then more and more at once.
    """
    left, size = iter(names), 1
    while some := list(islice(left, size)):
        found = in_force.change_all_held([one.url for one in some])
        for one, made in zip(some, found, strict=True):
            if _uses(rule, made) or _changes_the_other(rule, one, in_force):
                yield one
        size = min(2 * size, _SOME)


def _changes_the_other(rule: TrackedRule, one: HeldName, in_force: RulesInForce) -> bool:
    """Return True if a rule makes a held name of the URL that represents it."""
    other = one.represented_by
    return _uses(rule, in_force.rewrite_held(other)) and (
        _made(rule, other, in_force) == _made(rule, one.url, in_force)
    )


def _made(rule: TrackedRule, url: str, in_force: RulesInForce) -> str:
    """Return what a rule makes of a URL if there is no other one."""
    parts = Parts.of(in_force.identity(url))
    return str(FAMILIES[rule.rewrite.family].apply(parts, rule.rewrite))


def _uses(rule: TrackedRule, made: Rewritten | None) -> bool:
    """Return True if a rule is one of those that changed a URL."""
    return made is not None and rule.id in made.rules
