"""The names of the rules that merge two spellings of one URL."""

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from canonry.canon.errors import InvalidURL
from canonry.canon.learned.families import FAMILIES
from canonry.canon.pipeline.canonical import Trace, changed_part
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.native import named
from canonry.canon.rules.repair import REPAIRS, URL_STANDARD
from canonry.canon.rules.rule import Rule
from canonry.canon.rules.table import STEPS

_Text = TypeVar("_Text", str, bytes)

# Every rule that may have merged two spellings, by its name.
RULES: Mapping[str, Rule] = {
    rule.name: rule for rule in (*REPAIRS, URL_STANDARD, *STEPS, *FAMILIES.values())
}


def merging_rules(canonicalizer: Canonicalizer, spelling: str, same_as: str) -> str:
    """Return the rules that give two spellings one identity.

    Returns:
        The names in the order of the table, joined by " + "; "" if the spellings are equal.
    """
    known = kernels_rules(canonicalizer, [spelling], [same_as])[0]
    return traced_rules(canonicalizer, spelling, same_as) if known is None else known


def kernels_rules(
    canonicalizer: Canonicalizer, spellings: list[_Text], same_as: list[_Text | None]
) -> list[str | None]:
    """Return the rules that give each spelling the identity of another, if the kernel knows them.

    The kernel takes about a microsecond for each; two traces take ninety.

    Args:
        canonicalizer: makes the identities.
        spellings: some texts.
        same_as: for each, another spelling with the same identity; None: the identity itself.

    Returns:
        For each, what `merging_rules` returns, or None if the kernel cannot tell.
    """
    kernel = canonicalizer.without_rules.native
    if kernel is None:
        return [None] * len(spellings)
    rule_names = [
        rules_named(rules) for rules in memoryview(kernel.merging(spellings, same_as)).cast("i")
    ]
    if canonicalizer.rules is None:
        return rule_names
    # Learned rules change equal identities in the same way, so they have merged nothing.
    ends = zip(kernel.identities(spellings), kernel.identities(same_as), strict=True)
    return [
        names if one is not None and one == other else None
        for names, (one, other) in zip(rule_names, ends, strict=True)
    ]


@cache
def rules_named(rules: int) -> str | None:
    """Return the names of rules that the kernel has as bits, in the order of the table.

    None if it has -1, as it does not know them.
    """
    if rules < 0:
        return None
    found = named(rules)
    return " + ".join(name for name in RULES if name in found)


def traced_rules(canonicalizer: Canonicalizer, spelling: str, same_as: str) -> str:
    """Do what `merging_rules` does, by two traces: its oracle in the tests."""
    text, other = spelling, same_as
    names: tuple[str, ...] = ()
    if "fragment" in canonicalizer.policy.practice:  # other changes in it do not count
        (text, _, here), (other, _, there) = text.partition("#"), other.partition("#")
        names = ("fragment",) if here != there else ()
    if text != other:
        try:
            names = (*merged_by(canonicalizer.explain(text), canonicalizer.explain(other)), *names)
        except InvalidURL:  # pragma: no cover - both were canonicalized before
            return ""
    return " + ".join(names)


def merged_by(one: Trace, other: Trace) -> tuple[str, ...]:
    """Return the rules that made two spellings of one identity equal, in the order of the table.

    These are the rules that changed one spelling in a way in which they did not change the other.
    Resolution does not count: it depends on where a link was found, not on its spelling.

    Returns:
        The names of the rules; empty if the spellings are equal.
    """
    changes = [{(s.name, *changed_part(s.before, s.after)) for s in t.steps} for t in (one, other)]
    named = {name for name, _before, _after in changes[0] ^ changes[1]} - {"resolve"}
    return tuple(name for name in RULES if name in named)
