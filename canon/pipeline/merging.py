"""Naming the rules that merge two spellings of one resource."""

from canonry.canon.errors import InvalidURL
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.pipeline.trace import merged_by


def merging_rules(canonicalizer: Canonicalizer, spelling: str, same_as: str) -> str:
    """Name the rules that give two spellings one identity.

    Returns:
        The names in the order of the table, joined by " + "; "" when both are spelled alike.
    """
    one, other = spelling, same_as
    names: tuple[str, ...] = ()
    if "fragment" in canonicalizer.policy.practice:  # a fragment's content merges nothing
        (one, _, here), (other, _, there) = one.partition("#"), other.partition("#")
        names = ("fragment",) if here != there else ()
    if one != other:
        try:
            names = (*merged_by(canonicalizer.explain(one), canonicalizer.explain(other)), *names)
        except InvalidURL:  # pragma: no cover - both were canonicalized before
            return ""
    return " + ".join(names)
