"""Which rules people see in a list, and in which order: what matters first, the rest folded."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from msgspec.structs import replace

from canonry.canon.learned import Rewrite, RuleState
from canonry.storage.learned.tracked_rule import TrackedRule

# What spares fetches now, what may do so next, and what people should not try again.
STATE_ORDER: tuple[RuleState, ...] = (
    "active",
    "suspended",
    "revoked",
    "candidate",
)
_HARMLESS = frozenset({"candidate"})  # spare nothing, and nothing went wrong


class ListedRule(NamedTuple):
    """A rule in a list, and how many rules for parts of its site were folded into it."""

    rule: TrackedRule
    folded: int


def listing(rules: Iterable[TrackedRule], *, everything: bool = False) -> list[ListedRule]:
    """Return rules in the order in which people read them.

    A rule for a part of a site is folded into the rule that says the same for the whole site,
    unless its state tells something else.

    Args:
        rules: of any state.
        everything: fold none.
    """
    by_rewrite = {rule.rewrite: rule for rule in rules}
    folded: Counter[Rewrite] = Counter()
    shown: list[TrackedRule] = []
    for rewrite, rule in by_rewrite.items():
        whole = by_rewrite.get(replace(rewrite, below="/"))
        same = whole is not None and rule.state in {whole.state, *_HARMLESS}
        if whole is None or whole is rule or everything or not same:
            shown.append(rule)
        else:
            folded[whole.rewrite] += 1
    shown.sort(
        key=lambda rule: (STATE_ORDER.index(rule.state), -rule.spared, -rule.agree, rule.rewrite)
    )
    return [ListedRule(rule, folded[rule.rewrite]) for rule in shown]
