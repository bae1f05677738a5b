"""Say in one sentence what a rule still needs to become active, or what would end it. Pure."""

from collections.abc import Iterable, Sequence
from math import ceil
from typing import NamedTuple

from canonry.canon.learned import Rewrite, act
from canonry.canon.syntax import Parts
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
from canonry.crawler.settings.learning_settings import LearningSettings, defaults
from canonry.storage.learned.tracked_rule import IN_FORCE, URLPair

_NAMED = 2  # most URLs in a sentence


class Standing(NamedTuple):
    """Where a rule stands: a sentence for people, and counts of pages."""

    sentence: str
    is_doomed: bool  # it is in force, but its evidence will revoke it
    found: ClassTally
    needed: int  # same pages by content, before it acts ...
    needed_by_own_word: int  # ... or by redirects and canonical links
    may_be_unknown: int  # how many pages may be unknown when it becomes active


def standing_of(
    rule: RuleEvidence,
    against: RuleEvidence | None = None,
    settings: LearningSettings | None = None,
) -> Standing:
    """Return the standing of a rule.

    Args:
        rule: with its pairs.
        against: the rule that says the opposite, if there is one.
        settings: of learning; None for the defaults.
    """
    limits = settings or defaults()
    found, needed = rule.tally, needed_for(rule.rewrite, limits)
    limit = most_wrong(found, limits)
    if rule.state in IN_FORCE:
        sentence = _active(rule, limit + 1 - found.refuted)
    elif rule.state == "revoked":
        sentence = _revoked(rule)
    else:
        sentence = _waiting(rule, against, limits)
    return Standing(
        sentence,
        rule.state in IN_FORCE and found.refuted > limit,
        found,
        needed.content,
        needed.own_word,
        most_unknown(found, limits),
    )


def oriented(rewrite: Rewrite, pair: URLPair) -> URLPair:
    """Return a pair with the URL first that a rule changes; unchanged if it changes both."""
    one, other = (Parts.of(url) for url in pair)
    is_turned = act(rewrite, one) is one and act(rewrite, other) is not other
    return (pair[1], pair[0]) if is_turned else pair


def _active(rule: RuleEvidence, left: int) -> str:
    """Return a sentence about a rule in force: what would end it.

    Args:
        rule: the rule.
        left: how many more different pages end it.
    """
    found = rule.tally
    does = "It acts" if rule.state == "active" else "It holds nothing new"
    if left <= 0:
        return f"{does}, but {_others(rule, found.refuted)}: the next crawl revokes it"
    if rule.state == "suspended" and found.different <= found.refuted:
        return f"It has what it needs, as {_pages(found.same)} the same: the next crawl decides"
    because = f"{_pages(found.same)} the same under both names" if found.same else "it was imported"
    more = "one page that is another ends" if left == 1 else f"{left} pages that are others end"
    doubts = found.different - found.refuted
    doubt = f"; {_others(rule, doubts, seem=True)}, and is asked again" if doubts else ""
    return f"{does}, as {because}; {more} it{doubt}"


def _revoked(rule: RuleEvidence) -> str:
    """Return a sentence that says why a rule was revoked."""
    different = rule.tally.different
    if not different:
        return "Revoked, though no page is known to be another: by people, or an earlier version"
    return f"Revoked: {_others(rule, different)}"


def _waiting(rule: RuleEvidence, against: RuleEvidence | None, limits: LearningSettings) -> str:
    """Return a sentence about a candidate: the first requirement that it does not meet."""
    found, said = rule.tally, rule.rewrite
    start = "It does not act"
    if found.different:
        same = f"{start}: {_others(rule, found.different)}, and {_pages(found.same)} the same"
        has_parts = said.below == "/" and said.family != "host-alias"
        return f"{same}; rules for parts without exceptions may act" if has_parts else same
    if against is not None and is_outdone(rule, against):
        return f"{start}: rule {against.rewrite.id} says the opposite, and has more for it"
    needed, has = needed_for(said, limits), rule.weight
    what = "name" if said.family == "parameter-of-page" else "page"
    if has < needed.content and found.own_word < needed.own_word:
        more = counted(ceil(needed.content - has), f"more {what}")
        known = [f"{int(has)} of {needed.content}"]
        if found.own_word:
            known.append(f"{found.own_word} of {needed.own_word} by redirects and canonical links")
        unknown = f"; {found.unknown} {_be(found.unknown)} not known yet" if found.unknown else ""
        are = _be(ceil(needed.content - has))
        has_so_far = f"(it has {', '.join(known)}{unknown})"
        return f"It needs {more} that {are} the same under both names {has_so_far}"
    confirmed = limits.decision.confirmed
    if left := unconfirmed(found, limits):
        return (
            f"It needs {counted(left, 'more page')} that a crawl has found to be the same (it has "
            f"{confirmed - left} of {confirmed}; {found.mined} {_be(found.mined)} from a log or an "
            "import)"
        )
    if found.unknown > (allowed := most_unknown(found, limits)):
        return (
            f"It needs to know more: {_pages(found.same)} the same, but of {found.unknown} "
            f"it is not known; of {allowed} it need not be"
        )
    few = ""
    if said.family in WITH_VALUES and len(values_seen(rule)) < limits.decision.values:
        few = f", and no other value of its parameter (or {limits.decision.values} are known)"
    return (
        f"It has what it needs, as {_pages(found.same)} the same: it acts as soon as "
        f"{limits.decision.worthwhile} URLs wait that it would hold{few}"
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
