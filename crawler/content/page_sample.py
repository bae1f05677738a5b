"""A sample of a host's pages, and which shingles are the host's template."""

from bisect import bisect_left, insort
from collections import Counter
from collections.abc import Iterable, Iterator
from heapq import heappush, heappushpop
from zlib import crc32

from canonry.crawler.content.sketch import Sketch

FEW_PAGES = 4  # with fewer, nothing is known of the template
_PAGES = 256  # in the sample
_SHARE = 0.1  # of the pages, or of the headings, that have a shingle of the template
_FEWEST_HEADINGS = 3
_FEWEST_PAGES = 8
_Page = tuple[int, tuple[int, ...], int]  # its heading, its shingles, the end of its sketch
_NONE: Counter[int] = Counter()


class PageSample:
    """The pages with the smallest hashes: the same sample, in whatever order they come.

    Copies of a page are one page, if they differ in nothing but numbers. Copies that differ in
    more still have one heading; so what few headings have in common is not the template, unless
    very many pages have it.

    Attributes:
        added: how many pages were added.
    """

    def __init__(self) -> None:
        """Start without pages."""
        self.added = 0
        self._heap: list[tuple[int, _Page]] = []  # the largest hash first: negative
        self._sampled: set[_Page] = set()
        self._ends: list[int] = []  # up to which their sketches are complete, ascending
        self._with: dict[int, Counter[int]] = {}  # by shingle, the headings of its pages

    def add(self, sketch: Sketch) -> None:
        """Add a page."""
        page = sketch.heading, sketch.shingles, sketch.end
        if page in self._sampled:
            return
        self.added += 1
        entry = -crc32(repr(page).encode()), page
        if len(self._heap) < _PAGES:
            heappush(self._heap, entry)
            self._count(page)
            return
        _hash, removed = heappushpop(self._heap, entry)
        if removed != page:
            self._count(page)
            self._discount(removed)

    @property
    def size(self) -> int:
        """How many pages are in the sample."""
        return len(self._sampled)

    def own(self, shingles: Iterable[int]) -> Iterator[int]:
        """Yield those of some shingles that are known not to belong to the host's template.

        A page tells that it lacks a shingle only in the range in which its sketch is complete.
        """
        for shingle in shingles:
            pages = len(self._ends) - bisect_left(self._ends, shingle)
            with_it = self._with.get(shingle, _NONE)
            if (
                pages >= FEW_PAGES
                and len(with_it) < max(_FEWEST_HEADINGS, _SHARE * pages)
                and with_it.total() < max(_FEWEST_PAGES, _SHARE * pages)
            ):
                yield shingle

    def _count(self, page: _Page) -> None:
        """Count a page of the sample."""
        heading, shingles, end = page
        self._sampled.add(page)
        insort(self._ends, end)
        for shingle in shingles:
            self._with.setdefault(shingle, Counter())[heading] += 1

    def _discount(self, page: _Page) -> None:
        """Forget a page that left the sample."""
        heading, shingles, end = page
        self._sampled.remove(page)
        del self._ends[bisect_left(self._ends, end)]
        for shingle in shingles:
            with_it = self._with[shingle]
            with_it[heading] -= 1
            if not with_it[heading]:
                del with_it[heading]
            if not with_it:
                del self._with[shingle]
