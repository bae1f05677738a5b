"""Evidence for a rule: pairs of URLs, and what they turned out to be, counted by classes. Pure."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.canon.learned import Rewrite, RuleState
from canonry.crawler.learn.text.comparison import MOST_ANSWERS, PageComparison, PageVerdict
from canonry.storage.learned.ledger import CONTENT, MINED, OWN_WORD
from canonry.storage.learned.tracked_rule import URLPair

_MOST_PAIRS = 200  # of a rule; more only if they differ
_REFUTES = 0.3  # of what is own that differs: so much refutes the site's own word
_DOUBTED = 0.1  # classes that differ, of those that are the same: so few are asked again
NAMES_FOR_A_CLASS = 4  # further names of a page, that count as one more page


def pair_of(one: str, other: str) -> URLPair:
    """Return a pair, whichever of the two comes first."""
    return (one, other) if one < other else (other, one)


class JudgedPair(NamedTuple):
    """Two URLs that a rule makes one, and what they turned out to be."""

    key: str  # of their class: what the rule makes of them
    verdict: PageVerdict
    source: int = CONTENT  # or the site itself says so, by a redirect or a canonical link
    answers: int = MOST_ANSWERS  # of the one that has fewer

    @property
    def own_word(self) -> bool:
        """True if the site itself says so."""
        return self.source == OWN_WORD

    @property
    def is_asked(self) -> bool:
        """True if both have answered more than once."""
        return self.answers > 1

    @property
    def is_final(self) -> bool:
        """True if no more answers are asked for."""
        return self.answers >= MOST_ANSWERS


class ClassTally(NamedTuple):
    """How many classes are the same, different and unknown."""

    same: int = 0
    different: int = 0
    refuted: int = 0  # of those that are different, by all the answers that are asked for
    unknown: int = 0
    undecidable: int = 0  # of those that are unknown, although both URLs were asked again
    own_word: int = 0  # of those that are the same
    names: int = 0  # further names of those that are the same
    mined: int = 0  # of those that are the same: no crawl with this store has seen it
    in_part: int = 0  # of those that are different, how many have pairs that are the same, too


def tally(pairs: Collection[JudgedPair]) -> ClassTally:
    """Count pairs by classes: a class with one pair that differs is different."""
    names = Counter(pair.key for pair in pairs if pair.verdict is PageVerdict.SAME)
    different = {pair.key for pair in pairs if pair.verdict is PageVerdict.DIFFERENT}
    refuted = {p.key for p in pairs if p.verdict is PageVerdict.DIFFERENT and p.is_final}
    own = {pair.key for pair in pairs if pair.verdict is PageVerdict.SAME and pair.own_word}
    seen = {p.key for p in pairs if p.verdict is PageVerdict.SAME and p.source != MINED}
    same = names.keys() - different
    unknown = {pair.key for pair in pairs} - different - same
    asked = {pair.key for pair in pairs if pair.is_asked} & unknown
    return ClassTally(
        len(same),
        len(different),
        len(refuted),
        len(unknown),
        len(asked),
        len(own & same),
        sum(names[key] - 1 for key in same),
        len(same - seen),
        len(names.keys() & different),
    )


_NONE = ClassTally()


@dataclass(slots=True)
class RuleEvidence:
    """A rule, the pairs that speak for it or against it, and its state."""

    rewrite: Rewrite
    state: RuleState = "candidate"
    pairs: dict[URLPair, JudgedPair] = field(default_factory=dict)
    open: dict[URLPair, PageComparison] = field(default_factory=dict)  # asking more may decide them
    tests: set[str] = field(default_factory=set)  # URLs that are fetched although it is active
    classes: set[int] = field(default_factory=set)  # whose URLs it could hold, by hashes
    tests_before: int = 0  # so many earlier, by this process or others
    tests_saved: int = 0  # of the tests, how many the store knows
    asked_first: int = 0  # URLs that were requested before others, to decide it
    extra: int = 0  # requests for learning alone since it is active
    is_widespread: bool = False  # most pages of the site are the same under names that it makes one
    is_undecided: bool = True  # there is evidence on which no decision was made yet
    unsaved: set[URLPair] = field(default_factory=set)  # pairs that the store does not have so
    given: ClassTally = _NONE  # evidence without pairs, of rules that were imported
    first_seen: float = 0.0  # seconds since 1970; 0: the store does not have it yet
    entered_at: float = 0.0  # when it entered its state
    _tally: ClassTally | None = None

    @property
    def tally(self) -> ClassTally:
        """The evidence by classes."""
        if self._tally is None:
            found = tally(self.pairs.values())
            self._tally = ClassTally(*map(int.__add__, found, self.given))
        return self._tally

    @property
    def is_out(self) -> bool:
        """True for a candidate that so much speaks against that it will hardly act."""
        is_doubted = self.tally.different > 1 + _DOUBTED * self.tally.same
        return self.state == "candidate" and (self.tally.refuted > 0 or is_doubted)

    @property
    def weight(self) -> float:
        """How many classes are the same; further names of them count a little, of one page all."""
        if self.rewrite.family == "parameter-of-page":
            return self.tally.names + 1
        names = self.tally.names / NAMES_FOR_A_CLASS
        return self.tally.same + (names if self.is_widespread else min(names, self.tally.same))

    def put(self, urls: URLPair, pair: JudgedPair, share: float = 1.0) -> None:
        """Put what a pair turned out to be, in place of what it was before.

        The site's own word stands, unless pages were compared, and much is different.

        Args:
            urls: the pair.
            pair: what it is.
            share: of what stays in the two and is their own, how much differs.
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
