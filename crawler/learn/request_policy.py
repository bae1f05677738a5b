"""Decide which URLs to request so that rules can be decided, and how often. Pure.

Before a rule is active, pairs that could decide it are requested. While it is active, some of the
URLs that it would hold are fetched as tests. Each site has one budget for learning requests.
"""

import hashlib
from collections.abc import Iterator
from typing import NamedTuple

from canonry.canon.learned import Rewrite, act
from canonry.crawler.learn import limits
from canonry.crawler.learn.decision import needed_for
from canonry.crawler.learn.evidence import RuleEvidence
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.rules.infer import opposite
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, MOSTLY, PageComparison, PageVerdict
from canonry.storage.learned.rule_rows import IN_FORCE, URLPair
from canonry.storage.records import QUESTION

_FIRST_PAIRS, _AT_ONCE = 3, 12  # pairs of a rule: while no evidence supports it, and later
_FIRST = 8  # queued URLs that are requested early while no evidence supports a rule
# URLs that rules hold, which each run asks: a share, at least and at most.
_TESTED, _FEWEST_TESTS, _TESTS = 0.01, 4, 20
NAMES_IN_DOUBT = 4  # that are asked for
NAMES_BESIDE = 12  # held URLs that are asked for, found beside one that a rule held wrongly
_ENOUGH = 40  # same classes, from which on no requests are made for a candidate
_MOST_CLASSES = 20_000  # that are counted for a rule
_URGENCY = {"suspended": 0, "candidate": 1, "active": 2, "revoked": 3}


