"""What the pages of one host say: its template, its noise, and which pages say the same.

Pure. The answers depend on the set of sketches that were given, never on their order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar
from zlib import crc32

from canonry.crawler.content.page_sample import FEW_PAGES, PageSample
from canonry.crawler.content.plain_scan import NUMBERS
from canonry.crawler.content.sketch import WHOLE, Sketch

_T = TypeVar("_T", Sketch, tuple[Sketch, Sketch])

_PAIRS = 64  # of answers of one URL that are kept
_MISSING = 16  # pages for what does not exist that are kept
_FEW_SHINGLES = 4  # with fewer, two texts cannot be compared
_FEW_IN_NOISE = 8  # with fewer, a teaser makes another text of a page
_OTHER = 0.5  # of the shingles shared: with fewer, another text
_LIKE_MISSING = 0.8  # of the shingles shared, with the template
_MOST_NOISE = 0.25  # of the shingles that may differ
_ROUNDING = 0.5  # of a shingle
_MOST_MASKED = NUMBERS // 3  # buckets of numbers: with more, they prove nothing
_PAIRS_FOR_NUMBERS = 4  # answers of one URL, before numbers say that pages differ
_TOO_MANY = 3  # shingles beyond twice the noise
_NUMBERS_OF_ANOTHER = 2  # buckets that differ


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


class _Noise(NamedTuple):
    """What changes from one answer of a URL to the next."""

    pairs: int = 0  # that it was measured on
    numbers: frozenset[int] = frozenset()  # buckets
    settled: bool = True  # True if every bucket was seen to change in two pairs
    heading: bool = False
    text: bool = False


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
        self._noise = _Noise()
        self._judged_at = 0  # pages, when the generation grew last

    def add(self, sketch: Sketch) -> None:
        """Add the page of a URL that answered 200."""
        self._pages.add(sketch)
        if self._pages.added > self._judged_at + self._judged_at // 8:
            self._judged_at = self._pages.added
            self.generation += 1

    def twice(self, one: Sketch, other: Sketch) -> None:
        """Add two answers of one URL: what differs between them changes by itself."""
        if _keep(self._pairs, (min(one, other), max(one, other)), _PAIRS):
            self._noise = _measured(self._pairs)
            self.generation += 1

    def missing(self, sketch: Sketch) -> None:
        """Add how the host answers 200 for what does not exist."""
        if _keep(self._missing, sketch, _MISSING):
            self.generation += 1

    def same(self, one: Sketch, other: Sketch) -> bool | None:
        """Compare the pages of two URLs.

        Returns:
            True if they say the same, False if they clearly do not, None if that cannot be told.
        """
        if self._pages.size < FEW_PAGES or self._is_missing(one) or self._is_missing(other):
            return None
        own = self._compared(one, other)
        explained = self._explained(min(one.end, other.end))
        numbers = {at for at in _differing(one, other) if at not in self._noise.numbers}
        if one.heading != other.heading and not self._noise.heading:
            return False
        if self._are_numbers_of_another(numbers):
            return False
        if own.comparable < _FEW_SHINGLES:
            return None
        if self._is_another_text(own, explained):
            return False
        return True if not numbers and self._is_noise(one, other, own, explained) else None

    def may_be_noise(self, one: Sketch, other: Sketch) -> bool:
        """Return True if all that differs between two pages may be what changes by itself.

        Then it is worth to fetch one of them twice. Pages with too little text of their own cannot
        be compared, whatever is known of the noise.
        """
        own = self._compared(one, other)
        alike = own.comparable >= _FEW_SHINGLES and own.shared >= own.comparable * _OTHER
        return alike and one.heading == other.heading

    def _is_another_text(self, own: _Compared, explained: float) -> bool:
        """Return True if more differs between two pages than may change by itself.

        Args:
            own: their own shingles.
            explained: how many shingles are expected to differ.
        """
        if self._noise.pairs >= _PAIRS_FOR_NUMBERS and own.differing > 2 * explained + _TOO_MANY:
            return True
        quiet = bool(self._pairs) and not self._noise.text
        enough = own.comparable >= (_FEW_SHINGLES if quiet else _FEW_IN_NOISE)
        another = own.differing > 2 * explained + 1 and own.shared < own.comparable * _OTHER
        return enough and another

    def _is_noise(self, one: Sketch, other: Sketch, own: _Compared, explained: float) -> bool:
        """Return True if the host's noise explains all that differs between two pages.

        Args:
            one: a page.
            other: another one; their numbers differ in no bucket that does not change by itself.
            own: their own shingles.
            explained: how many shingles are expected to differ.
        """
        if one.numbers != other.numbers and len(self._noise.numbers) > _MOST_MASKED:
            return False
        if one.text == other.text:
            return True
        most = min(2 * explained + _ROUNDING, _MOST_NOISE * own.comparable)
        return self._noise.text and own.differing <= most

    def _is_missing(self, sketch: Sketch) -> bool:
        """Return True if a page is, or is like, what the host answers for what does not exist."""
        for missing in self._missing:
            found = _Compared(*_in_range(sketch, missing))
            if sketch.heading == missing.heading and (
                found.shared >= _LIKE_MISSING * found.comparable
            ):
                return True
        return False

    def _are_numbers_of_another(self, differing: set[int]) -> bool:
        """Return True if the numbers that differ are those of another page, not noise.

        A clock that shows minutes does not differ between two answers of a second: so one bucket
        of numbers is not enough, except that of the headings.
        """
        known = self._noise.pairs >= _PAIRS_FOR_NUMBERS and self._noise.settled
        return known and (0 in differing or len(differing) >= _NUMBERS_OF_ANOTHER)

    def _explained(self, end: int) -> float:
        """Return how many shingles up to a hash are expected to change by themselves."""
        changing = 0.0  # shingles of a whole page
        for one, other in self._pairs:
            share = min(one.end, other.end) / WHOLE
            changing += self._compared(one, other).differing / share / len(self._pairs)
        return changing * end / WHOLE

    def _compared(self, one: Sketch, other: Sketch) -> _Compared:
        """Compare what two pages have of their own."""
        here, there = _in_range(one, other)
        return _Compared(set(self._pages.own(here)), set(self._pages.own(there)))


def _in_range(one: Sketch, other: Sketch) -> tuple[set[int], set[int]]:
    """Return the shingles of two pages in the range in which both sketches are complete."""
    end = min(one.end, other.end)
    return {s for s in one.shingles if s <= end}, {s for s in other.shingles if s <= end}


def _differing(one: Sketch, other: Sketch) -> Iterator[int]:
    """Yield the buckets of numbers that differ."""
    for at in range(NUMBERS):
        if one.numbers[at] != other.numbers[at]:
            yield at


def _measured(pairs: Iterable[tuple[Sketch, Sketch]]) -> _Noise:
    """Return what differs between the answers of one URL."""
    found = list(pairs)
    changed = Counter(at for one, other in found for at in _differing(one, other))
    return _Noise(
        len(found),
        frozenset(changed),
        all(times > 1 for times in changed.values()),
        any(one.heading != other.heading for one, other in found),
        any(one.text != other.text for one, other in found),
    )


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
