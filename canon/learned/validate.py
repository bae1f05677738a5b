"""Why a rule, or a set of rules, cannot be used."""

from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter

from canonry.canon.errors import InvalidURL
from canonry.canon.learned.families import FAMILIES
from canonry.canon.learned.family_fields import is_directory, is_host_name
from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.references.whatwg import serialize


def fault(rewrite: Rewrite) -> str | None:
    """Return what is wrong with a rewrite, as a sentence; None if it can be used."""
    family = FAMILIES.get(rewrite.family)
    if family is None:
        return f"there is no family {rewrite.family!r}; allowed: {', '.join(FAMILIES)}"
    if not is_host_name(rewrite.host) or not _is_canonical(rewrite.host):
        return "'host' has to be a host's name in lower case, of two labels or more, without port"
    if not is_directory(rewrite.below):
        return "'below' has to be a path that begins and ends with a slash"
    if rewrite.beside and rewrite.family != "parameter-irrelevant":
        return "'beside' is for the family parameter-irrelevant"
    if rewrite.but and not rewrite.subdomains:
        return "'but' is for rules with 'subdomains'"
    return family.check(rewrite)


def _is_canonical(host: str) -> bool:
    """Return True if a host name is spelled as canonical URLs spell it."""
    try:
        return serialize(f"http://{host}/") == f"http://{host}/"
    except InvalidURL:
        return False


def find_circle(rewrites: Iterable[Rewrite]) -> Rewrite | None:
    """Return a rewrite from which others lead back to itself, or None.

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
    """Return the rewrites that may change what a rewrite makes, without itself."""
    if FAMILIES[rewrite.family].moves_host:
        found = {o for o in by_host.get(rewrite.new, ()) if FAMILIES[o.family].moves_host}
    else:
        near = moving if rewrite.subdomains else by_host[rewrite.host]
        found = {
            o for o in near if not FAMILIES[o.family].moves_host and _overlap(rewrite.new, o.old)
        }
    return found - {rewrite}


def _overlap(one: str, other: str) -> bool:
    """Return True if a path may begin with both, ignoring case."""
    one, other = one.lower(), other.lower()
    return one.startswith(other) or other.startswith(one)
