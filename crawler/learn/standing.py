"""Say in one sentence what a rule still needs to become active, or what would end it. Pure."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from canonry.canon.learned import Rewrite, act
from canonry.canon.syntax import Parts
from canonry.crawler.learn import limits
from canonry.crawler.learn.decision import (
    WITH_VALUES,
    is_outdone,
    most_unknown,
    most_wrong,
    needed_for,
    unconfirmed,
    values_seen,
)
from canonry.crawler.learn.evidence import ClassTally, RuleEvidence
from canonry.crawler.learn.text.comparison import PageVerdict
from canonry.crawler.plurals import counted
from canonry.storage.learned.rule_rows import IN_FORCE, URLPair

_NAMED = 2  # most URLs in a sentence
_NO_PAGE = "it was taken over with no page for it"  # of an import, or of a rule for a part


class Standing(NamedTuple):
    """Where a rule stands: a sentence for people, and counts of pages."""

    sentence: str
    is_doomed: bool  # it is in force, but its evidence will revoke it
    found: ClassTally
    needed: int  # same pages by content, before it acts ...
    needed_by_own_word: int  # ... or by redirects and canonical links
    may_be_unknown: int  # how many pages may be unknown when it becomes active


def standing_of(rule: RuleEvidence, against: RuleEvidence | None = None) -> Standing:
    """Return the standing of a rule.

    Args:
        rule: with its pairs.
        against: the rule that says the opposite, if there is one.
    """
    tally, needed = rule.tally, needed_for(rule.rewrite)
    limit = most_wrong(tally)
    if rule.state in IN_FORCE:
        sentence = _active(rule, limit + 1 - tally.refuted)
    elif rule.state == "revoked":
        sentence = _revoked(rule)
    else:
        sentence = _waiting(rule, against)
    return Standing(
        sentence,
        rule.state in IN_FORCE and tally.refuted > limit,
        tally,
        needed.content,
        needed.own_word,
        most_unknown(tally),
    )


def oriented(rewrite: Rewrite, pair: URLPair) -> URLPair:
    """Return a pair with the URL first that a rule changes; unchanged if it changes both."""
    one, other = (Parts.of(url) for url in pair)
    is_turned = act(rewrite, one) is one and act(rewrite, other) is not other
    return (pair[1], pair[0]) if is_turned else pair


def _active(rule: RuleEvidence, remaining: int) -> str:
    """Return a sentence about a rule in force: what would end it.

    Args:
        rule: the rule.
        remaining: how many more different pages end it.
    """
    tally = rule.tally
    does = "It acts" if rule.state == "active" else "It holds nothing new"
    if remaining <= 0:
        return f"{does}, but {_others(rule, tally.refuted)}: the next crawl revokes it"
    if rule.state == "suspended" and tally.different <= tally.refuted:
        return f"It has what it needs, as {_pages(tally.same)} the same: the next crawl decides"
    because = f"{_pages(tally.same)} the same under both names" if tally.same else _NO_PAGE
    more = (
        "one page that is another ends"
        if remaining == 1
        else f"{remaining} pages that are others end"
    )
    doubts = tally.different - tally.refuted
    doubt = f"; {_others(rule, doubts, seem=True)}, and is asked again" if doubts else ""
    return f"{does}, as {because}; {more} it{doubt}"


def _revoked(rule: RuleEvidence) -> str:
    """Return a sentence that says why a rule was revoked."""
    different = rule.tally.different
    if not different:
        return "Revoked, though no page is known to be another: by people, or an earlier version"
    return f"Revoked: {_others(rule, different)}"


def _waiting(rule: RuleEvidence, against: RuleEvidence | None) -> str:
    """Return a sentence about a candidate: the first requirement that it does not meet."""
    tally, rewrite = rule.tally, rule.rewrite
    start = "It does not act"
    if tally.different:
        same = f"{start}: {_others(rule, tally.different)}, and {_pages(tally.same)} the same"
        has_parts = rewrite.below == "/" and rewrite.family != "host-alias"
        return f"{same}; rules for parts without exceptions may act" if has_parts else same
    if against is not None and is_outdone(rule, against):
        return f"{start}: rule {against.rewrite.id} says the opposite, and has more for it"
    needed, has = needed_for(rewrite), rule.weight
    what = "name" if rewrite.family == "parameter-of-page" else "page"
    if has < needed.content and tally.own_word < needed.own_word:
        more = counted(ceil(needed.content - has), f"more {what}")
        progress = [f"{int(has)} of {needed.content}"]
        if tally.own_word:
            progress.append(
                f"{tally.own_word} of {needed.own_word} by redirects and canonical links"
            )
        unknown = f"; {tally.unknown} {_be(tally.unknown)} not known yet" if tally.unknown else ""
        are = _be(ceil(needed.content - has))
        has_so_far = f"(it has {', '.join(progress)}{unknown})"
        return f"It needs {more} that {are} the same under both names {has_so_far}"
    if left := unconfirmed(tally):
        has = limits.CONFIRMED - left
        return (
            f"It needs {counted(left, 'more page')} that a crawl has found to be the same (it has "
            f"{has} of {limits.CONFIRMED}; {tally.mined} {_be(tally.mined)} from a log or an "
            "import)"
        )
    if tally.unknown > (allowed := most_unknown(tally)):
        return (
            f"It needs to know more: {_pages(tally.same)} the same, but of {tally.unknown} "
            f"it is not known; {allowed} may stay unknown"
        )
    few = ""
    if rewrite.family in WITH_VALUES and len(values_seen(rule)) < limits.VALUES:
        few = f", and no other value of its parameter (or {limits.VALUES} are known)"
    return (
        f"It has what it needs, as {_pages(tally.same)} the same: it acts as soon as "
        f"{limits.WORTHWHILE} URLs wait that it would hold{few}"
    )


def _others(rule: RuleEvidence, number: int, *, seem: bool = False) -> str:
    """Return a phrase: how many pages are different, or seem so, with some of their URLs."""
    one, several = ("seems to be", "seem to be") if seem else ("turned out to be",) * 2
    what = f"1 page {one} another" if number == 1 else f"{number:,} pages {several} others"
    # One pair for each page; the final ones come first.
    found = sorted(rule.pairs.items(), key=lambda item: not item[1].is_final)
    by_page = {p.key: urls for urls, p in reversed(found) if p.verdict is PageVerdict.DIFFERENT}
    return what + _named(rule.rewrite, list(by_page.values())[::-1])


def _named(rewrite: Rewrite, pairs: Sequence[URLPair]) -> str:
    """Return the URLs that a rule changes in some pairs, in parentheses."""
    urls: Iterable[str] = (oriented(rewrite, pair)[0] for pair in pairs[:_NAMED])
    return f" ({', '.join(urls)})" if pairs else ""


def _pages(number: int) -> str:
    return f"{counted(number, 'page')} {_be(number)}"


def _be(number: int) -> str:
    return "is" if number == 1 else "are"
