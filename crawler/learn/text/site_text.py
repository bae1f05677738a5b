"""What is known about the text of a site: what changes by itself there, and what many pages have.

The control of a page is the page itself, asked again: what is in one of its answers and not in
another changes by itself.
"""

from collections import Counter
from collections.abc import Iterable, Sequence

from canonry.crawler.learn.text.text_blocks import TextBlock, place_of

_SAMPLES = 40  # pages whose blocks are kept, to see what many pages have
_FLUID = 2  # blocks that went, of a place in which none stayed
_COMMON = 2  # of the samples that have a block, if it is no page's own
_ENOUGH_REPEATS = 20
_MOST_VOLATILE = 10_000


class SiteText:
    """The places of a site whose text never stays, its volatile blocks, and a sample of pages."""

    def __init__(self) -> None:
        """Start with nothing known."""
        self._stayed: Counter[int] = Counter()  # blocks by place
        self._went: Counter[int] = Counter()
        self._shuffled: set[int] = set()  # places whose blocks change their order
        self._volatile: set[TextBlock] = set()
        self._samples: dict[int, frozenset[TextBlock]] = {}  # by a hash of the page
        self._sampled: Counter[TextBlock] = Counter()  # in how many of them each block is
        self.repeats = 0  # answers of pages that had answered before
        self._unexplained: list[TextBlock] = []  # that went, where something stays
        self._frame: frozenset[TextBlock] | None = None  # what most pages have; None: to be seen
        self._varies: bool | None = None  # None: to be seen
        self.changes = 0  # how often more became known

    def add_page(self, page: int, blocks: Iterable[TextBlock]) -> None:
        """Sample the blocks of a page: of those with the smallest hashes, whatever their order."""
        if page in self._samples:
            return
        if len(self._samples) >= _SAMPLES:
            largest = max(self._samples)
            if page > largest:
                return
            self._sampled.subtract(self._samples.pop(largest))
        self._varies = self._frame = None
        self._samples[page] = frozenset(blocks)
        self._sampled.update(self._samples[page])

    def add_repeat(self, first: Sequence[TextBlock], second: Sequence[TextBlock]) -> None:
        """Note what stayed in a page that was asked again, what went, and what moved."""
        self.repeats += 1
        before, now = frozenset(first), frozenset(second)
        went = before ^ now
        stayed = before & now
        moved = zip(
            (block for block in first if block in stayed),
            (block for block in second if block in stayed),
            strict=False,
        )
        known = len(self._shuffled)
        self._shuffled.update(place_of(here) for here, there in moved if here != there)
        new = [block for block in went if not self.is_ignored(block)]
        places = set(map(place_of, before | now))
        fluid = set(filter(self._is_fluid, places))
        self._stayed.update(map(place_of, stayed))
        self._went.update(map(place_of, went))
        shared = [block for block in new if not self.is_own(block)]
        if len(self._volatile) < _MOST_VOLATILE:
            self._volatile.update(shared)
        # What only this page has says nothing of others, but for the first such block.
        is_news = bool(shared) or fluid != set(filter(self._is_fluid, places))
        is_first = bool(new) and not self.varies
        self.changes += is_news or is_first or len(self._shuffled) > known
        self._unexplained += new
        self._varies = None

    def _is_fluid(self, place: int) -> bool:
        """Return True if nothing stays in a place."""
        return self._went[place] >= _FLUID and not self._stayed[place]

    def is_ignored(self, block: TextBlock) -> bool:
        """Return True if a block says nothing: it changes by itself, wherever it stands."""
        return block in self._volatile or self._is_fluid(place_of(block))

    def has_order(self, block: TextBlock) -> bool:
        """Return True if the order of a block among others means something."""
        return not self.is_ignored(block) and place_of(block) not in self._shuffled

    def is_own(self, block: TextBlock) -> bool:
        """Return True if few pages of the site have a block."""
        return self._sampled[block] < _COMMON

    def number_said(self, blocks: frozenset[TextBlock]) -> int:
        """Return how many blocks do not change by themselves, and are on few pages."""
        if self._frame is None:
            most = max(_COMMON, len(self._samples) / 2)
            self._frame = frozenset(block for block, pages in self._sampled.items() if pages > most)
        left = blocks - self._frame - self._volatile
        return sum(not self._is_fluid(place_of(block)) for block in left)

    def has_few_pages(self, most: int) -> bool:
        """Return True if at most so many pages have answered, each by any of its names."""
        return len(self._samples) < _SAMPLES and len(self._samples) <= most

    @property
    def knows_pages(self) -> bool:
        """True if pages enough were sampled to tell what is a page's own."""
        return len(self._samples) > _COMMON

    @property
    def is_sampled(self) -> bool:
        """True if so many pages were sampled that what is on few of them is hardly chance."""
        return len(self._samples) >= _SAMPLES // 2

    @property
    def varies(self) -> bool:
        """True if pages were seen to change also where something stays."""
        if self._varies is None:
            self._volatile.update(b for b in self._unexplained if not self.is_own(b))
            self._unexplained = [b for b in self._unexplained if not self.is_ignored(b)]
            self._varies = bool(self._unexplained)
        return self._varies

    @property
    def is_steady(self) -> bool:
        """True if pages enough were asked again, and none changed where something stays."""
        return self.repeats >= _ENOUGH_REPEATS and not self.varies
