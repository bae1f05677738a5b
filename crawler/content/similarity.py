"""How much of two pages is alike: the share of four words in a row that both have."""

from typing import NamedTuple

from canonry.crawler.content.sketch import Sketch

_ENOUGH = 12  # shingles, to say that two pages are others
_OTHER = 0.5  # of them are shared: with fewer, they are ...
_OTHER_IF_NAMED_ALIKE = 0.1  # ... if their headings are the same


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


def is_another_page(first: Sketch, second: Sketch) -> bool:
    """Return True if a URL has answered with another page: a question, a form to log in, an error.

    That has hardly any of the text; or less than half of it, and another heading. It does not tell
    what changes by itself.
    """
    found = similarity(first, second)
    least = _OTHER if first.heading != second.heading else _OTHER_IF_NAMED_ALIKE
    return found.compared >= _ENOUGH and found.shared < least * found.compared


def in_range(one: Sketch, other: Sketch) -> tuple[set[int], set[int]]:
    """Return the shingles of two pages in the range in which both sketches are complete."""
    end = min(one.end, other.end)
    return {s for s in one.shingles if s <= end}, {s for s in other.shingles if s <= end}
