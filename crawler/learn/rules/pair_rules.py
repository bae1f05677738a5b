"""Differences: the rules that would make two URLs one, the smallest that do. Pure."""

from collections import Counter
from collections.abc import Iterator

from msgspec.structs import replace

from canonry.canon.learned import Rewrite, act, is_site, site_of
from canonry.canon.syntax import Parts, query
from canonry.crawler.learn.rules.infer import rewrites_between, rewrites_from

_MOST_NAMES = 6  # of parameters in which two URLs differ


def rules_between(one: Parts, other: Parts, *, led: bool = False) -> tuple[Rewrite, ...]:
    """Return the rules that together make two URLs one, each about one thing; () if none do.

    Args:
        one: an identity.
        other: another one.
        led: True if the first leads to the second by the site's own word; then that is the
            direction in which rules of hosts and paths change URLs.
    """
    site = site_of(one)
    if not (is_site(site) and is_site(site_of(other))) or one == other:
        return ()
    names = _differing(one, other)
    if len(names) > _MOST_NAMES:
        return ()
    found = tuple(
        Rewrite(site, "parameter-anywhere", old=name) for name in names if name and "&" not in name
    )
    if len(found) != len(names):
        return ()
    if found and _kept(one, names) == _kept(other, names):
        return found
    here, there = one, other
    for rewrite in found:
        here, there = act(rewrite, here), act(replace(rewrite, host=site_of(other)), there)
    rest = rewrites_from(here, there) if led else rewrites_between(here, there)
    return (*rest, *found) if rest else ()


def _kept(parts: Parts, names: list[str]) -> tuple[Parts, list[str]]:
    """Return what is left of a URL without some parameters."""
    fields = query.fields(parts.query) if parts.query else ()
    kept = [field for field in fields if query.name(field) not in names]
    return parts.with_query(None), kept


def _differing(one: Parts, other: Parts) -> list[str]:
    """Return the names of the parameters that two queries do not have with the same values."""
    if one.query == other.query:
        return []
    here, there = (
        Counter(query.fields(parts.query)) if parts.query else Counter[str]()
        for parts in (one, other)
    )
    return sorted({query.name(field) for field in (here - there) + (there - here)})


def opposite(rewrite: Rewrite) -> Rewrite:
    """Return the rule that undoes what a rule does; the rule itself if none does."""
    if rewrite.family == "www":
        return replace(rewrite, host=rewrite.new, new=rewrite.host)
    turned = {"slash": "bare", "bare": "slash"}.get(rewrite.new, "")
    return (
        replace(rewrite, new=turned) if rewrite.family == "trailing-slash" and turned else rewrite
    )


def sections_of(path: str) -> Iterator[str]:
    """Yield the part of a site to which a path belongs: its first directory, and the whole."""
    yield "/"
    end = path.find("/", 1)
    if end > 0:
        yield path[: end + 1]
