"""Evidence for a rule: pairs of URLs and their verdicts, counted by classes. Pure."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.canon.learned import Rewrite, RuleState
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, PageComparison, PageVerdict
from canonry.storage.learned.ledger import CONTENT, MINED, OWN_WORD
from canonry.storage.learned.tracked_rule import URLPair

_MOST_PAIRS = 200  # kept for a rule; beyond these, only pairs that differ are added
_REFUTES = 0.3  # if this much of the pages' own text differs, the site's own word is ignored
_DOUBTED = 0.1  # different classes per same class; a candidate with more is given up
NAMES_FOR_A_CLASS = 4  # this many further URLs of a page count as one more page


def pair_of(one: str, other: str) -> URLPair:
    """Return two URLs as a pair, in sorted order."""
    return (one, other) if one < other else (other, one)


class JudgedPair(NamedTuple):
    """Two URLs that a rule makes equal, and the verdict on them."""

    key: str  # of their class: the URL that the rule makes of both
    verdict: PageVerdict
    source: int = CONTENT  # or OWN_WORD (redirect, canonical link) or MINED
    answers: int = MOST_ANSWERS  # of the URL that has fewer

    @property
    def own_word(self) -> bool:
        """True if the site itself said so, by a redirect or a canonical link."""
        return self.source == OWN_WORD

    @property
    def is_asked(self) -> bool:
        """True if both URLs have answered more than once."""
        return self.answers > 1

    @property
    def is_final(self) -> bool:
        """True if no more answers are requested."""
        return self.answers >= MOST_ANSWERS


class ClassTally(NamedTuple):
    """How many classes are the same, different and unknown."""

    same: int = 0
    different: int = 0
    refuted: int = 0  # of the different ones: decided by the most answers
    unknown: int = 0
    undecidable: int = 0  # of the unknown ones: both URLs were requested again
    own_word: int = 0  # of the same ones: by a redirect or a canonical link
    names: int = 0  # further URLs of the same ones
    mined: int = 0  # of the same ones: no crawl with this store has seen it
    in_part: int = 0  # of the different ones: some of their pairs are the same


def tally(pairs: Collection[JudgedPair]) -> ClassTally:
    """Count pairs by classes: a class with one pair that differs is different."""
    names = Counter(pair.key for pair in pairs if pair.verdict is PageVerdict.SAME)
    different = {pair.key for pair in pairs if pair.verdict is PageVerdict.DIFFERENT}
    refuted = {p.key for p in pairs if p.verdict is PageVerdict.DIFFERENT and p.is_final}
    by_own_word = {pair.key for pair in pairs if pair.verdict is PageVerdict.SAME and pair.own_word}
    crawled = {p.key for p in pairs if p.verdict is PageVerdict.SAME and p.source != MINED}
    same = names.keys() - different
    unknown = {pair.key for pair in pairs} - different - same
    undecidable = {pair.key for pair in pairs if pair.is_asked} & unknown
    return ClassTally(
        len(same),
        len(different),
        len(refuted),
        len(unknown),
        len(undecidable),
        len(by_own_word & same),
        sum(names[key] - 1 for key in same),
        len(same - crawled),
        len(names.keys() & different),
    )


_NONE = ClassTally()


@dataclass(slots=True)
class RuleEvidence:
    """A rule, the pairs for and against it, and its state."""

    rewrite: Rewrite
    state: RuleState = "candidate"
    pairs: dict[URLPair, JudgedPair] = field(default_factory=dict)
    open: dict[URLPair, PageComparison] = field(default_factory=dict)  # undecided ones
    tests: set[str] = field(default_factory=set)  # URLs that are fetched although it is active
    classes: set[int] = field(default_factory=set)  # hashes of the classes that it could hold
    tests_before: int = 0  # number of tests when it was loaded
    tests_saved: int = 0  # how many of the tests the store knows
    asked_first: int = 0  # queued URLs that were requested early to decide it
    extra: int = 0  # learning requests while it was active
    is_widespread: bool = False  # it holds for most pages of the site
    is_undecided: bool = True  # there is new evidence since the last decision
    unsaved: set[URLPair] = field(default_factory=set)  # pairs that changed since the last save
    given: ClassTally = _NONE  # evidence without pairs, of rules that were imported
    first_seen: float = 0.0  # seconds since 1970; 0: not stored yet
    entered_at: float = 0.0  # when it entered its state
    _tally: ClassTally | None = None

    @property
    def tally(self) -> ClassTally:
        """The evidence, counted by classes."""
        if self._tally is None:
            found = tally(self.pairs.values())
            self._tally = ClassTally(*map(int.__add__, found, self.given))
        return self._tally

    @property
    def is_out(self) -> bool:
        """True for a candidate that will hardly become active: too much evidence is against it."""
        is_doubted = self.tally.different > 1 + _DOUBTED * self.tally.same
        return self.state == "candidate" and (self.tally.refuted > 0 or is_doubted)

    @property
    def weight(self) -> float:
        """The number of same classes; further URLs count a fraction, or fully for one page."""
        if self.rewrite.family == "parameter-of-page":
            return self.tally.names + 1
        names = self.tally.names / NAMES_FOR_A_CLASS
        return self.tally.same + (names if self.is_widespread else min(names, self.tally.same))

    def put(self, urls: URLPair, pair: JudgedPair, share: float = 1.0) -> None:
        """Store the verdict on a pair, in place of its previous one.

        The site's own word stays, unless a comparison found that much is different.

        Args:
            urls: the pair.
            pair: the verdict on it.
            share: how much differs of the stable text that is the two pages' own.
        """
        before = self.pairs.get(urls)
        is_different = pair.verdict is PageVerdict.DIFFERENT
        is_word = before is not None and before.own_word and not pair.own_word
        if is_word and not (is_different and share >= _REFUTES):
            return
        has_room = before is not None or len(self.pairs) < _MOST_PAIRS
        if before != pair and (has_room or is_different):
            self.pairs[urls] = pair
            self._tally = None
            self.is_undecided = True
            self.unsaved.add(urls)
