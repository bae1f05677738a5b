"""What the pages of one host say: its template, its noise, and which pages say the same.

Pure. The answers depend on the set of sketches that were given, never on their order.
"""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple, TypeVar
from zlib import crc32

from canonry.crawler.content.differences import NO_DIFFERENCE, Difference, Differences
from canonry.crawler.content.measured_noise import MeasuredNoise, Pair
from canonry.crawler.content.noise import (
    Changing,
    differing_numbers,
)
from canonry.crawler.content.page_sample import FEW_PAGES, PageSample
from canonry.crawler.content.similarity import Compared, in_range
from canonry.crawler.content.site_sections import section_of
from canonry.crawler.content.sketch import Sketch

_T = TypeVar("_T", Sketch, tuple[str, Sketch, Sketch])

_PAIRS = 64  # of answers of one URL that are kept
_MISSING = 16  # pages for what does not exist that are kept
_FEW_SHINGLES = 4  # with fewer, two texts cannot be compared
_LIKE_MISSING = 0.8  # of the shingles shared, with the template
_MOST_NOISE = 0.25  # of the shingles that may differ
_ROUNDING = 0.5  # of a shingle
_FEW_PAIRS = 4  # answers of one URL without a word that changed, before many others say something
_PAIRS_WITH_ONE = 4  # that pairs are worth of which one page is in all: so is its teaser


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
        is_masked: True if that they are the same is not known only since so many numbers change
            by themselves, and some of these differ.
    """

    same: bool | None
    difference: Difference = NO_DIFFERENCE
    in_doubt: bool = False
    apart: bool | None = None
    steady: int = 0
    is_masked: bool = False


class HostText:
    """What the pages of one host say.

    Attributes:
        generation: grows when `same` may answer otherwise than before.
    """

    def __init__(self) -> None:
        """Start without pages."""
        self.generation = 0
        self._pages = PageSample()
        self._pairs: dict[tuple[str, Sketch, Sketch], None] = {}  # each with its section
        self._missing: dict[Sketch, None] = {}
        self._still: frozenset[str] = frozenset()  # sections in which nothing changes by itself
        self._varied: frozenset[str] = frozenset()  # sections in which something does
        self._in_still = MeasuredNoise()
        self._elsewhere = MeasuredNoise()  # ... if that was measured; else the same
        self._judged_at = 0  # pages, when the generation grew last

    def add(self, encoded: bytes) -> None:
        """Add the encoded sketch of the page of a URL that answered 200."""
        self._pages.add(encoded)
        if self._pages.added > self._judged_at + self._judged_at // 8:
            self._judged_at = self._pages.added
            self.generation += 1

    def twice(self, url: str, one: Sketch, other: Sketch) -> None:
        """Add two answers of one URL: what differs between them changes by itself.

        Args:
            url: its identity.
            one: the first answer.
            other: the second one.
        """
        if _keep(self._pairs, (section_of(url), min(one, other), max(one, other)), _PAIRS):
            self._measure()
            self.generation += 1

    def _measure(self) -> None:
        """Measure what changes by itself: where nothing ever did, and elsewhere.

        The lists of a shop may stay as they are while the pages of its goods change. So what is
        measured on lists says nothing of goods, unless nothing else is known.
        """
        asked = Counter(section for section, _one, _other in self._pairs)
        self._varied = frozenset(section for section, one, other in self._pairs if one != other)
        often = {section for section, times in asked.items() if times >= _FEW_PAIRS}
        self._still = frozenset(often - self._varied)
        still: list[Pair] = []
        others: list[Pair] = []
        for section, one, other in self._pairs:
            (still if section in self._still else others).append((one, other))
        self._in_still = MeasuredNoise(still)
        self._elsewhere = MeasuredNoise(others) if others else self._in_still

    def missing(self, sketch: Sketch) -> None:
        """Add how the host answers 200 for what does not exist."""
        if _keep(self._missing, sketch, _MISSING):
            self.generation += 1

    def compare(self, one: Sketch, other: Sketch, urls: Sequence[str] = ()) -> Comparison:
        """Compare the pages of two URLs.

        Args:
            one: the first page.
            other: the second one.
            urls: their identities, if it matters where in the site they lie.
        """
        measured = self._measured(urls)
        noise = measured.noise
        few = self._pages.size < FEW_PAGES
        is_known = not (few or self._is_missing(one) or self._is_missing(other))
        if is_known and noise.headings_differ(one, other):
            return Comparison(same=False)
        changes = dict(differing_numbers(one, other))
        numbers = noise.other_numbers(changes)
        if is_known and (noise.are_of_another(numbers) or noise.words_differ(one, other)):
            return Comparison(same=False)
        end, own = min(one.end, other.end), self._compared(one, other)
        if own.comparable < _FEW_SHINGLES:
            return Comparison(None)
        in_doubt = one.heading == other.heading and not own.share_nothing
        if not is_known:
            return Comparison(None, in_doubt=in_doubt)
        if self._is_another_text(measured, own, end):
            return Comparison(same=False)
        steady = len(numbers) + len(noise.other_passages(one, other))
        steady += noise.links_differ(one, other)
        may_be = self._may_change(urls) or (one.text, one.numbers) == (other.text, other.numbers)
        is_noise = not steady and may_be and self._is_noise(measured, one, other, own, end)
        is_masked = is_noise and one.numbers != other.numbers and noise.masks_many
        same = True if is_noise and not is_masked else None
        difference = Difference(own.differing, end, sum(1 << at for at in changes))
        return Comparison(same, difference, in_doubt, steady=steady, is_masked=is_masked)

    @property
    def changes(self) -> bool:
        """Return True if words or numbers were seen to change by themselves."""
        return self._elsewhere.noise.text or bool(self._elsewhere.noise.numbers)

    def is_still(self, url: str) -> bool:
        """Return True if a page lies where nothing was ever seen to change by itself."""
        return bool(self._still) and section_of(url) in self._still

    @property
    def _is_mixed(self) -> bool:
        """True if some sections stay, and others are known not to."""
        return bool(self._still) and self._elsewhere is not self._in_still

    def _may_change(self, urls: Sequence[str]) -> bool:
        """Return True if what differs between pages may change by itself, where they lie.

        On a site of which some sections stay, that has to be seen in their own.
        """
        is_one = not (urls and self._is_mixed)
        return is_one or any(section_of(url) in self._varied for url in urls)

    @property
    def is_measured(self) -> bool:
        """Return True if enough answers of one URL tell what changes by itself."""
        return self._elsewhere.noise.pairs >= _FEW_PAIRS

    @property
    def answers_to_be_sure(self) -> int:
        """How often a page has to answer once more as before, until that is hardly chance."""
        return self._elsewhere.noise.answers_to_be_sure

    def differ_more(
        self, found: Differences, *, with_one: bool = False, are_read: bool = False
    ) -> bool:
        """Return True if pairs of pages differ more than answers of one URL from each other.

        No single pair shows that, where all differ by a sentence and a teaser changes more; or
        where too few answers were seen to say that no word ever changes.

        Args:
            found: how much the pairs differ.
            with_one: True if one page is in all pairs.
            are_read: True if several were read, and none turned out to be others.
        """
        parts = [(self._elsewhere, found)]
        if self._is_mixed:
            here, there = found.parted(self.is_still)
            parts = [(self._in_still, here), (self._elsewhere, there)]
        return any(
            self._exceed(measured, some, with_one=with_one, are_read=are_read)
            for measured, some in parts
        )

    def _exceed(
        self, measured: MeasuredNoise, found: Differences, *, with_one: bool, are_read: bool
    ) -> bool:
        """Return True if pairs of pages differ more than what was measured."""
        noise = measured.noise
        if not (noise.text or noise.pairs >= _FEW_PAIRS) or not found.watched:
            return False
        pairs = _PAIRS_WITH_ONE if with_one else found.pages
        if self._changing(measured).is_exceeded_by(found, pairs, are_read=are_read):
            return True
        return noise.is_exceeded_by(found)

    def are_others(self, one: Sketch, other: Sketch, urls: Sequence[str] = ()) -> bool:
        """Return True if two pages clearly differ, so that one cannot stand for the other.

        That is asked of a page and the one that its canonical link names: the site says that they
        are the same, so numbers, or other words here and there, are no objection.

        Args:
            one: a page.
            other: the one that it names.
            urls: their identities, if it matters where in the site they lie.
        """
        if self._pages.size < FEW_PAGES:
            return False
        measured = self._measured(urls)
        if measured.noise.headings_differ(one, other):
            return True
        own, end = self._compared(one, other), min(one.end, other.end)
        return own.is_mostly_other and self._is_another_text(measured, own, end)

    def numbers_agree(self, one: Sketch, other: Sketch) -> bool:
        """Return True if two pages differ in no number that was not seen to change by itself."""
        return not self._elsewhere.noise.other_numbers(dict(differing_numbers(one, other)))

    def are_alike(self, one: Sketch, other: Sketch) -> bool:
        """Return True if two pages have one heading, and share at least half of their shingles."""
        if one.heading != other.heading:
            return False
        own = self._compared(one, other)
        return own.comparable >= _FEW_SHINGLES and not own.is_mostly_other

    def _is_another_text(self, measured: MeasuredNoise, own: Compared, end: int) -> bool:
        """Return True if more differs between two pages than may change by itself.

        Args:
            measured: how much does so where they lie.
            own: their own shingles.
            end: the hash up to which they were compared.
        """
        if not measured.pairs:
            return own.share_nothing
        if not measured.noise.text:
            return own.comparable >= _FEW_SHINGLES and own.differing > 1 and own.is_mostly_other
        most = self._changing(measured).most(end)
        return own.differing > most or (own.share_nothing and own.comparable > most)

    def _is_noise(
        self, measured: MeasuredNoise, one: Sketch, other: Sketch, own: Compared, end: int
    ) -> bool:
        """Return True if noise explains all that differs between two pages.

        Args:
            measured: how much changes by itself where they lie.
            one: a page.
            other: another one; their numbers differ in no bucket that does not change by itself.
            own: their own shingles.
            end: the hash up to which they were compared.
        """
        if one.text == other.text:
            return True
        expected = self._changing(measured).expected(end)
        most = min(2 * expected + _ROUNDING, _MOST_NOISE * own.comparable)
        return measured.noise.text and own.differing <= most

    def _is_missing(self, sketch: Sketch) -> bool:
        """Return True if a page is, or is like, what the host answers for what does not exist."""
        for missing in self._missing:
            if sketch.heading == missing.heading:
                found = Compared.of(sketch, missing)
                if found.shared >= _LIKE_MISSING * found.comparable:
                    return True
        return False

    def _measured(self, urls: Sequence[str]) -> MeasuredNoise:
        """Return what was measured where pages lie; elsewhere, if they lie in several sections."""
        is_still = bool(urls) and all(map(self.is_still, urls))
        return self._in_still if is_still else self._elsewhere

    def _changing(self, measured: MeasuredNoise) -> Changing:
        """Return how many shingles change by themselves, with the template of today."""
        return measured.changing(
            self._pages.changes, lambda one, other: self._compared(one, other).differing
        )

    def _compared(self, one: Sketch, other: Sketch) -> Compared:
        """Compare what two pages have of their own."""
        here, there = in_range(one, other)
        own = self._pages.own(here | there)
        return Compared(here & own, there & own)


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
