"""Questions: which requests would decide most about rules that are still open. Pure.

A site is asked only so much for the sake of learning: a small share of its requests.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from canonry.canon.learned import FAMILIES, Rewrite, names_before, names_in
from canonry.crawler.learn.life.lifecycle import UNDECIDED
from canonry.crawler.learn.memory.known_site import KnownSite
from canonry.crawler.learn.tallies.stances import DECIDED
from canonry.crawler.learn.tallies.tally import RuleTally

_AT_ONCE = 6  # URLs of one site that are asked sooner
_FEWEST = 3  # for fewer, the queue is not looked at
_FIRST = 64  # questions that a site gets in any case ...
_SHARE = 4  # ... and one more for so many answers
_PATIENCE = 12  # answers; what was not answered meanwhile will not be
_LOOK_AGAIN = 16  # answers, after the whole queue was looked at
_LARGER = 32  # a site that has answered so often is looked at again after one more answer
_LOOKS = 32  # at queued URLs, for each answer and each question that is found
_DOUBLED = 3  # times, the pause between looks that find nothing, until a rule is new
LOOKED_AT = 1_000  # queued URLs that are looked at at once
_FURTHEST = 16 * LOOKED_AT  # in the queue
_NO_NAMES = names_in("")  # of parameters, in a URL without a query


def is_open(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if a rule may become active, and more evidence would decide it.

    About one page there are no questions: all its names say the same, and are met anyway.
    """
    if FAMILIES[tally.rewrite.family].one_page:
        return False
    rule = site.rules.get(tally.rewrite)
    if rule is not None and rule.state not in UNDECIDED:
        return False
    totals = tally.totals()
    return not totals.disagree and (totals.agree > 0 or tally.suspected)


def room(site: KnownSite) -> int:
    """Return how many URLs of a site may be asked sooner now."""
    answers = site.answers
    if answers - site.asked_at >= _PATIENCE:
        site.asked.clear()
    left = _left(site)
    if answers < site.look_at or left < _FEWEST:
        return 0
    if not any(is_open(site, tally) for tally in site.tallies.values()):
        return 0
    return max(0, min(_AT_ONCE, left) - len(site.asked))


def _left(site: KnownSite) -> int:
    """Return how many more questions a site may be asked for all that it has answered."""
    return _FIRST + site.answers // _SHARE - site.questions


def is_worth_asking(site: KnownSite, rewrites: Iterable[Rewrite]) -> bool:
    """Return True, and count a question, if rules are open that a pair of URLs would decide.

    Args:
        site: that of the URL which names the other.
        rewrites: what the pair shows.
    """
    rules = [site.rules.get(rewrite) for rewrite in rewrites]
    if all(rule is not None and rule.state not in UNDECIDED for rule in rules):
        return False
    if _left(site) <= 0:
        return False
    site.questions += 1
    return True


