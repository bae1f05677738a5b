"""Repeats: which pages to fetch a second time, to see what changes by itself. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import nlargest
from itertools import count, islice

from canonry.canon.learned import names_before
from canonry.crawler.content.sketch import Sketch
from canonry.crawler.learn.evidence.hearing import to_hear
from canonry.crawler.learn.knowledge.site_facts import Fact
from canonry.crawler.learn.knowledge.steadiness import Steadiness
from canonry.crawler.learn.life.lifecycle import IN_FORCE
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.questions.pairs import is_nearly_proven, to_tell_apart
from canonry.crawler.learn.tallies.tally import DOUBTS, RuleTally

_REPEATS = 10  # URLs that are asked twice when the first comparison is in doubt
_MORE_REPEATS = 16  # if pages seem to differ more than one from itself
_STEADY_REPEATS = 5  # where nothing seems to change; twice as many if one of the pages did
_SUPPORT = 3  # paths
_LOOKED = 16  # pages and rules looked at in vain, for each answer until the next look
_LARGER = 64  # a site that has answered so often looks again after one more answer
_LARGE = 64  # answers of a large site
_CHOICE = 64  # pages, among which some are chosen to be asked twice
_DOUBTS_TOGETHER = 2 * DOUBTS  # paths, of rules about parameters
_OFTEN = 3  # such rules, for each parameter
_AT_ONCE = 5  # pages that are asked twice


def to_repeat(site: KnownSite) -> list[str]:
    """Return pages to fetch once more, to see what changes by itself; none if none is needed.

    They are pages in doubt: another page of the site may change more by itself. First come those
    that speak against a rule: what is seldom shown may be what speaks against it. With each comes
    the page that it was compared with, if that is older and differs in numbers alone: what changes
    once a minute, as an age does, is not seen in two answers of one moment.

    Where it is known what changes, the pages in doubt that differ most come, too, in pairs: if both
    answer as before, they are others.
    """
    if site.answers < site.repeat_at:
        return []
    looked = count()
    doubtful = [tally for tally in site.tallies.values() if _is_in_doubt(site, tally)]
    if not doubtful:
        doubtful = _doubtful_together(site)
    pages = _to_repeat_in_doubt(site, doubtful, looked) or _to_repeat_if_steady(site, looked)
    heard = [] if pages else to_hear(site)
    pairs = to_tell_apart(site, doubtful)
    if not (heard or pages or pairs):
        pause = (next(looked) + len(site.tallies)) // _LOOKED
        site.repeat_at = site.answers + max(pause, site.answers // _LARGER)
    urls = dict.fromkeys([*heard, *(page.url for page in pages), *pairs])
    site.repeated.update(dict.fromkeys(urls, False))
    return list(urls)


def _to_repeat_in_doubt(
    site: KnownSite, doubtful: list[RuleTally], looked: Iterator[int]
) -> list[Fact]:
    """Return pages to fetch once more of a kind that changes, or may."""
    left = _repeats_left(site)
    if left + _MORE_REPEATS <= 0:
        return []
    kept_back = [
        tally
        for tally in site.tallies.values()
        if _differs_too_much(site, tally)
        or _fails(site, tally)
        or (left > 0 and any(tally is one for one in doubtful))
    ]
    contrary = (
        one for tally in kept_back for url in tally.contrary() for one in _both(site, tally, url)
    )
    pages = list(islice(_unrepeated(site, contrary, looked), _AT_ONCE))
    if not pages:
        urls = (url for tally in kept_back for url in tally.results)
        some = islice(_unrepeated(site, urls, looked), _CHOICE)
        pages = nlargest(_AT_ONCE, some, key=_watched)
    if pages:
        for tally in kept_back:
            tally.doubts.clear()
    return pages


def _to_repeat_if_steady(site: KnownSite, looked: Iterator[int]) -> list[Fact]:
    """Return a page to fetch once more of a kind that does not seem to change, if there is one.

    Pages that are the same to the byte may be so by chance: if all that changes is one of a few
    teasers, or a line that one answer of three has, many are. Then all others seem other pages. So
    where a rule has both, a few of the others are asked. And where an active rule has pages in
    doubt, these are, until it is known that nothing changes.
    """
    kinds = _kinds_with_room(site)
    for tally in site.tallies.values() if kinds else ():
        totals = tally.totals()
        if totals.agree >= _SUPPORT and totals.disagree:
            some = tally.contrary()
        elif tally.doubts and _is_unmeasured(site, tally):
            some = tally.that_are_open()
        else:
            continue
        urls = (
            one
            for url in some
            if (other := site.known.facts.get(tally.results[url])) is None or other.is_page
            for one in _both(site, tally, url)
        )
        for page in _unrepeated(site, urls, looked, steady=True):
            if site.known.kind_of(page) in kinds:
                return [page]
    return []


def _kinds_with_room(site: KnownSite, *, or_asked: bool = False) -> list[Steadiness]:
    """Return the kinds of pages that seem steady, and of which few pages were asked twice.

    Args:
        site: the site.
        or_asked: True for those, too, of which a page has not answered yet that was.
    """
    asked: list[tuple[Steadiness | None, bool]] = [
        (site.known.kind_of(fact), has_answered)
        for url, has_answered in site.repeated.items()
        if (fact := site.known.facts.get(url)) is not None
    ]
    more = _more_if_large(site)
    waited = [kind for kind, has_answered in asked if or_asked and not has_answered]
    return [
        kind
        for kind in site.known.kinds
        if kind.is_steady
        and (
            any(one is kind for one in waited)
            or sum(one is kind for one, _has_answered in asked)
            < _STEADY_REPEATS * (2 if kind.varied else 1) + more
        )
    ]


def may_be_noise(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if what speaks against a rule may change by itself, and a repeat will tell.

    That is so for content alone: a redirect, or a page that is gone, speaks for itself. Where
    nothing seems to change, it is so until a few pages were asked twice.
    """
    facts = site.known.facts
    may_ask = _repeats_left(site) + (_MORE_REPEATS if _fails(site, tally) else 0) > 0
    in_doubt, with_room = _is_in_doubt(site, tally), _kinds_with_room(site, or_asked=True)
    is_open = False
    for url in tally.contrary():
        fact, result = facts.get(url), facts.get(tally.results[url])
        if fact is None or not fact.is_page or (result is not None and result.missing):
            return False
        if (kind := site.known.kind_of(fact)) is not None:
            if not (kind in with_room if kind.is_steady else in_doubt):
                return False
            unasked = not (kind.is_steady or may_ask)
            both = _both(site, tally, url)
            is_open = is_open or not all(site.repeated.get(one, unasked) for one in both)
    return is_open


