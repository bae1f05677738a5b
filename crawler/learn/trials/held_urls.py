"""The URLs that a rule holds: which they are, and how they are released to be asked."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

from canonry.canon.learned import without_port
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.storage.learned.classes import Rewritten, release
from canonry.storage.learned.held_names import HeldName, held_near
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.seen.key_rows import rows_of_keys

_SOME = 32  # held URLs at once, at most, for which it is found what rules make of them
_TRIED = 3  # rules, if one holds nothing at the place that is looked at


def held_by(
    rule: TrackedRule, names: Iterable[HeldName], in_force: RulesInForce
) -> Iterator[HeldName]:
    """Yield the held URLs that a rule makes equal to those which represent them.

    Mostly one of the first will do, so at first it is one, and then more and more at once.
    """
    left, size = iter(names), 1
    while some := list(islice(left, size)):
        found = in_force.change_all_held([one.url for one in some])
        for one, made in zip(some, found, strict=True):
            if _uses(rule, made) or _uses(rule, in_force.rewrite_held(one.represented_by)):
                yield one
        size = min(2 * size, _SOME)


def held_at(
    place: float,
    occasion: Occasion,
    rules: Sequence[TrackedRule],
    suits: Callable[[HeldName], bool] = lambda _one: True,
) -> HeldName | None:
    """Return a URL that suits and that one of the first of some rules holds, near a place.

    Args:
        place: among the URLs of the host, from 0 to 1.
        occasion: at which it is asked.
        rules: the first few are tried.
        suits: tells whether a URL will do.
    """
    for rule in rules[:_TRIED]:
        host = without_port(occasion.site if rule.rewrite.subdomains else rule.rewrite.host)
        names = filter(suits, held_near(occasion.connection, host, place))
        one = next(held_by(rule, names, occasion.in_force), None)
        if one is not None:
            return one
    return None


def release_on_the_way(occasion: Occasion, names: Iterable[HeldName]) -> list[int]:
    """Release held names, and those between them and what represents them; return the rows.

    Where several rules in turn make a name what represents it, each of them is tested by what it
    makes of what the one before it has made. That is held as well.
    """
    connection, in_force = occasion.connection, occasion.in_force
    rows = {one.row: None for one in names}
    keys = [key for one in names for key in in_force.keys_on_the_way(one.url)]
    rows |= dict.fromkeys(rows_of_keys(connection, keys).values())
    return release(connection, rows) if rows else []


def release_in_pairs(occasion: Occasion, names: Collection[HeldName]) -> list[int]:
    """Do as `release_on_the_way`; return the rows, also of what represents the names."""
    released = release_on_the_way(occasion, names)
    known = set(released)
    return released + [one.representative for one in names if one.row in known]


def _uses(rule: TrackedRule, made: Rewritten | None) -> bool:
    """Return True if a rule is one of those that changed a URL."""
    return made is not None and rule.id in made.rules
