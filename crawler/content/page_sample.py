"""A sample of a host's pages, and which shingles are the host's template."""

from bisect import bisect_left, insort
from collections.abc import Set as AbstractSet
from heapq import heappush, heapreplace
from zlib import crc32

from canonry.crawler.content.sketch import Sketch, without_details

FEW_PAGES = 4  # with fewer, nothing is known of the template
_PAGES = 256  # in the sample
_SHARE = 0.1  # of the pages, or of the headings, that have a shingle of the template
_FEWEST_HEADINGS = 3
_FEWEST_PAGES = 8
_Page = tuple[int, tuple[int, ...], int]  # its heading, its shingles, the end of its sketch


class PageSample:
    """The pages with the smallest hashes: the same sample, in whatever order they come.

    Copies of a page are one page, if they differ in nothing but numbers. Copies that differ in
    more still have one heading; so what few headings have in common is not the template, unless
    very many pages have it.

    Attributes:
        added: how many pages were added.
        changes: how often the sample has changed.
    """

    def __init__(self) -> None:
        """Start without pages."""
        self.added = self.changes = 0
        self._heap: list[tuple[int, bytes]] = []  # the largest hash first: negative
        self._sampled: dict[bytes, _Page] = {}  # by its heading and shingles, encoded
        self._ends: list[int] = []  # up to which their sketches are complete, ascending
        self._with: dict[int, list[int]] = {}  # by shingle, the heading of each of its pages
        self._known: dict[int, bool] = {}  # which shingles are rare, with the pages as they are

    def add(self, encoded: bytes) -> None:
        """Add the encoded sketch of a page; most pages of a large host are not in the sample."""
        key = without_details(encoded)
        if key in self._sampled:
            return
        self.added += 1
        entry = -crc32(key), key
        if len(self._heap) < _PAGES:
            heappush(self._heap, entry)
        elif entry > self._heap[0]:
            self._discount(self._sampled.pop(heapreplace(self._heap, entry)[1]))
        else:
            return
        found = Sketch.decode(encoded)
        page = self._sampled[key] = found.heading, found.shingles, found.end
        self._count(page)

    @property
    def size(self) -> int:
        """How many pages are in the sample."""
        return len(self._sampled)

    def own(self, shingles: AbstractSet[int]) -> set[int]:
        """Return those of some shingles that are known not to belong to the host's template.

        A page tells that it lacks a shingle only in the range in which its sketch is complete.
        """
        if len(self._ends) < FEW_PAGES:
            return set()
        told, pages = self._ends[-FEW_PAGES], self._with  # beyond, too few pages tell
        return {
            shingle
            for shingle in shingles
            if shingle <= told
            and (len(pages.get(shingle, ())) < _FEWEST_HEADINGS or self._is_rare(shingle))
        }

    def _is_rare(self, shingle: int) -> bool:
        """Return True if a shingle of several pages is in so few that it belongs to no template."""
        found = self._known.get(shingle)
        if found is None:
            share = _SHARE * (len(self._ends) - bisect_left(self._ends, shingle))
            headings = self._with[shingle]
            few_headings = len(set(headings)) < max(_FEWEST_HEADINGS, share)
            few_pages = len(headings) < max(_FEWEST_PAGES, share)
            found = self._known[shingle] = few_headings and few_pages
        return found

    def _count(self, page: _Page) -> None:
        """Count a page of the sample."""
        heading, shingles, end = page
        insort(self._ends, end)
        for shingle in shingles:
            self._with.setdefault(shingle, []).append(heading)
        self.changes += 1
        self._known.clear()

    def _discount(self, page: _Page) -> None:
        """Forget a page that left the sample."""
        heading, shingles, end = page
        del self._ends[bisect_left(self._ends, end)]
        for shingle in shingles:
            with_it = self._with[shingle]
            with_it.remove(heading)
            if not with_it:
                del self._with[shingle]
        self._known.clear()
