"""Pairs: pages that may be others or not, and are asked again until it is known. Pure.

What changes by itself is gone in the next answer; what a URL selects stays. So a page in doubt and
the one that it was compared with are both asked again.
"""

from collections.abc import Iterable, Iterator, Sequence
from heapq import nlargest
from itertools import islice
from typing import NamedTuple, TypeGuard

from canonry.crawler.content.differences import Difference
from canonry.crawler.learn.knowledge.read_pages import MOST_ANSWERS
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.tracked_rule import TrackedRule

_AT_ONCE = 2  # pairs
_FOR_ONE = 4  # pairs for one rule
_MOST = 10  # ... if pages in doubt keep it back
_MOST_READ = 16  # ... if only pages speak for it that were read: of some paths there are several
_EACH = 4  # pages, for each of these pairs
_LATER = 8  # pages in doubt, for each further pair of an active one
_TO_BE_SURE = 2  # pairs for one rule, if no page is in doubt
_SELDOM = 256  # answers, for each further one of an active rule, ...
_ENOUGH = 8  # ... and for each pair of a site beyond so many
_LATEST = 64  # pages that are looked at for that
_OF_SITE = 16  # pairs for all rules of a site ...
_SHARE = 32  # ... and one more for so many answers
_NEARLY = 16  # paths


def is_nearly_proven(rule: TrackedRule) -> bool:
    """Return True if a rule is on probation, and many paths agree."""
    return rule.state == "probation" and rule.agree >= _NEARLY


def to_tell_apart(site: KnownSite, doubtful: Sequence[RuleTally]) -> list[str]:
    """Return pages to ask again and to read, each with the one that it was compared with.

    Those come first in which something differs that was never seen to change, then those in doubt,
    and of these the ones that differ most. As pages are chosen by how much they differ, they do not
    tell how much changes by itself. Those that seem to be others are asked again.

    Args:
        site: the pages'.
        doubtful: the rules with many pages in doubt; if there are none, those that are nearly
            proven, or active.
    """
    if not site.known.text.is_measured:
        return []
    again = [pair for pair in site.pairs if _may_be_apart(site, *pair)]
    ready = [pair for pair in again if site.repeated[pair[0]] and site.repeated[pair[1]]]
    read_on = [tally for tally in site.tallies.values() if _is_read_on(site, tally)]
    for tally in read_on:
        tally.acting = tally.acting or (tally.pairs, _met(tally))
    left = _OF_SITE + site.answers // _SHARE - len(site.apart) // 2 + sum(map(_later, read_on))
    others = (doubtful or _to_be_sure_of(site)) if left > 0 else []
    others = [tally for tally in others if not _is_read_on(site, tally)]
    found = {pair for tally in read_on for pair in _latest(site, tally)}
    found |= {pair for tally in others for pair in (*_in_doubt(site, tally), *_same(site, tally))}
    new = [(pair.url, pair.other) for pair in nlargest(_AT_ONCE, found)]
    for tally in (*read_on, *others):
        if its := sum(url in tally.results for url, _other in new):
            tally.doubts.clear()
            tally.pairs += its
    site.pairs = again + new
    site.apart.update(url for pair in new for url in pair)
    return [url for pair in (*ready, *new) for url in pair]


class _Pair(NamedTuple):
    """Two pages that may be read; the larger one is asked first."""

    steady: int  # how much differs that was never seen to change
    in_doubt: bool  # True if it is not known whether they are the same
    difference: Difference
    url: str
    other: str


def _in_doubt(site: KnownSite, tally: RuleTally) -> Iterator[_Pair]:
    """Yield the pages in doubt that may be read for a rule's sake."""
    most, most_if_steady = (_most_pairs(site, tally, steady=steady) for steady in (False, True))
    if tally.pairs >= most_if_steady:
        return
    for page, other in _unasked(site, tally, tally.that_are_open()):
        steady = site.known.compare(page, other).steady
        if steady or tally.pairs < most:
            difference = tally.compared.of(page.url)
            yield _Pair(steady, in_doubt=True, difference=difference, url=page.url, other=other.url)


def _same(site: KnownSite, tally: RuleTally) -> Iterator[_Pair]:
    """Yield pages that seem the same, since all that differs stands where something changes.

    What selects may stand there, too: no sketch tells a price from the prices of a teaser.
    """
    if tally.pairs >= _most_to_be_sure(site, tally):
        return
    for page, other in _unasked(site, tally, tally.that_are_the_same()[-_LATEST:]):
        if page.sketch != other.sketch:
            difference = tally.compared.of(page.url)
            yield _Pair(0, in_doubt=False, difference=difference, url=page.url, other=other.url)


