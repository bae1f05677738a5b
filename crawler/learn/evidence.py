"""Evidence for a rule: pairs of URLs and their verdicts, counted by classes. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.canon.learned import Rewrite, RuleState
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, PageComparison, PageVerdict
from canonry.storage.learned.ledger import CONTENT, MINED, OWN_WORD
from canonry.storage.learned.rule_rows import URLPair

# Kept for a rule; beyond these, only pairs that differ are added, and none of a rule that has lost.
_MOST_PAIRS = 200
_MOST_FRESH = 1_000  # more than one transaction brings; in a log, no rule has parts before its end
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


class PairTally:
    """Counts pairs by classes while they change: a class with one pair that differs is different.

    Attributes:
        counts: of the classes, at any time.
    """

    def __init__(self, pairs: Iterable[JudgedPair] = ()) -> None:
        """Count some pairs."""
        self.counts = ClassTally()
        self._classes: dict[str, _PairsOfClass] = {}  # by their key
        for pair in pairs:
            self.add(pair)

    def add(self, pair: JudgedPair, number: int = 1) -> None:
        """Count a pair, in the same time however many there are.

        Args:
            pair: to count.
            number: -1 to take it out again.
        """
        found = self._classes.get(pair.key, _NO_PAIRS)
        is_same = number * (pair.verdict is PageVerdict.SAME)
        is_different = number * (pair.verdict is PageVerdict.DIFFERENT)
        changed = _PairsOfClass(
            found.all + number,
            found.same + is_same,
            found.different + is_different,
            found.final + is_different * pair.is_final,
            found.own_word + is_same * pair.own_word,
            found.crawled + is_same * (pair.source != MINED),
            found.asked + number * pair.is_asked,
        )
        if changed.all:
            self._classes[pair.key] = changed
        else:
            del self._classes[pair.key]
        before, after = found.counts, changed.counts
        if before != after:
            each = zip(self.counts, before, after, strict=True)
            self.counts = ClassTally(*(count - old + new for count, old, new in each))


class _PairsOfClass(NamedTuple):
    """How many pairs of one class there are, and what they say."""

    all: int = 0
    same: int = 0
    different: int = 0
    final: int = 0  # of the different ones
    own_word: int = 0  # of the same ones
    crawled: int = 0  # of the same ones
    asked: int = 0

    @property
    def counts(self) -> ClassTally:
        """What the class adds to a tally."""
        is_same = self.same > 0 and not self.different
        is_unknown = self.all > 0 and not (self.same or self.different)
        return ClassTally(
            int(is_same),
            int(self.different > 0),
            int(self.final > 0),
            int(is_unknown),
            int(is_unknown and self.asked > 0),
            int(is_same and self.own_word > 0),
            self.same - 1 if is_same else 0,
            int(is_same and not self.crawled),
            int(self.same > 0 and self.different > 0),
        )


_NO_PAIRS = _PairsOfClass()
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
    fresh: dict[URLPair, JudgedPair] = field(default_factory=dict)  # for the rules of its parts
    unsaved: set[URLPair] = field(default_factory=set)  # pairs that changed since the last save
    given: ClassTally = _NONE  # evidence without pairs, of rules that were imported
    first_seen: float = 0.0  # seconds since 1970; 0: not stored yet
    entered_at: float = 0.0  # when it entered its state
    _mended: dict[URLPair, JudgedPair] = field(default_factory=dict)
    _counted: PairTally = field(default_factory=PairTally)

    @property
    def tally(self) -> ClassTally:
        """The evidence, counted by classes."""
        counts = self._counted.counts
        return counts if self.given is _NONE else ClassTally(*map(int.__add__, counts, self.given))

    @property
    def is_out(self) -> bool:
        """True for a candidate that will hardly become active: too much evidence is against it."""
        counts = self.tally
        is_doubted = counts.different > 1 + _DOUBTED * counts.same
        return self.state == "candidate" and (counts.refuted > 0 or is_doubted)

    @property
    def has_lost(self) -> bool:
        """True if more evidence against it would change nothing."""
        return self.state == "revoked" or self.is_out

    @property
    def weight(self) -> float:
        """The number of same classes; further URLs count a fraction, or fully for one page."""
        if self.rewrite.family == "parameter-of-page":
            return self.tally.names + 1
        names = self.tally.names / NAMES_FOR_A_CLASS
        return self.tally.same + (names if self.is_widespread else min(names, self.tally.same))

    @property
    def is_mended(self) -> bool:
        """True for a revoked rule if all pairs that differed are the same in this run."""
        differ = (pair.verdict is PageVerdict.DIFFERENT for pair in self.pairs.values())
        return bool(self._mended) and len(self._mended) == sum(differ)

    def accept_mended(self) -> None:
        """Take the pairs that differed for the same."""
        for urls, pair in self._mended.items():
            self.restore(urls, pair)
            self.unsaved.add(urls)
        self._mended.clear()

    def put(self, urls: URLPair, pair: JudgedPair, share: float = 1.0) -> None:
        """Store the verdict on a pair, in place of its previous one.

        The site's own word stays, unless a comparison found that much is different.

        Args:
            urls: the pair.
            pair: the verdict on it.
            share: how much differs of the stable text that is the two pages' own.
        """
        before = self.pairs.get(urls)
        self._mended.pop(urls, None)
        is_different = pair.verdict is PageVerdict.DIFFERENT
        is_word = before is not None and before.own_word and not pair.own_word
        if before == pair or (is_word and not (is_different and share >= _REFUTES)):
            return
        is_full = before is None and len(self.pairs) >= _MOST_PAIRS
        if is_full and not is_different:
            return
        if len(self.fresh) < _MOST_FRESH:
            self.fresh[urls] = pair
        if is_full and self.has_lost:
            return
        if self.state == "revoked" and before and before.verdict is PageVerdict.DIFFERENT:
            if pair.verdict is PageVerdict.SAME:  # until then, it stays what the rule ended for
                self._mended[urls] = pair
                self.is_undecided = True
            return
        self.restore(urls, pair)
        self.is_undecided = True
        self.unsaved.add(urls)

    def restore(self, urls: URLPair, pair: JudgedPair) -> None:
        """Store the verdict on a pair as it was stored before."""
        if (before := self.pairs.get(urls)) is not None:
            self._counted.add(before, -1)
        self.pairs[urls] = pair
        self._counted.add(pair)
