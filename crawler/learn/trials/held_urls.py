"""The URLs that a rule holds: which they are, and how they are released to be asked."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

from canonry.canon.learned import FAMILIES, without_port
from canonry.canon.syntax import Parts
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.storage.learned import rule_rows
from canonry.storage.learned.classes import Rewritten, release
from canonry.storage.learned.held_names import HeldName, held_for, held_near, largest_first
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.seen.key_rows import rows_of_keys

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


def held_at(
    place: float,
    occasion: Occasion,
    rule: TrackedRule,
    suits: Callable[[HeldName], bool] = lambda _one: True,
    since: int = 0,
    *,
    largest: bool = False,
) -> HeldName | None:
    """Return a URL that suits and that a rule holds, near a place.

    Args:
        place: among the URLs of the host, from 0 to 1.
        occasion: at which it is asked.
        rule: it.
        suits: tells whether a URL will do.
        since: the row after which the URLs of the host count.
        largest: take the one whose page is the largest there.
    """
    host = without_port(occasion.site if rule.rewrite.subdomains else rule.rewrite.host)
    names: Iterable[HeldName] = filter(suits, held_near(occasion.connection, host, place, since))
    if largest:
        names = largest_first(occasion.connection, names)
    return next(held_by(rule, names, occasion.in_force), None)


def release_with_others(occasion: Occasion, names: Mapping[HeldName, TrackedRule]) -> list[int]:
    """Release held names, and others that are needed to compare them; return the rows.

    Where several rules in turn make a name what represents it, each of them is tested by what it
    makes of what the one before it has made. That is held as well.

    And a URL is only compared with those that differ from it in what a rule changes. What
    represents it may differ in more: where all links to a page have one of two parameters, nobody
    knows it without. Then one more of its names is released.

    Args:
        occasion: at which that is due.
        names: each with the rule that is tested.
    """
    connection, in_force = occasion.connection, occasion.in_force
    beside = (_beside(occasion, one, rule) for one, rule in names.items())
    given = [*names, *(one for one in beside if one is not None)]
    rows = {one.row: None for one in given}
    keys = [key for one in given for key in in_force.keys_on_the_way(one.url)]
    rows |= dict.fromkeys(rows_of_keys(connection, keys).values())
    released = release(connection, rows) if rows else []
    count_as_asked(occasion, given, released)
    return released


def count_as_asked(
    occasion: Occasion, names: Iterable[HeldName], released: Collection[int]
) -> None:
    """Count for the rules that held some URLs that they do not spare those which were released.

    If no rule changes a URL, it was held by those that change what represents it.
    """
    rows, asked = set(released), Counter[str]()
    for one in names:
        if one.row in rows:
            both = map(occasion.in_force.rewrite_held, (one.url, one.represented_by))
            used = (made.rules for made in both if made is not None and made.rules)
            asked.subtract(next(used, ()))
    rule_rows.add_spared(occasion.connection, asked)


def release_in_pairs(occasion: Occasion, names: Mapping[HeldName, TrackedRule]) -> list[int]:
    """Do as `release_with_others`; return the rows, also of what represents the names."""
    released = release_with_others(occasion, names)
    known = set(released)
    return released + [one.representative for one in names if one.row in known]


def _beside(occasion: Occasion, one: HeldName, rule: TrackedRule) -> HeldName | None:
    """Return a held name with which another is compared, if nothing else of its page will do."""
    connection, in_force = occasion.connection, occasion.in_force
    made = _made(rule, one.url, in_force)
    if _made(rule, one.represented_by, in_force) == made:
        return None
    if rows_of_keys(connection, in_force.keys_of([made])):
        return None
    others = held_for(connection, one.representative)
    alike = [other for other in others if other != one and _made(rule, other.url, in_force) == made]
    # The next one, not always the first: that may be the usual value, and many are the same as it.
    return min(alike, key=lambda other: (other.row < one.row, other.row), default=None)


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
