"""Pairs: pages that may be others or not, and are asked again until it is known. Pure.

What changes by itself is gone in the next answer; what a URL selects stays. So a page in doubt and
the one that it was compared with are both asked again.
"""

from collections.abc import Iterator, Sequence
from heapq import nlargest

from canonry.crawler.content.differences import Difference
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.memory.site_facts import Fact, reference_of
from canonry.crawler.learn.memory.tally import RuleTally
from canonry.storage.learned.tracked_rule import TrackedRule

_AT_ONCE = 2  # pairs
_FOR_ONE = 4  # pairs for one rule
_MOST = 10  # ... if pages in doubt keep it back
_LATER = 8  # pages in doubt, for each further pair of an active one
_OF_SITE = 16  # pairs for all rules of a site ...
_SHARE = 32  # ... and one more for so many answers
_TIMES = 5  # that a page is read
_NEARLY = 16  # paths
_LARGE = 64  # answers


def is_nearly_proven(rule: TrackedRule) -> bool:
    """Return True if a rule is on probation, and many paths agree."""
    return rule.state == "probation" and rule.agree >= _NEARLY


def more_if_large(site: KnownSite) -> int:
    """Return how many more pages of a large site may be asked twice than of a small one."""
    return (site.answers // _LARGE).bit_length()


def to_tell_apart(site: KnownSite, doubtful: Sequence[RuleTally]) -> list[str]:
    """Return pages in doubt that differ most, each with the one that it was compared with.

    Those come first in which something differs that was never seen to change. As pages are chosen
    by how much they differ, they do not tell how much changes by itself. Those that seem to be
    others are asked again.

    Args:
        site: the pages'.
        doubtful: the rules with many pages in doubt; if there are none, those that are nearly
            proven or active, and have some.
    """
    if not site.known.text.is_measured:
        return []
    again = [pair for pair in site.pairs if _may_be_apart(site, *pair)]
    ready = [pair for pair in again if site.repeated[pair[0]] and site.repeated[pair[1]]]
    left = _OF_SITE + site.answers // _SHARE - len(site.apart) // 2
    kept_back = [
        tally
        for tally in (doubtful or _to_be_sure_of(site) if left > 0 else ())
        if tally.pairs < _most_pairs(site, tally, steady=True)
    ]
    in_doubt = {found for tally in kept_back for found in _in_doubt(site, tally)}
    new = [(url, other) for _steady, _difference, url, other in nlargest(_AT_ONCE, in_doubt)]
    for tally in kept_back:
        if its := sum(url in tally.results for url, _other in new):
            tally.doubts.clear()
            tally.pairs += its
    site.pairs = again + new
    site.apart.update(url for pair in new for url in pair)
    return [url for pair in (*ready, *new) for url in pair]


def _in_doubt(site: KnownSite, tally: RuleTally) -> Iterator[tuple[int, Difference, str, str]]:
    """Yield the pages in doubt that may be asked again for a rule's sake.

    Each comes with how much of it differs that was never seen to change, how much in all, its URL,
    and that of the page with which it was compared.
    """
    for url in tally.that_are_open():
        other = _compared_with(site, tally, url)
        if other is None or not site.repeated.keys().isdisjoint((url, other.url)):
            continue
        steady = site.known.compare(site.known.facts[url], other).steady
        if tally.pairs < _most_pairs(site, tally, steady=steady > 0):
            yield steady, tally.compared.of(url), url, other.url


def _to_be_sure_of(site: KnownSite) -> list[RuleTally]:
    """Return the rules that are nearly proven, or active, with some pages in doubt.

    Of those that are nearly proven, pages are asked again once.
    """
    found = []
    for tally in site.tallies.values():
        rule = site.rules.get(tally.rewrite)
        if rule is None:
            continue
        is_new = not tally.pairs and tally.undecided >= _AT_ONCE and is_nearly_proven(rule)
        if is_new or (rule.state == "active" and tally.undecided):
            found.append(tally)
    return found


def _may_be_apart(site: KnownSite, url: str, other: str) -> bool:
    """Return True if two pages that were asked again may be others, and more answers will tell."""
    one, two = site.known.facts.get(url), site.known.facts.get(other)
    if one is None or two is None or site.known.times_read(url) >= _TIMES:
        return False
    if not (site.repeated[url] and site.repeated[other]):
        return True  # one has not answered yet
    found = site.known.compare(one, two)
    return found.same is None and found.apart is None


def _most_pairs(site: KnownSite, tally: RuleTally, *, steady: bool) -> int:
    """Return how many pairs of pages are asked again for the sake of a rule.

    They are more if something differs that was never seen to change, or if those in doubt are
    many. While the rule acts, some of those are asked again that come to be in doubt.

    Args:
        site: the rule's.
        tally: the rule's.
        steady: True if something differs between the next two pages that was never seen to change.
    """
    rule = site.rules.get(tally.rewrite)
    if rule is None or not (rule.state == "active" or is_nearly_proven(rule)):
        return 0
    are_many = 2 * tally.undecided > tally.totals().agree
    later = tally.undecided // _LATER if rule.state == "active" else 0
    return (_MOST if steady or are_many else _FOR_ONE) + later


def _compared_with(site: KnownSite, tally: RuleTally, url: str) -> Fact | None:
    """Return the page with which a URL's was compared, unless a redirect led there."""
    facts, result = site.known.facts, tally.results[url]
    other = facts.get(result)
    if other is None:
        other = reference_of(map(facts.get, tally.members.get(result, ())))
    return other if other is not None and other.is_page and other.url != url else None