def choose(site: KnownSite, queued: Iterable[str], most: int) -> list[str]:
    """Return which of the queued URLs of a site to ask sooner.

    First come URLs that an open rule turns into the same URL as one that has answered, and that
    resulting URL itself; then pairs of queued URLs that it turns into the same URL. Where canonical
    links speak for the rule, each page names the other one itself. So instead of such a pair it is
    one URL, of a page that is not known yet.

    Args:
        site: the site.
        queued: identities, in the order of the queue, from the place `site.looked`.
        most: how many.
    """
    look = _Look(site)
    number = 0
    for url in queued:
        if len(look.deciding) >= most:
            break
        look.at(url)
        number += 1
    chosen = list(islice({**look.deciding, **look.others}, most))
    site.asked.update(chosen)
    site.questions += len(chosen)
    site.asked_at = site.answers
    if len(look.deciding) < most:
        further = site.looked + number
        site.looked = further if number >= LOOKED_AT and further < _FURTHEST else 0
    found_nothing = not chosen and not site.looked
    pause = (number // (_LOOKS * (1 + len(chosen)))) << min(site.vain_looks, _DOUBLED)
    site.vain_looks = 0 if chosen else site.vain_looks + 1
    least = max(_LOOK_AGAIN if found_nothing else 0, site.answers // _LARGER)
    site.look_at = site.answers + max(least, pause)
    return chosen


class _Question(NamedTuple):
    """An open rule, and the classes of URLs that were looked at: by what it makes of them."""

    tally: RuleTally
    by_word: bool  # True if it is mostly canonical links that speak for the rule, not content
    waiting: dict[str, str]  # the first URL of each class, but for those that the rule leaves alone
    settled: set[str]  # classes that need no other URL


class _Look:
    """A look at queued URLs: which of them would decide something about open rules."""

    def __init__(self, site: KnownSite) -> None:
        """Look with the rules of a site as they are."""
        tallies = site.tallies.values()
        rules = sorted((t for t in tallies if is_open(site, t)), key=lambda t: -t.totals().agree)
        self._known, self._asked = site.known.facts, site.asked
        self._always: list[_Question] = []
        self._by_names: dict[frozenset[str], list[_Question]] = {}
        for tally in rules:
            question = _Question(tally, is_by_word(tally), {}, set())
            for places in self._places_of(tally.rewrite):
                places.append(question)
        self._active = [tally for tally in tallies if _is_active(site, tally)]
        self._seen: set[str] = set()  # URLs that were looked at
        self.deciding: dict[str, None] = {}  # they decide something by themselves
        self.others: dict[str, None] = {}

    def _places_of(self, said: Rewrite) -> Iterator[list[_Question]]:
        """Yield where a question is put that only concerns URLs with certain parameters, or all.

        These are the URLs that the rule changes, and those that it makes of them.
        """
        names = names_before(said)
        if names is None:
            yield self._always
        else:
            yield self._by_names.setdefault(names, [])
            yield self._by_names.setdefault(frozenset(said.beside), [])

    def at(self, url: str) -> None:
        """Look at a queued URL."""
        questions = self._always
        if self._by_names:
            names = names_in(url) if "?" in url else _NO_NAMES
            questions = [*questions, *self._by_names.get(names, ())]
        for question in questions:
            tally = question.tally
            result = tally.result_of(url)
            # Nearly all URLs are changed by no rule, and no rule has made them of another one.
            if result is not None or url in tally.members or url in question.waiting:
                if self._is_spared(url):
                    return
                self._ask(question, url, result)
        self._seen.add(url)

    def _is_spared(self, url: str) -> bool:
        """Return True if a URL is not fetched, as long as a rule is active."""
        for tally in self._active:  # noqa: SIM110 - a generator takes longer
            if tally.result_of(url) is not None:
                return True
        return False

    def _ask(self, question: _Question, url: str, result: str | None) -> None:
        """Look at a URL for one rule.

        Args:
            question: the rule.
            url: the URL.
            result: what the rule makes of it; None if it leaves it alone.
        """
        tally, by_word, waiting, settled = question
        case = url if result is None else result
        was_seen = case in self._seen and not self._is_spared(case)  # then it is queued itself
        if url in self._asked or (was_seen and case in self._asked):
            settled.add(case)
        if case in settled:
            return
        members = tally.members.get(case, ())
        if members and _is_decided(tally, members):
            return
        by_content = result is None or not by_word
        if (members and by_content) or (result is not None and result in self._known):
            self.deciding[url] = None  # it decides something by itself
        elif by_word and result is not None and not members:
            self.others[url] = None
        elif not by_word and (case in waiting or was_seen):
            self.others[waiting.get(case, case)] = self.others[url] = None
        else:
            waiting.setdefault(case, url)
            return
        settled.add(case)


def _is_active(site: KnownSite, tally: RuleTally) -> bool:
    """Return True if a rule for the whole site spares fetches."""
    rule = site.rules.get(tally.rewrite)
    return rule is not None and rule.state == "active"


def is_by_word(tally: RuleTally) -> bool:
    """Return True if it is mostly canonical links that speak for a rule, not content."""
    return 0 < tally.totals().agree <= 2 * tally.named


def _is_decided(tally: RuleTally, members: Iterable[str]) -> bool:
    """Return True if one of the URLs says something already of which a rule makes the same."""
    return any(tally.stance(url) in DECIDED for url in members)
