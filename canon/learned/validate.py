"""Why a rule, or a set of rules, cannot be used."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from canonry.canon.learned.families import FAMILIES
from canonry.canon.learned.family_fields import is_directory
from canonry.canon.learned.rewrite import Rewrite, is_host_name, is_site

WITH_NAMES = tuple(
    name for name, row in FAMILIES.items() if row.removes and row.removes.left == "beside"
)


def fault(rewrite: Rewrite) -> str | None:
    """Return what is wrong with a rewrite, as a sentence; None if it can be used."""
    family = FAMILIES.get(rewrite.family)
    if family is None:
        return f"there is no family {rewrite.family!r}; allowed: {', '.join(FAMILIES)}"
    needs_name = family.named or rewrite.subdomains
    return _fault_of_common_fields(rewrite, needs_name=needs_name) or family.check(rewrite)


def _fault_of_common_fields(rewrite: Rewrite, *, needs_name: bool) -> str | None:
    """Return what is wrong with the fields that all families have."""
    if needs_name and not is_host_name(rewrite.host):
        return "here 'host' has to be a name in lower case, of two labels or more, without port"
    if not is_site(rewrite.host):
        return "'host' has to be a host in lower case; with its port, if that is no default port"
    if not is_directory(rewrite.below):
        return "'below' has to be a path that begins and ends with a slash"
    if rewrite.beside and rewrite.family not in WITH_NAMES:
        return f"'beside' is for the families {', '.join(WITH_NAMES)}"
    if rewrite.but and not rewrite.subdomains:
        return "'but' is for rules with 'subdomains'"
    return None


def find_circle(rewrites: Iterable[Rewrite]) -> Rewrite | None:
    """Return a rewrite that leads back to itself through others, or None.

    Only families that move hosts or prefixes can form a circle. One rewrite may follow another if
    its input may be the other's result. This is decided from the fields alone, so a few harmless
    sets are refused as well.
    """
    moving = [rewrite for rewrite in rewrites if FAMILIES[rewrite.family].can_chain]
    by_host: dict[str, list[Rewrite]] = {}
    for rewrite in moving:
        by_host.setdefault(rewrite.host, []).append(rewrite)
    after = {rewrite: _following(rewrite, moving, by_host) for rewrite in moving}
    try:
        TopologicalSorter(after).prepare()
    except CycleError as error:
        first: Rewrite = error.args[1][0]
        return first
    return None


def _following(
    rewrite: Rewrite, moving: list[Rewrite], by_host: Mapping[str, list[Rewrite]]
) -> set[Rewrite]:
    """Return the other rewrites that may change the result of a rewrite."""
    if FAMILIES[rewrite.family].moves_host:
        following = {o for o in by_host.get(rewrite.new, ()) if FAMILIES[o.family].moves_host}
    else:
        near = moving if rewrite.subdomains else by_host[rewrite.host]
        following = {
            o for o in near if not FAMILIES[o.family].moves_host and _overlap(rewrite.new, o.old)
        }
    return following - {rewrite}


def _overlap(one: str, other: str) -> bool:
    """Return True if a path may begin with both, ignoring case."""
    one, other = one.lower(), other.lower()
    return one.startswith(other) or other.startswith(one)