class RequestPolicy:
    """Chooses the learning requests of one site."""

    def __init__(self, site: LearnedSite) -> None:
        """Bind the site."""
        self._site = site
        # Tests since the last `to_ask_first`, each with what its rules make of it.
        self._chosen: list[tuple[str, str, list[Rewrite]]] = []

    def questions(self) -> Iterator[str]:
        """Yield identities to request again; each is charged to the budget when it is yielded."""
        budget = self.budget()
        if self._site.extra >= budget:
            return
        with_open = [rule for rule in self._site.rules.values() if rule.open]
        for rule in sorted(with_open, key=self.urgency):
            is_tested = rule.state == "active" and not rule.tally.different
            if not (is_tested and rule.extra >= limits.FOR_TESTS * budget):
                for identity in self._of_rule(rule, budget - self._site.extra):
                    if self._site.extra >= budget:
                        return
                    page = self._site.pages[identity]
                    page.requested += 1
                    page.is_awaited = True
                    self._site.extra += 1
                    rule.extra += is_tested
                    yield identity

    def budget(self) -> int:
        """Return how many requests the site's questions may take.

        They are as many as its rules have suppressed, and some ahead of that: the more pages are
        the same under a rule that acts or that none contradicts, the more. A rule that has half of
        what it needs gets the rest, where many URLs wait: it would suppress most of them.
        Where few URLs wait, no rule acts, and none has half of what it needs, no answer could spare
        a request: none is asked for.
        """
        every = self._site.rules.values()
        rules = [rule for rule in every if rule.state in IN_FORCE or not rule.tally.different]
        best = max(rules, key=lambda rule: rule.tally.same, default=None)
        same, weight, needed = 0, 0.0, 1
        if best is not None:
            same, weight, needed = best.tally.same, best.weight, needed_for(best.rewrite).content
        ahead = min(limits.BASE_REQUESTS, limits.LEAST_REQUESTS * (1 + same))
        waiting, has_half = self._site.pages.number_queued, needed <= 2 * weight
        if has_half and weight < needed:
            ahead = max(ahead, int(min(limits.SHARE_OF_QUEUE * waiting, limits.MOST_AHEAD)))
        acts = any(rule.state in IN_FORCE for rule in rules)
        if waiting < limits.WORTHWHILE and not (has_half or acts):
            return self._site.suppressed
        return self._site.suppressed + max(ahead, int(limits.SHARE_OF_ANSWERS * self._site.answers))

    def tests_of_run(self) -> list[int]:
        """Return, once in a run, ids of URLs that rules hold: are they still the same pages?

        A share of them, chosen anew for each run: by the time of its beginning.
        """
        held, self._site.held = self._site.held, []
        number = min(len(held), _TESTS, _FEWEST_TESTS + int(_TESTED * len(held)))
        self._site.extra += number
        return sorted(held, key=lambda url_id: hash((self._site.began, url_id)))[:number]

    def in_doubt(self) -> list[int]:
        """Return, once each, ids of URLs whose further names may tell which of their rules holds.

        They differ by several rules that act.
        """
        found, self._site.in_doubt = self._site.in_doubt, []
        if not found or self._site.extra >= self.budget():
            return []
        self._site.extra += NAMES_IN_DOUBT
        return found

    def found_wrong(self) -> Iterator[tuple[int, Rewrite]]:
        """Yield, once each, ids of URLs that are other pages than a rule says that still acts.

        Was it chance? What was found beside such a URL is probably like it.
        """
        found, self._site.wrong = self._site.wrong, []
        for url_id, rewrite in found:
            if self._site.rules[rewrite].state in IN_FORCE and self._site.extra < self.budget():
                self._site.extra += NAMES_BESIDE
                yield url_id, rewrite

    def _of_rule(self, rule: RuleEvidence, most: int) -> Iterator[str]:
        """Yield URLs whose next answers may decide a rule; of pairs with the most answers first.

        Args:
            rule: to be decided.
            most: how many requests are left, which is enough for both URLs of each pair.
        """
        tally = rule.tally
        is_sure = rule.state == "candidate" and tally.same > _ENOUGH
        if rule.state == "revoked" or rule.is_out or is_sure:
            return
        against = self._site.rules.get(opposite(rule.rewrite), rule)
        if against is not rule and against.state == "active":
            return
        pages = self._site.pages
        wanted = PageVerdict.DIFFERENT if tally.different else PageVerdict.UNKNOWN
        pairs = [
            (pair, compared)
            for pair, compared in rule.open.items()
            if (compared.verdict is wanted or rule.state == "suspended")
            and all(identity in pages for identity in pair)
            and any(self._to_ask(pair, compared))
            and (tally.same or self._is_promising(pair, compared))
        ]
        pairs.sort(
            key=lambda found: -sum(len(pages[u].answers) + pages[u].is_awaited for u in found[0])
        )
        at_once = min(_AT_ONCE if tally.same else _FIRST_PAIRS, (most + 1) // 2)
        for pair, compared in pairs[:at_once]:
            for identity in self._to_ask(pair, compared):
                if not pages[identity].is_awaited:
                    yield identity

    def _to_ask(self, pair: URLPair, compared: PageComparison) -> Iterator[str]:
        """Yield those URLs of a pair whose next answers may decide it, if no crawl asks anyway."""
        for identity, is_asked in zip(pair, (compared.ask_first, compared.ask_second), strict=True):
            is_over = self._site.pages[identity].requested >= MOST_ANSWERS
            if is_asked and not is_over and not self._site.pages.is_queued(identity):
                yield identity

    def _is_promising(self, pair: URLPair, compared: PageComparison) -> bool:
        """Return True if a pair may be the same, and both of its URLs have kept answers."""
        is_unlike = compared.verdict is PageVerdict.DIFFERENT and compared.share > MOSTLY
        return not is_unlike and all(self._site.pages[identity].answers for identity in pair)

    def to_ask_first(self) -> Iterator[int]:
        """Yield the ids of queued URLs that test rules, or complete pairs for open rules."""
        pages = self._site.pages
        chosen, self._chosen = self._chosen, []
        for identity, after, rewrites in chosen:
            if pages.is_queued(identity):
                yield pages[identity].url_id
                for other in filter(pages.is_queued, pages.partners(identity)):
                    if any(str(act(rewrite, pages[other].parts)) == after for rewrite in rewrites):
                        yield pages[other].url_id  # what it is compared with
                        break
        for rewrite, noted in self._site.decisive.items():
            rule = self._site.rule(rewrite)
            wanted = self._first(rule)
            while noted and wanted > 0:
                identity = noted.pop()
                if self._site.pages.is_queued(identity):
                    wanted -= 1
                    rule.asked_first += 1
                    yield self._site.pages[identity].url_id

    def urgency(self, rule: RuleEvidence) -> tuple[int, float]:
        """Return the sort key of a rule: doubtful rules first, then those closest to active."""
        missing = needed_for(rule.rewrite).content - rule.weight
        return _URGENCY[rule.state], missing

    def _first(self, rule: RuleEvidence) -> int:
        """Return how many more queued URLs to request early for a rule."""
        if rule.state != "candidate" or rule.tally.different or rule.rewrite.below != "/":
            return 0
        content = needed_for(rule.rewrite).content
        return (2 * content if rule.tally.same else _FIRST) - rule.asked_first

    def choose_as_test(self, identity: str, after: str, rewrites: list[Rewrite]) -> bool:
        """Decide if a URL is fetched as a test of the rules that could hold it, and count it.

        Tests are a share of pages, not of URLs, since a page may have any number of URLs.

        Args:
            identity: of the URL.
            after: the identity that the rules make of it.
            rewrites: of these rules.
        """
        chosen = False
        is_further = False  # name of a page
        for rewrite in rewrites:
            rule = self._site.rules.get(rewrite)
            if rule is None:
                continue
            is_further |= hash(after) in rule.classes
            if len(rule.classes) < _MOST_CLASSES:
                rule.classes.add(hash(after))
            number, pages = len(rule.tests), len(rule.classes)
            # Chosen by its hash, or because there are fewer tests than chance should give.
            is_chosen = (
                _per_cent(identity) < 100 * limits.CHANCE_TESTED
                or number < limits.CHANCE_TESTED * pages - 1
            )
            if is_chosen and number < limits.BASE_TESTS + limits.SHARE_TESTED * pages:
                rule.tests.add(identity)
            chosen |= identity in rule.tests
        self._site.suppressed += is_further and not chosen
        if chosen and _per_cent(identity) % 2:  # the others wait their turn, since sites change
            self._chosen.append((identity, after, rewrites))
        return chosen


def _per_cent(identity: str) -> int:
    """Return a number below 100 from the hash of a URL."""
    return int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=4).digest()) % 100


class Probe(NamedTuple):
    """A request whose answer only the learning needs."""

    url: str
    priority: int = QUESTION  # of requests that may decide a rule
    is_control: bool = False  # of a recrawl: what of a page changes by itself?
    url_id: int = 0  # in the store; 0: it has none
