"""The text of a site: which of it changes by itself, and which of it many pages share.

The control of a page is the page itself, requested again: a block that is in one of its answers
and not in another changes by itself.
"""

from collections import Counter
from collections.abc import Sequence

from canonry.crawler.documents.text_blocks import TextBlock, block_set, place_of

_SAMPLES = 40  # pages whose blocks are kept, to see which blocks many pages share
_FLUID = 2  # changed blocks that make a place fluid, if none stayed there
_COMMON = 2  # sampled pages of which one may have a block of its own
_BYTES_OF_ENTRY = 100  # of a number in a set or a table, approximately
_ENOUGH_REPEATS = 20
_MOST_VOLATILE = 10_000
_MOST_PLACES = 20_000


class SiteText:
    """The places of a site whose text always changes, volatile blocks, and a sample of pages."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._stayed: Counter[int] = Counter()  # blocks, by place
        self._went: Counter[int] = Counter()
        self._shuffled: set[int] = set()  # places whose blocks change their order
        self._volatile: set[TextBlock] = set()
        self._samples: dict[int, bytes] = {}  # encoded blocks, by a hash of the page
        self._shared: dict[TextBlock, int] = {}  # number of sampled pages, if there are several
        self.repeats = 0  # answers of pages that had answered before
        self._unexplained: list[TextBlock] = []  # changed in a place where others stay
        self._frame: frozenset[TextBlock] | None = None  # blocks of most pages; None: not computed
        self._varies: bool | None = None  # None: not computed
        self.changes = 0  # how often something new was learned

    def add_page(self, page_hash: int, encoded: bytes) -> None:
        """Sample a page if its hash is among the smallest.

        So the sample does not depend on the order in which pages arrive.

        Args:
            page_hash: of the page.
            encoded: its blocks.
        """
        if page_hash in self._samples:
            return
        if len(self._samples) >= _SAMPLES:
            largest = max(self._samples)
            if page_hash > largest:
                return
            self._uncount(self._samples.pop(largest))
        self._varies = self._frame = None
        self._count(encoded)
        self._samples[page_hash] = encoded

    def _count(self, encoded: bytes) -> None:
        """Count the blocks of a page that other sampled pages have, too."""
        blocks = block_set(encoded)
        new = blocks.difference(self._shared)
        for block in blocks - new:
            self._shared[block] += 1
        for other in self._samples.values():
            here = new & block_set(other)
            self._shared.update(dict.fromkeys(here, 2))
            new -= here

    def _uncount(self, encoded: bytes) -> None:
        """Count a page no longer."""
        for block in block_set(encoded) & self._shared.keys():
            self._shared[block] -= 1
            if self._shared[block] == 1:
                del self._shared[block]

    @property
    def size(self) -> int:
        """The approximate memory that it takes, in bytes."""
        entries = len(self._shared) + len(self._stayed) + len(self._went)
        entries += len(self._volatile) + len(self._unexplained) + len(self._frame or ())
        return sum(map(len, self._samples.values())) + _BYTES_OF_ENTRY * entries

    def add_repeat(self, first: Sequence[TextBlock], second: Sequence[TextBlock]) -> None:
        """Note which blocks of a page stayed, changed or moved when it was requested again."""
        before, after = frozenset(first), frozenset(second)
        if before.isdisjoint(after):  # another page in its place, as a wall
            return
        self.repeats += 1
        went = before ^ after
        stayed = before & after
        moved = zip(
            (block for block in first if block in stayed),
            (block for block in second if block in stayed),
            strict=False,
        )
        shuffled_before = len(self._shuffled)
        self._shuffled.update(place_of(here) for here, there in moved if here != there)
        changed = [block for block in went if not self.is_ignored(block)]
        places = set(map(place_of, before | after))
        fluid = set(filter(self._is_fluid, places))
        is_full = len(self._stayed) + len(self._went) > _MOST_PLACES
        self._stayed.update(p for p in map(place_of, stayed) if not is_full or p in self._went)
        self._went.update(p for p in map(place_of, went) if not is_full or p in self._stayed)
        shared = [block for block in changed if not self.is_own(block)]
        if len(self._volatile) < _MOST_VOLATILE:
            self._volatile.update(shared)
        # A block of this page alone says nothing about other pages, except for the first one.
        is_news = bool(shared) or fluid != set(filter(self._is_fluid, places))
        is_first = bool(changed) and not self.varies
        self.changes += is_news or is_first or len(self._shuffled) > shuffled_before
        if len(self._unexplained) < _MOST_VOLATILE:
            self._unexplained += changed
        self._varies = None

    def _is_fluid(self, place: int) -> bool:
        """Return True if the text of a place always changes."""
        return self._went[place] >= _FLUID and not self._stayed[place]

    def is_ignored(self, block: TextBlock) -> bool:
        """Return True if a block proves nothing, because it or its place changes by itself."""
        return block in self._volatile or self._is_fluid(place_of(block))

    def has_order(self, block: TextBlock) -> bool:
        """Return True if the order of a block among others means something."""
        return not self.is_ignored(block) and place_of(block) not in self._shuffled

    def is_own(self, block: TextBlock) -> bool:
        """Return True if few pages of the site have a block."""
        return block not in self._shared

    def count_outside_frame(self, blocks: frozenset[TextBlock]) -> int:
        """Count the blocks that do not change by themselves, and that most pages do not have."""
        if self._frame is None:
            most = max(_COMMON, len(self._samples) / 2)
            self._frame = frozenset(block for block, pages in self._shared.items() if pages > most)
        left = blocks - self._frame - self._volatile
        return sum(not self._is_fluid(place_of(block)) for block in left)

    def has_few_pages(self, most: int) -> bool:
        """Return True if at most this many distinct pages have answered."""
        return len(self._samples) < _SAMPLES and len(self._samples) <= most

    @property
    def knows_pages(self) -> bool:
        """True if enough pages were sampled to tell which blocks are a page's own."""
        return len(self._samples) > _COMMON

    @property
    def is_sampled(self) -> bool:
        """True if so many pages were sampled that a rare block is hardly rare by chance."""
        return len(self._samples) >= _SAMPLES // 2

    @property
    def varies(self) -> bool:
        """True if pages changed in places where other text stays."""
        if self._varies is None:
            self._volatile.update(b for b in self._unexplained if not self.is_own(b))
            self._unexplained = [b for b in self._unexplained if not self.is_ignored(b)]
            self._varies = bool(self._unexplained)
        return self._varies

    @property
    def is_steady(self) -> bool:
        """True if enough pages were requested again, and none changed where other text stays."""
        return self.repeats >= _ENOUGH_REPEATS and not self.varies
