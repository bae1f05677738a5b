"""Copies: directories that are nearly the same, and where they are likely to differ. Pure.

Two releases of a manual, or two branches of a repository, have many pages and differ in a few. So a
rule that makes one of them the other is nearly true, and a few random pages do not tell. But a page
that differs between any two of them has been changed, and may differ between these, too.
"""

from collections.abc import Container, Iterator, Sequence

from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.stances import FOR, Stance
from canonry.storage.learned.tracked_rule import TrackedRule

_FAMILY = "path-prefix"
_AUTHORITY = len("https://")  # it begins no later than here
_DEEPEST = 8  # segments of a directory's path
_DECIDED = FOR | {Stance.OTHER}


def is_of_copies(rule: TrackedRule) -> bool:
    """Return True if a rule makes one directory another because their pages are the same.

    Not if the site itself says so, by redirects or canonical links.
    """
    return rule.rewrite.family == _FAMILY and 2 * rule.moved < rule.agree


def likely_exceptions(site: KnownSite, rules: Sequence[TrackedRule]) -> dict[str, list[str]]:
    """Return by the id of each rule the URLs that it changes, and that may well contradict it.

    It is not known whether there are such URLs.

    Args:
        site: that the rules are about.
        rules: which make one directory another.
    """
    changed = _changed(site)
    found: dict[str, list[str]] = {}
    for rule in rules:
        tally = site.tallies.get(rule.rewrite)
        urls = [f"{origin}{rule.rewrite.old}{rest}" for origin, rest in changed]
        if tally is not None:
            urls = [url for url in urls if tally.stance(url) not in _DECIDED]
        found[rule.id] = urls
    return found


def _changed(site: KnownSite) -> list[tuple[str, str]]:
    """Return the pages that differ between directories of a site which have some in common.

    Each is what comes before its directory's path in a URL, and what comes after it.
    """
    copies = {
        directory
        for said, tally in site.tallies.items()
        if said.family == _FAMILY and tally.totals().agree
        for directory in (said.old, said.new)
    }
    contents: dict[tuple[str, str], set[bytes]] = {}
    for url, fact in site.known.facts.items():
        if fact.is_page:
            for page in _places(url, copies):
                contents.setdefault(page, set()).add(fact.sketch or fact.digest)
    return [page for page, different in contents.items() if len(different) > 1]


def _places(url: str, directories: Container[str]) -> Iterator[tuple[str, str]]:
    """Yield where a URL lies in some directories: what comes before their paths, and after."""
    start = end = url.find("/", _AUTHORITY)
    for _ in range(_DEEPEST):
        if end < 0:
            return
        if url[start : end + 1] in directories:
            yield url[:start], url[end + 1 :]
        end = url.find("/", end + 1)