def _both(site: KnownSite, tally: RuleTally, url: str) -> list[str]:
    """Return a URL that speaks against a rule; and what the rule makes of it, if that has aged.

    That is an older page which differs in numbers alone. If it differs in words, and has changed
    when it is asked again, it may show one of two texts by chance.
    """
    fact, other = site.known.facts.get(url), site.known.facts.get(tally.results[url])
    if fact is None or other is None or fact.sketch is None or other.sketch is None:
        return [url]
    same_words = Sketch.decode(fact.sketch).text == Sketch.decode(other.sketch).text
    return [url, other.url] if same_words and other.at < fact.at else [url]


def _more_if_large(site: KnownSite) -> int:
    """Return how many more pages of a large site may be asked twice than of a small one."""
    return (site.answers // _LARGE).bit_length()


def _still_left(site: KnownSite) -> int:
    """Return how many more pages may be asked twice that lie where nothing ever changed."""
    asked = sum(map(site.known.text.is_still, _texts_asked(site)))
    return 2 * _STEADY_REPEATS + _more_if_large(site) - asked


def _repeats_left(site: KnownSite) -> int:
    """Return how many more pages of a site may be asked twice; where nothing changes, none."""
    if site.known.kinds.all_steady:
        return -_MORE_REPEATS
    others = site.apart | site.heard
    is_still = site.known.text.is_still
    asked = sum(url not in others and not is_still(url) for url in _texts_asked(site))
    return _REPEATS + _more_if_large(site) - asked


def _texts_asked(site: KnownSite) -> Iterator[str]:
    """Yield the URLs that were asked twice, but for pages that are known not to be text."""
    for url in site.repeated:
        fact = site.known.facts.get(url)
        if fact is None or fact.sketch is not None:
            yield url


def _unrepeated(
    site: KnownSite, urls: Iterable[str], looked: Iterator[int], *, steady: bool = False
) -> Iterator[Fact]:
    """Yield the pages at some URLs that were asked once, and of which a second answer tells more.

    Of pages that are not text, no more is to be learned than that one differs from itself.

    Args:
        site: the site.
        urls: of its pages.
        looked: counts them.
        steady: True for pages of a kind that does not seem to change, False for others.
    """
    left_still = _still_left(site)
    for url in urls:
        next(looked)
        fact = site.known.facts.get(url)
        if fact is not None and url not in site.repeated:
            kind = site.known.kind_of(fact)
            if kind is None or kind.is_steady != steady:
                continue
            if fact.sketch is None:
                tells_more = steady
            else:
                tells_more = left_still > 0 or not site.known.text.is_still(url)
            if tells_more:
                yield fact


def _differs_too_much(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if a rule that is nearly proven is kept back by how much its pages differ."""
    rule = site.rules.get(tally.rewrite)
    proven = rule is not None and is_nearly_proven(rule)
    return proven and tally.differ_more(site.known.text)


def _fails(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if something speaks against a rule that has acted.

    A site may begin to change when it was known that it does not.
    """
    rule = site.rules.get(tally.rewrite)
    return rule is not None and rule.state in IN_FORCE and rule.disagree > 0


def _watched(page: Fact) -> int:
    """Return the share of a page's text that its sketch watches, as a hash: the more, the better.

    Of a long page the sketch keeps so little that what changes by itself is hardly seen.
    """
    return 0 if page.sketch is None else Sketch.decode(page.sketch).end


def _doubtful_together(site: KnownSite) -> list[RuleTally]:
    """Return the rules with pages in doubt, if they are many of which each has a few.

    So it is where links have any of several parameters: there is a rule for each set of them, and
    each name is in several of these.
    """
    named = [
        (tally, names)
        for tally in site.tallies.values()
        if tally.doubts and (names := names_before(tally.rewrite)) is not None
    ]
    often = Counter(name for _tally, names in named for name in names)
    found = [tally for tally, names in named if all(often[name] >= _OFTEN for name in names)]
    return found if sum(len(tally.doubts) for tally in found) >= _DOUBTS_TOGETHER else []


def _is_in_doubt(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if it matters for a rule what changes by itself.

    For an active rule it does as soon as one page is in doubt, until it was measured. On a site
    that is known to change, that may also be what speaks against a rule.
    """
    if len(tally.doubts) >= (1 if _is_unmeasured(site, tally) else DOUBTS):
        return True
    totals = tally.totals()
    return bool(site.repeated) and totals.agree > 0 and totals.disagree > 0


def _is_unmeasured(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if a rule acts, and it is not known yet what changes by itself."""
    rule = site.rules.get(tally.rewrite)
    return rule is not None and rule.state == "active" and not site.known.text.is_measured