def _latest(site: KnownSite, tally: RuleTally) -> Iterator[_Pair]:
    """Yield the latest pages that may be read for a rule which acts, and rests on reading.

    What was met first is read already.
    """
    if tally.pairs >= _most_later(tally):
        return
    urls = reversed(tally.that_may_be_read())
    for page, other in islice(_unasked(site, tally, urls), _AT_ONCE):
        steady, difference = site.known.compare(page, other).steady, tally.compared.of(page.url)
        yield _Pair(steady, in_doubt=True, difference=difference, url=page.url, other=other.url)


def _unasked(site: KnownSite, tally: RuleTally, urls: Iterable[str]) -> Iterator[tuple[Fact, Fact]]:
    """Yield the pages at some URLs, each with that which it was compared with.

    Those are left out of which one was read already, or is not text; and of pages whose names lead
    to one, all but one.
    """
    results: set[str] = set()
    for url in urls:
        page, other = site.known.facts.get(url), site.compared_with(tally, url)
        if page is None or other is None or page.sketch is None or other.sketch is None:
            continue
        result = tally.results[url]
        if site.apart.isdisjoint((url, other.url)) and result not in results:
            results.add(result)
            yield page, other


def _to_be_sure_of(site: KnownSite) -> list[RuleTally]:
    """Return the rules that are nearly proven, or active, of which some pages are to be read.

    Of those that are nearly proven, pages in doubt are read once.
    """
    found = []
    for tally in site.tallies.values():
        rule = site.rules.get(tally.rewrite)
        if rule is None:
            continue
        is_new = not tally.pairs and tally.undecided >= _AT_ONCE and is_nearly_proven(rule)
        is_open = is_new or (rule.state == "active" and tally.undecided)
        if is_open or tally.pairs < _most_to_be_sure(site, tally):
            found.append(tally)
    return found


def _may_be_apart(site: KnownSite, url: str, other: str) -> bool:
    """Return True if two pages that were asked again may be others, and more answers will tell."""
    one, two = site.known.facts.get(url), site.known.facts.get(other)
    if one is None or two is None or site.known.read.times(url) >= MOST_ANSWERS:
        return False
    if not (site.repeated[url] and site.repeated[other]):
        return True  # one has not answered yet
    return site.known.apart(url, other) is None and site.known.is_same(one, two) is not False


def _is_worth_pairs(rule: TrackedRule | None) -> TypeGuard[TrackedRule]:
    """Return True if pages are read for the sake of a rule: it acts, or soon will."""
    return rule is not None and (rule.state == "active" or is_nearly_proven(rule))


def _is_read_on(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if a rule acts that rests on pages that were read: others are read as well."""
    rule = site.rules.get(tally.rewrite)
    return rule is not None and rule.state == "active" and tally.is_by_reading


def _later(tally: RuleTally) -> int:
    """Return how many pairs were read for a rule since it acts."""
    return 0 if tally.acting is None else tally.pairs - tally.acting[0]


def _met(tally: RuleTally) -> int:
    """Return how many paths agree with a rule, or may."""
    return tally.totals().agree + tally.undecided


def _most_later(tally: RuleTally) -> int:
    """Return how many pairs are read for a rule that rests on reading, and acts.

    Half of what was met since is read, as that was not known when it was proven.
    """
    pairs, met = tally.acting or (tally.pairs, _met(tally))
    return pairs + (_met(tally) - met + 1) // 2


def _rests_on_reading(tally: RuleTally) -> bool:
    """Return True if only pages that were read can prove a rule, and none speaks against it.

    So it is where many numbers change, as the prices of related goods do: what a page selects may
    be one of them, as far as a sketch can tell.
    """
    totals = tally.totals()
    is_clean = not (totals.disagree or tally.apart)
    return is_clean and tally.masked >= _EACH and totals.agree <= tally.told_together + tally.masked


def _most_to_be_sure(site: KnownSite, tally: RuleTally) -> int:
    """Return how many pairs of pages are read for a rule, although none is in doubt.

    None are where nothing changes, or where enough pairs of the site are read already, since there
    are many rules. If one turns out to be two pages, there are more.
    """
    rule = site.rules.get(tally.rewrite)
    if not _is_worth_pairs(rule) or rule.agree <= rule.moved or not site.known.text.changes:
        return 0
    if tally.apart:
        return _MOST
    later = site.answers // _SELDOM
    if len(site.apart) // 2 >= _ENOUGH + later:
        return 0
    return _TO_BE_SURE + (later if rule.state == "active" else 0)


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
    if _rests_on_reading(tally) and (rule is None or rule.state in UNDECIDED):
        return min(_MOST_READ, tally.undecided // _EACH)
    if not _is_worth_pairs(rule):
        return 0
    are_many = 2 * tally.undecided > tally.totals().agree
    most = _MOST if steady or are_many else _FOR_ONE
    if rule.state == "active":  # if one is another page, all that are in doubt may be
        most += tally.undecided // (1 if tally.apart else _LATER)
    return most
