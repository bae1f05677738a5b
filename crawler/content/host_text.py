"""What the pages of one host say: its template, its noise, and which pages say the same.

Pure. The answers depend on the set of sketches that were given, never on their order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from math import sqrt
from types import MappingProxyType
from typing import NamedTuple, TypeVar
from zlib import crc32

from canonry.crawler.content.differences import (
    NO_DIFFERENCE,
    Difference,
    Differences,
    chance_of_so_few,
    chance_of_so_many,
    spread_of,
)
from canonry.crawler.content.page_sample import FEW_PAGES, PageSample
from canonry.crawler.content.plain_scan import NUMBERS
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
_MOST_MASKED = NUMBERS // 3  # buckets of numbers: where more change at once, they prove nothing
_PAIRS_TO_MASK = 10  # answers of one URL, before more may change from time to time
_PAIRS_FOR_NUMBERS = 4  # answers of one URL, before numbers say that pages differ
_PAIRS_FOR_RARE = 8  # for each bucket that was seen to change only twice
_DEVIATIONS = 3  # standard deviations that noise stays within
_TOO_MANY = 3  # shingles beyond that
_RARE = 0.05  # how often pairs that say the same are thought to differ too much
_RARE_IN_NUMBERS = 0.01  # the same, for each bucket of numbers
_FAR_MORE = 0.25  # of all pairs
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

    @property
    def is_mostly_other(self) -> bool:
        """Return True if they share less than half of them."""
        return self.shared < self.comparable * _OTHER

    @property
    def share_nothing(self) -> bool:
        """Return True if they share hardly any, of enough to say so."""
        return self.comparable >= _ENOUGH and self.shared < self.comparable * _NOTHING_SHARED


class _Noise(NamedTuple):
    """What changes from one answer of a URL to the next."""

    pairs: int = 0  # that it was measured on
    numbers: Mapping[int, int] = MappingProxyType({})  # buckets, and in how many pairs they do
    settled: bool = True  # True if hardly any bucket was not seen yet that changes, too
    heading: bool = False
    text: bool = False

    @property
    def masks_many(self) -> bool:
        """Return True if so many buckets of numbers change that one alone says little."""
        return len(self.numbers) > _MOST_MASKED

    @property
    def hides_numbers(self) -> bool:
        """Return True if numbers prove nothing, since too many of them change from time to time.

        Where the related products of a shop change, all buckets may be seen to change, but few of
        them at once. Those that change seldom do not hide what always differs (`differ_more`).
        """
        at_once = sum(self.numbers.values())
        few = self.pairs < _PAIRS_TO_MASK or at_once > _MOST_MASKED * self.pairs
        return self.masks_many and few


class _Changing(NamedTuple):
    """How many shingles change by themselves: in a part of a page as many as its share."""

    changed: int = 0  # in all answers that were compared
    watched: int = 0  # the sum of the hashes up to which they could be compared
    spread: float = 1.0  # how much more their number varies than Poisson's: they come in groups

    def expected(self, end: int) -> float:
        """Return how many are expected to differ between two answers, up to a hash."""
        return self.changed / self.watched * end if self.watched else 0.0

    def most(self, end: int) -> float:
        """Return how many may differ, by the rate that is hardly exceeded (Poisson)."""
        mean = (self.changed + sqrt(self.changed) + 1) / self.watched * end
        return mean + _DEVIATIONS * sqrt(mean * self.spread) + _TOO_MANY


class Comparison(NamedTuple):
    """How two pages compare.

    Attributes:
        same: True if they say the same, False if they clearly do not, None if that is not known.
        difference: how much they differ, if they may be the same and were compared.
        in_doubt: True if all that differs may be what changes by itself. Then it is worth to fetch
            one of them twice; pages with too little text of their own cannot be compared, whatever
            is known of the noise.
    """

    same: bool | None
    difference: Difference = NO_DIFFERENCE
    in_doubt: bool = False


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
        self._changing = _Changing()
        self._measured_at = (0, 0)  # pairs and pages
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
            self._noise = _noise_of(self._pairs)
            self.generation += 1

    def missing(self, sketch: Sketch) -> None:
        """Add how the host answers 200 for what does not exist."""
        if _keep(self._missing, sketch, _MISSING):
            self.generation += 1

    def compare(self, one: Sketch, other: Sketch) -> Comparison:
        """Compare the pages of two URLs."""
        changes = dict(_differing(one, other))
        numbers = {at: change for at, change in changes.items() if at not in self._noise.numbers}
        few = self._pages.size < FEW_PAGES
        is_known = not (few or self._is_missing(one) or self._is_missing(other))
        if is_known and (self._headings_differ(one, other) or self._are_of_another(numbers)):
            return Comparison(same=False)
        end, own = min(one.end, other.end), self._compared(one, other)
        if own.comparable < _FEW_SHINGLES:
            return Comparison(None)
        in_doubt = one.heading == other.heading and not own.share_nothing
        if not is_known:
            return Comparison(None, in_doubt=in_doubt)
        if self._is_another_text(own, end):
            return Comparison(same=False)
        same = True if not numbers and self._is_noise(one, other, own, end) else None
        bits = sum(1 << at for at in changes)
        return Comparison(same, Difference(own.differing, end, bits), in_doubt)

    def differ_more(self, found: Differences) -> bool:
        """Return True if pairs of pages differ more than answers of one URL from each other.

        No single pair shows that, where all differ by a sentence and a teaser changes more. If the
        pairs were answers of one URL, then as many of all differing shingles as expected would be
        those that were measured, but for one case in twenty (the test of two Poisson rates by
        their sum; Przyborowski and Wilenski 1940; of groups, where they vary more). So it is with
        a price, where many other numbers change from time to time: it differs in each pair.

        Args:
            found: how much the pairs differ.
        """
        noise = self._measured()
        if not self._noise.text or not found.watched:
            return False
        both = (noise.changed + found.shingles) * noise.watched / (noise.watched + found.watched)
        groups = round(noise.changed / noise.spread)
        if noise.changed < both and chance_of_so_few(groups, both / noise.spread) < _RARE:
            return True
        return self._noise.masks_many and self._numbers_differ_more(found)

    def _numbers_differ_more(self, found: Differences) -> bool:
        """Return True if the numbers of any bucket differ in far more of some pairs, not by chance.

        Where there are many pairs, of the same pages again and again, a little more is no proof.
        """
        seen, pairs = self._noise.numbers, self._noise.pairs
        return any(
            number / found.pages > seen.get(bucket, 0) / pairs + _FAR_MORE
            and chance_of_so_many(number, found.pages, seen.get(bucket, 0), pairs)
            < _RARE_IN_NUMBERS
            for bucket, number in found.numbers.items()
        )

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
            found = _Compared(*in_range(sketch, missing))
            if sketch.heading == missing.heading and (
                found.shared >= _LIKE_MISSING * found.comparable
            ):
                return True
        return False

    def _are_of_another(self, differing: dict[int, int]) -> bool:
        """Return True if the numbers that differ are those of another page, not noise.

        A clock that shows minutes does not differ between two answers of a second: so one bucket
        of numbers is not enough, except that of the headings. Nor is a number that stands after
        another word, as the first one after a teaser: it only went to another bucket.

        Args:
            differing: by bucket how much more one page has there, modulo 256.
        """
        known = self._noise.pairs >= _PAIRS_FOR_NUMBERS and self._noise.settled
        if not known or 0 in differing:
            return known
        changes = Counter(differing.values())
        moved = sum(min(count, changes[-change % 256]) for change, count in changes.items())
        return len(differing) - moved >= _NUMBERS_OF_ANOTHER

    def _measured(self) -> _Changing:
        """Return how many shingles change by themselves, with the template of today."""
        now = len(self._pairs), self._pages.added
        if self._measured_at != now:
            each = [
                (self._compared(one, other).differing, min(one.end, other.end))
                for one, other in self._pairs
            ]
            changed, watched = sum(n for n, _end in each), sum(end for _n, end in each)
            self._changing = _Changing(changed, watched, spread_of(each))
            self._measured_at = now
        return self._changing

    def _compared(self, one: Sketch, other: Sketch) -> _Compared:
        """Compare what two pages have of their own."""
        here, there = in_range(one, other)
        own = set(self._pages.own(here | there))
        return _Compared(here & own, there & own)


def _differing(one: Sketch, other: Sketch) -> Iterator[tuple[int, int]]:
    """Yield the buckets of numbers that differ, and by how much, modulo 256."""
    for at in range(NUMBERS):
        if change := (one.numbers[at] - other.numbers[at]) % 256:
            yield at, change


def _noise_of(pairs: Iterable[tuple[Sketch, Sketch]]) -> _Noise:
    """Return what differs between the answers of one URL."""
    found = list(pairs)
    changed = Counter(at for one, other in found for at, _change in _differing(one, other))
    times = Counter(changed.values())
    return _Noise(
        len(found),
        changed,
        not times[1] and times[2] * _PAIRS_FOR_RARE <= len(found),
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
