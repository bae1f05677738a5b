"""What the pages of one host say: its template, its noise, and which pages say the same.

Pure. The answers depend on the set of sketches that were given, never on their order.
"""

from typing import NamedTuple, TypeVar
from zlib import crc32

from canonry.crawler.content.differences import NO_DIFFERENCE, Difference, Differences
from canonry.crawler.content.noise import (
    Changing,
    Noise,
    differing_numbers,
    differing_passages,
    have_other_links,
)
from canonry.crawler.content.page_sample import FEW_PAGES, PageSample
from canonry.crawler.content.similarity import in_range
from canonry.crawler.content.sketch import Sketch

_T = TypeVar("_T", Sketch, tuple[Sketch, Sketch])

_PAIRS = 64  # of answers of one URL that are kept
_MISSING = 16  # pages for what does not exist that are kept
_FEW_SHINGLES = 4  # with fewer, two texts cannot be compared
_OTHER = 0.5  # of the shingles shared: with fewer, another text
_NOTHING_SHARED = 0.1  # of the shingles: with fewer, another text, also if noise is not measured
_ENOUGH = 12  # shingles, to say so
_LIKE_MISSING = 0.8  # of the shingles shared, with the template
_MOST_NOISE = 0.25  # of the shingles that may differ
_ROUNDING = 0.5  # of a shingle
_FEW_PAIRS = 4  # answers of one URL without a word that changed, before many others say something
_PAIRS_WITH_ONE = 4  # that pairs are worth of which one page is in all: so is its teaser
_PAIRS_OF_WORDS = 10  # answers of one URL without a word that changed, before one other does


class _Compared(NamedTuple):
    """What two pages have of their own, of the same range."""

    here: set[int]
    there: set[int]

    @property
    def comparable(self) -> int:
        """How many shingles there are to compare."""
        return len(self.here | self.there)

    @property
    def shared(self) -> int:
        """How many of them both pages have."""
        return len(self.here & self.there)

    @property
    def differing(self) -> int:
        """How many of them only one of the two has."""
        return len(self.here ^ self.there)

    @property
    def is_mostly_other(self) -> bool:
        """Return True if they share less than half of them."""
        return self.shared < self.comparable * _OTHER

    @property
    def share_nothing(self) -> bool:
        """Return True if they share hardly any, of enough to say so."""
        return self.comparable >= _ENOUGH and self.shared < self.comparable * _NOTHING_SHARED


class Comparison(NamedTuple):
    """How two pages compare.

    Attributes:
        same: True if they say the same, False if they clearly do not, None if that is not known.
        difference: how much they differ, if they may be the same and were compared.
        in_doubt: True if all that differs may be what changes by itself. Then it is worth fetching
            one of them twice. Pages with too little text of their own cannot be compared, however
            much is known of the noise.
        apart: where that is not known, and both pages were asked again: True if something that
            differs stays, False if nothing does, None if more answers have to tell.
        steady: how much differs that was never seen to change: buckets of numbers and of
            passages, and 1 if the links do.
    """

    same: bool | None
    difference: Difference = NO_DIFFERENCE
    in_doubt: bool = False
    apart: bool | None = None
    steady: int = 0


