"""Copies: directories that are nearly the same, and where they are likely to differ. Pure.

Two releases of a manual, or two branches of a repository, have many pages and differ in a few. So a
rule that makes one of them the other is nearly true, and a few random pages do not tell. But a page
that differs between any two of them has been changed, and may differ between these, too.
"""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from canonry.crawler.content.sketch import Sketch
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.life.lifecycle import lower_bound
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.tallies.stances import DECIDED, FOR
from canonry.storage.learned.tracked_rule import TrackedRule

_FAMILY = "path-prefix"
_AUTHORITY = len("https://")  # it begins no later than here
_NEAR = 0.25  # the share of their common pages in which two copies differ, at most
_TESTED = 5  # pages that differ between other copies, and not between two
_DEEPEST = 8  # segments of a directory's path
_Name: TypeAlias = tuple[str, str]  # what comes before a directory's path in a URL, and after it


class _Page(NamedTuple):
    """What a page says: all of it, and its words without the numbers."""

    everything: bytes
    words: int | bytes


_Pages: TypeAlias = dict[_Name, _Page]  # of a directory


def of_copies(site: KnownSite, rules: Iterable[TrackedRule]) -> list[TrackedRule]:
    """Return the rules that make one directory another, and whose pages are mostly the same.

    Not those of which only redirects or canonical links say so. And not a single one that only
    drops the last segments of a directory, as of ``/index.php/``: that is an alias.
    """
    found = [rule for rule in rules if rule.rewrite.family == _FAMILY and _are_same(site, rule)]
    is_alias = len(found) == 1 and found[0].rewrite.old.startswith(found[0].rewrite.new)
    return [] if is_alias else found


def _are_same(site: KnownSite, rule: TrackedRule) -> bool:
    """Return True if content speaks for most of what a rule says, alone or beside links."""
    tally = site.tallies.get(rule.rewrite)
    if tally is None:
        return 2 * rule.moved < rule.agree
    return 2 * tally.worded_alike > tally.totals().agree


def differ_elsewhere(site: KnownSite, rule: TrackedRule, needed: float) -> bool:
    """Return True if a rule makes one directory another, and other copies of these differ.

    A page that differs between two copies may differ between any two. So where the rules about
    such copies have exceptions, a rule without any has only not met its own; unless these very
    pages are the same in its two directories, as where one is the latest release of the others.

    Args:
        site: the rule's.
        rule: of any family.
        needed: the bound that the evidence of all these rules must reach, if any contradicts them.
    """
    tally = site.tallies.get(rule.rewrite)
    if rule.rewrite.family != _FAMILY or tally is None or not _are_same(site, rule):
        return False
    own = {rule.rewrite.old, rule.rewrite.new}
    copies = [
        other
        for other in site.rules.values()
        if other.rewrite.family == _FAMILY
        and not own.isdisjoint((other.rewrite.old, other.rewrite.new))
        and other.disagree <= other.agree
        and _are_same(site, other)
    ]
    disagree = sum(other.disagree for other in copies)
    if disagree == rule.disagree:
        return False
    if lower_bound(sum(other.agree for other in copies), disagree) >= needed:
        return False
    changed = {name for other in copies for name in _contrary(site, other)}
    old = rule.rewrite.old
    tested = sum(tally.stance(f"{origin}{old}{rest}") in FOR for origin, rest in changed)
    return tested < _TESTED


def _contrary(site: KnownSite, rule: TrackedRule) -> Iterator[_Name]:
    """Yield the names of the pages that speak against a rule about a directory."""
    tally = site.tallies.get(rule.rewrite)
    for url in () if tally is None else tally.contrary():
        for _directory, name in _places(url, {rule.rewrite.old}):
            yield name


def likely_exceptions(site: KnownSite, rules: Sequence[TrackedRule]) -> dict[str, list[str]]:
    """Return by the id of each rule the URLs of its directories that may well contradict it.

    Of a page that was fetched in one, the name in the other is held. These are the names of pages
    that differ between one of the rule's directories and another copy. First come those that
    differ from the copy which is most like what the rule makes of its directory. It is not known
    whether there are such URLs.

    Args:
        site: that the rules are about.
        rules: which make one directory another.
    """
    copies = _copies(site)
    found: dict[str, list[str]] = {}
    for rule in rules:
        old, new = rule.rewrite.old, rule.rewrite.new
        names = dict.fromkeys([*_changed(copies, new, but=old), *_changed(copies, old, but=new)])
        tally = site.tallies.get(rule.rewrite)
        found[rule.id] = [
            f"{origin}{directory}{rest}"
            for origin, rest in names
            if tally is None or tally.stance(f"{origin}{old}{rest}") not in DECIDED
            for directory in (old, new)
        ]
    return found


def _copies(site: KnownSite) -> dict[str, _Pages]:
    """Return what is known of the directories of a site that have some pages in common."""
    found: dict[str, _Pages] = {
        directory: {}
        for said, tally in site.tallies.items()
        if said.family == _FAMILY and tally.totals().agree
        for directory in (said.old, said.new)
    }
    for url, fact in site.known.facts.items():
        if fact.is_page:
            for directory, name in _places(url, found):
                found[directory][name] = _page(fact)
    return found


def _page(fact: Fact) -> _Page:
    """Return what a page says."""
    if fact.sketch is None:
        return _Page(fact.digest, fact.digest)
    return _Page(fact.sketch, Sketch.decode(fact.sketch).text)


def _changed(copies: Mapping[str, _Pages], directory: str, but: str) -> list[_Name]:
    """Return the names of pages that differ between a directory and its copies, but for one.

    What differs from the most similar copy comes first. Where the numbers of most pages differ, as
    where each shows its release, only words count. Where those of many do, it is another work.
    """
    own = copies.get(directory, {})
    each: list[tuple[float, str, list[_Name]]] = []
    for other, pages in copies.items():
        common = [name for name in own if name in pages] if other not in {directory, but} else []
        differing = [name for name in common if own[name].everything != pages[name].everything]
        if len(differing) >= _NEAR * len(common):
            differing = [name for name in common if own[name].words != pages[name].words]
        if 0 < len(differing) < _NEAR * len(common):
            each.append((len(differing) / len(common), other, differing))
    return [name for _share, _other, names in sorted(each) for name in names]


def _places(url: str, directories: Container[str]) -> Iterator[tuple[str, _Name]]:
    """Yield in which of some directories a URL lies, with its name in each."""
    start = end = url.find("/", _AUTHORITY)
    for _ in range(_DEEPEST):
        if end < 0:
            return
        if url[start : end + 1] in directories:
            yield url[start : end + 1], (url[:start], url[end + 1 :])
        end = url.find("/", end + 1)
