"""How much of two pages is alike, for people: the share of four words in a row that both have."""

from typing import NamedTuple

from canonry.crawler.content.sketch import Sketch


class Similarity(NamedTuple):
    """What two sketches have in common."""

    shared: int  # shingles that both pages have
    compared: int  # shingles of either page, in the range in which both sketches are complete

    @property
    def share(self) -> float | None:
        """The share that both have, from 0 to 1; None if there is nothing to compare."""
        return self.shared / self.compared if self.compared else None


def similarity(one: Sketch, other: Sketch) -> Similarity:
    """Compare two pages as they are, with all that the pages of their host have in common."""
    here, there = in_range(one, other)
    return Similarity(len(here & there), len(here | there))


def in_range(one: Sketch, other: Sketch) -> tuple[set[int], set[int]]:
    """Return the shingles of two pages in the range in which both sketches are complete."""
    end = min(one.end, other.end)
    return {s for s in one.shingles if s <= end}, {s for s in other.shingles if s <= end}