class HostText:
    """What the pages of one host say.

    Attributes:
        generation: grows when `same` may answer otherwise than before.
    """

    def __init__(self) -> None:
        """Start without pages."""
        self.generation = 0
        self._pages = PageSample()
        self._pairs: dict[tuple[Sketch, Sketch], None] = {}
        self._missing: dict[Sketch, None] = {}
        self._noise = Noise()
        self._changing = Changing()
        self._measured_at = 0  # changes of the sample; -1 if there are other pairs since
        self._judged_at = 0  # pages, when the generation grew last

    def add(self, encoded: bytes) -> None:
        """Add the encoded sketch of the page of a URL that answered 200."""
        self._pages.add(encoded)
        if self._pages.added > self._judged_at + self._judged_at // 8:
            self._judged_at = self._pages.added
            self.generation += 1

    def twice(self, one: Sketch, other: Sketch) -> None:
        """Add two answers of one URL: what differs between them changes by itself."""
        if _keep(self._pairs, (min(one, other), max(one, other)), _PAIRS):
            self._noise = Noise.of(self._pairs)
            self._measured_at = -1
            self.generation += 1

    def missing(self, sketch: Sketch) -> None:
        """Add how the host answers 200 for what does not exist."""
        if _keep(self._missing, sketch, _MISSING):
            self.generation += 1

    def compare(self, one: Sketch, other: Sketch) -> Comparison:
        """Compare the pages of two URLs."""
        few = self._pages.size < FEW_PAGES
        is_known = not (few or self._is_missing(one) or self._is_missing(other))
        if is_known and self._headings_differ(one, other):
            return Comparison(same=False)
        changes = dict(differing_numbers(one, other))
        numbers = {at: change for at, change in changes.items() if at not in self._noise.numbers}
        if is_known and (self._noise.are_of_another(numbers) or self._have_other_words(one, other)):
            return Comparison(same=False)
        end, own = min(one.end, other.end), self._compared(one, other)
        if own.comparable < _FEW_SHINGLES:
            return Comparison(None)
        in_doubt = one.heading == other.heading and not own.share_nothing
        if not is_known:
            return Comparison(None, in_doubt=in_doubt)
        if self._is_another_text(own, end):
            return Comparison(same=False)
        steady = len(numbers) + len(self._other_passages(one, other))
        steady += not self._noise.links and have_other_links(one, other)
        same = True if not steady and self._is_noise(one, other, own, end) else None
        difference = Difference(own.differing, end, sum(1 << at for at in changes))
        return Comparison(same, difference, in_doubt, steady=steady)

    @property
    def changes(self) -> bool:
        """Return True if words or numbers were seen to change by themselves."""
        return self._noise.text or bool(self._noise.numbers)

    @property
    def is_measured(self) -> bool:
        """Return True if enough answers of one URL tell what changes by itself."""
        return self._noise.pairs >= _FEW_PAIRS

    @property
    def answers_to_be_sure(self) -> int:
        """How often a page has to answer once more as before, until that is hardly chance."""
        return self._noise.answers_to_be_sure

    def differ_more(self, found: Differences, *, with_one: bool = False) -> bool:
        """Return True if pairs of pages differ more than answers of one URL from each other.

        No single pair shows that, where all differ by a sentence and a teaser changes more; or
        where too few answers were seen to say that no word ever changes.

        Args:
            found: how much the pairs differ.
            with_one: True if one page is in all pairs.
        """
        measured = self._noise.text or self._noise.pairs >= _FEW_PAIRS
        if not measured or not found.watched:
            return False
        pairs = _PAIRS_WITH_ONE if with_one else found.pages
        if self._measured().is_exceeded_by(found, pairs):
            return True
        return self._noise.is_exceeded_by(found)

    def are_others(self, one: Sketch, other: Sketch) -> bool:
        """Return True if two pages clearly differ, so that one cannot stand for the other.

        That is asked of a page and the one that its canonical link names: the site says that they
        are the same, so numbers, or other words here and there, are no objection.
        """
        if self._pages.size < FEW_PAGES:
            return False
        if self._headings_differ(one, other):
            return True
        own = self._compared(one, other)
        return own.is_mostly_other and self._is_another_text(own, min(one.end, other.end))

    def _headings_differ(self, one: Sketch, other: Sketch) -> bool:
        return one.heading != other.heading and not self._noise.heading

    def _have_other_words(self, one: Sketch, other: Sketch) -> bool:
        """Return True if words of two pages differ, where in many answers of one URL none did.

        There a line more or less is no noise, however short it is.
        """
        never = self._noise.pairs >= _PAIRS_OF_WORDS and not self._noise.text
        return never and one.text != other.text

    def _other_passages(self, one: Sketch, other: Sketch) -> set[int]:
        """Return the buckets of passages whose words differ, and do not change by themselves.

        The words of a teaser change; those of a price do not, which stand under another tag. One
        word is enough. It proves nothing, but such pages are asked again. If all words are the
        same, some only stand elsewhere, as where a menu marks the current place with a class.
        """
        if one.text == other.text:
            return set()
        return differing_passages(one, other) - self._noise.passages

    def _is_another_text(self, own: _Compared, end: int) -> bool:
        """Return True if more differs between two pages than may change by itself.

        Args:
            own: their own shingles.
            end: the hash up to which they were compared.
        """
        if not self._pairs:
            return own.share_nothing
        if not self._noise.text:
            return own.comparable >= _FEW_SHINGLES and own.differing > 1 and own.is_mostly_other
        most = self._measured().most(end)
        return own.differing > most or (own.share_nothing and own.comparable > most)

    def _is_noise(self, one: Sketch, other: Sketch, own: _Compared, end: int) -> bool:
        """Return True if the host's noise explains all that differs between two pages.

        Args:
            one: a page.
            other: another one; their numbers differ in no bucket that does not change by itself.
            own: their own shingles.
            end: the hash up to which they were compared.
        """
        if one.numbers != other.numbers and self._noise.hides_numbers:
            return False
        if one.text == other.text:
            return True
        expected = self._measured().expected(end)
        most = min(2 * expected + _ROUNDING, _MOST_NOISE * own.comparable)
        return self._noise.text and own.differing <= most

    def _is_missing(self, sketch: Sketch) -> bool:
        """Return True if a page is, or is like, what the host answers for what does not exist."""
        for missing in self._missing:
            if sketch.heading == missing.heading:
                found = _Compared(*in_range(sketch, missing))
                if found.shared >= _LIKE_MISSING * found.comparable:
                    return True
        return False

    def _measured(self) -> Changing:
        """Return how many shingles change by themselves, with the template of today."""
        now = self._pages.changes
        if self._measured_at != now:
            self._changing = Changing.of(
                [
                    (self._compared(one, other).differing, min(one.end, other.end))
                    for one, other in self._pairs
                ]
            )
            self._measured_at = now
        return self._changing

    def _compared(self, one: Sketch, other: Sketch) -> _Compared:
        """Compare what two pages have of their own."""
        here, there = in_range(one, other)
        own = self._pages.own(here | there)
        return _Compared(here & own, there & own)


def _keep(kept: dict[_T, None], new: _T, most: int) -> bool:
    """Add to a set that keeps the entries with the smallest hashes; return True if it changed."""
    if new in kept:
        return False
    kept[new] = None
    if len(kept) > most:
        last = max(kept, key=lambda entry: (crc32(repr(entry).encode()), entry))
        del kept[last]
        return last != new
    return True
