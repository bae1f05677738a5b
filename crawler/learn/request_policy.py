"""What is requested so that rules are decided, and how often: the one policy of tests. Pure.

Before a rule acts, pairs that could decide it are asked. While it acts, some of the URLs that it
would hold are fetched all the same. A site has one budget for requests that are for learning alone.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.decision import needed_for
from canonry.crawler.learn.evidence import RuleEvidence
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.rules.infer import opposite
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, MOSTLY, PageComparison, PageVerdict
from canonry.storage.learned.tracked_rule import URLPair
from canonry.storage.records import QUESTION

_FIRST_PAIRS, _AT_ONCE = 3, 12  # of a rule, while nothing speaks for it, and later
_FIRST = 8  # queued URLs that are asked before others, while nothing speaks for a rule
_ENOUGH = 40  # classes that are the same, from which on a candidate is not asked about
_MOST_CLASSES = 50_000  # of a rule, that are counted
_URGENCY = {"suspended": 0, "candidate": 1, "active": 2, "revoked": 3}


class RequestPolicy:
    """What is asked of one site."""

    def __init__(self, site: LearnedSite) -> None:
        """Bind the site."""
        self._site = site
        self._chosen: list[str] = []  # as tests, since they were last asked for

    def questions(self) -> Iterator[str]:
        """Yield URLs to ask again, within the budget."""
        may_spare = any(rule.tally.same for rule in self._site.rules.values())
        limits = self._site.settings.requests
        least, share = limits.least, limits.least_share
        if may_spare:
            least, share = limits.base, limits.share
        budget = least + int(share * self._site.answers)
        with_open = [rule for rule in self._site.rules.values() if rule.open]
        for rule in sorted(with_open, key=self.urgency):
            is_tested = rule.state == "active" and not rule.tally.different
            if not (is_tested and rule.extra >= limits.for_tests * budget):
                for identity in self._of_rule(rule):
                    if self._site.extra >= budget:
                        return
                    known = self._site.pages[identity]
                    known.requested += 1
                    known.is_awaited = True
                    self._site.extra += 1
                    rule.extra += is_tested
                    yield identity

    def _of_rule(self, rule: RuleEvidence) -> Iterator[str]:
        """Yield URLs whose next answers may decide a rule; first those that need the fewest."""
        found = rule.tally
        if rule.state == "revoked":
            return
        if rule.is_out or (rule.state == "candidate" and found.same > _ENOUGH):
            return
        against = self._site.rules.get(opposite(rule.rewrite), rule)
        if against is not rule and against.state == "active":
            return
        wanted = PageVerdict.DIFFERENT if found.different else PageVerdict.UNKNOWN
        pairs = [
            pair
            for pair, compared in rule.open.items()
            if compared.verdict is wanted
            and all(identity in self._site.pages for identity in pair)
            and (found.same or self._is_promising(pair, compared))
        ]
        pairs.sort(key=lambda pair: -sum(len(self._site.pages[one].answers) for one in pair))
        for pair in pairs[: _AT_ONCE if found.same else _FIRST_PAIRS]:
            compared = rule.open[pair]
            asked = zip(pair, (compared.ask_first, compared.ask_second), strict=True)
            for identity, is_asked in asked:
                known = self._site.pages[identity]
                if is_asked and not known.is_awaited and known.requested < MOST_ANSWERS:
                    yield identity

    def _is_promising(self, pair: URLPair, compared: PageComparison) -> bool:
        """Return True if a pair may be the same, and only little has to be asked for it."""
        is_unlike = compared.verdict is PageVerdict.DIFFERENT and compared.share > MOSTLY
        return not is_unlike and all(self._site.pages[identity].answers for identity in pair)

    def to_ask_first(self) -> Iterator[int]:
        """Yield the rows of queued URLs that test rules, or form pairs for rules that are open."""
        chosen, self._chosen = self._chosen, []
        yield from (self._site.pages[url].row for url in chosen if self._site.pages.is_queued(url))
        for rewrite, noted in self._site.decisive.items():
            rule = self._site.rule(rewrite)
            wanted = self._first(rule)
            while noted and wanted > 0:
                identity = noted.pop()
                if self._site.pages.is_queued(identity):
                    wanted -= 1
                    rule.asked_first += 1
                    yield self._site.pages[identity].row

    def urgency(self, rule: RuleEvidence) -> tuple[int, float]:
        """Return what puts rules in doubt first, then those that are the closest to acting."""
        missing = needed_for(rule.rewrite, self._site.settings).content - rule.weight
        return _URGENCY[rule.state], missing

    def _first(self, rule: RuleEvidence) -> int:
        """Return how many more queued URLs are to be asked first for a rule."""
        if rule.state != "candidate" or rule.tally.different or rule.rewrite.below != "/":
            return 0
        content = needed_for(rule.rewrite, self._site.settings).content
        return (2 * content if rule.tally.same else _FIRST) - rule.asked_first

    def is_test(self, identity: str, after: str, rewrites: Iterable[Rewrite]) -> bool:
        """Return True if a URL is fetched although rules could hold it; count it as their test.

        Tests are a share of pages, not of names: a page may have any number of these.

        Args:
            identity: of the URL.
            after: what the rules make of it.
            rewrites: what they say.
        """
        chosen, tests = False, self._site.settings.tests
        for rewrite in rewrites:
            rule = self._site.rules.get(rewrite)
            if rule is None:
                continue
            if len(rule.classes) < _MOST_CLASSES:
                rule.classes.add(hash(after))
            number, pages = len(rule.tests), len(rule.classes)
            # By its hash; or where these are fewer than they should be by chance.
            is_chosen = (
                _per_cent(identity) < 100 * tests.chance or number < tests.chance * pages - 1
            )
            if is_chosen and number < tests.base + tests.share * pages:
                rule.tests.add(identity)
            chosen |= identity in rule.tests
        if chosen and _per_cent(identity) % 2:  # the others in their turn: sites change
            self._chosen.append(identity)
        return chosen


def _per_cent(identity: str) -> int:
    """Return a number below 100 that a URL always has."""
    return int.from_bytes(hashlib.blake2b(identity.encode(), digest_size=4).digest()) % 100


class Probe(NamedTuple):
    """A request whose answer only the learning needs."""

    url: str
    priority: int = QUESTION  # as of a queued URL: its answer decides something
