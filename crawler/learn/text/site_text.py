"""The text of a site: which of it changes by itself, and which of it many pages share.

The control of a page is the page itself, requested again: a block that is in one of its answers
and not in another changes by itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from canonry.crawler.learn.text.text_blocks import TextBlock, place_of

_SAMPLES = 40  # pages whose blocks are kept, to see which blocks many pages share
_FLUID = 2  # changed blocks that make a place fluid, if none stayed there
_COMMON = 2  # sampled pages with a block, from which on it is no page's own
_ENOUGH_REPEATS = 20
_MOST_VOLATILE = 10_000


class SiteText:
    """The places of a site whose text always changes, volatile blocks, and a sample of pages."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._stayed: Counter[int] = Counter()  # blocks, by place
        self._went: Counter[int] = Counter()
        self._shuffled: set[int] = set()  # places whose blocks change their order
        self._volatile: set[TextBlock] = set()
        self._samples: dict[int, frozenset[TextBlock]] = {}  # blocks, by a hash of the page
        self._pages_with_block: Counter[TextBlock] = Counter()  # number of sampled pages
        self.repeats = 0  # answers of pages that had answered before
        self._unexplained: list[TextBlock] = []  # changed in a place where others stay
        self._frame: frozenset[TextBlock] | None = None  # blocks of most pages; None: not computed
        self._varies: bool | None = None  # None: not computed
        self.changes = 0  # how often something new was learned

    def add_page(self, page_hash: int, blocks: Iterable[TextBlock]) -> None:
        """Sample a page if its hash is among the smallest.

        So the sample does not depend on the order in which pages arrive.
        """
        if page_hash in self._samples:
            return
        if len(self._samples) >= _SAMPLES:
            largest = max(self._samples)
            if page_hash > largest:
                return
            self._pages_with_block.subtract(self._samples.pop(largest))
        self._varies = self._frame = None
        self._samples[page_hash] = frozenset(blocks)
        self._pages_with_block.update(self._samples[page_hash])

    def add_repeat(self, first: Sequence[TextBlock], second: Sequence[TextBlock]) -> None:
        """Note which blocks of a page stayed, changed or moved when it was requested again."""
        self.repeats += 1
        before, after = frozenset(first), frozenset(second)
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
        self._stayed.update(map(place_of, stayed))
        self._went.update(map(place_of, went))
        shared = [block for block in changed if not self.is_own(block)]
        if len(self._volatile) < _MOST_VOLATILE:
            self._volatile.update(shared)
        # A block of this page alone says nothing about other pages, except for the first one.
        is_news = bool(shared) or fluid != set(filter(self._is_fluid, places))
        is_first = bool(changed) and not self.varies
        self.changes += is_news or is_first or len(self._shuffled) > shuffled_before
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
        return self._pages_with_block[block] < _COMMON

    def count_outside_frame(self, blocks: frozenset[TextBlock]) -> int:
        """Count the blocks that do not change by themselves, and that most pages do not have."""
        if self._frame is None:
            most = max(_COMMON, len(self._samples) / 2)
            self._frame = frozenset(
                block for block, pages in self._pages_with_block.items() if pages > most
            )
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
