"""How much of two pages is alike: which shingles, four words in a row, one has, or both have."""

from typing import NamedTuple

from canonry.crawler.content.sketch import Sketch

_OTHER = 0.5  # of the shingles shared: with fewer, another text
_NOTHING_SHARED = 0.1  # of the shingles: with fewer, another text, also if noise is not measured
_ENOUGH = 12  # shingles, to say so


class Compared(NamedTuple):
    """What two pages have, or what they have of their own, in the range in which both are known."""

    here: set[int]
    there: set[int]

    @classmethod
    def of(cls, one: Sketch, other: Sketch) -> "Compared":
        """Return two pages as they are, with all that the pages of their host have in common."""
        return cls(*in_range(one, other))

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

    @property
    def share(self) -> float | None:
        """The share that both have, from 0 to 1; None if there is nothing to compare."""
        return self.shared / self.comparable if self.comparable else None


def is_another_page(first: Sketch, second: Sketch) -> bool:
    """Return True if a URL has answered with another page: a question, a form to log in, an error.

    That has hardly any of the text; or less than half of it, and another heading. It does not tell
    what changes by itself.
    """
    found = Compared.of(first, second)
    is_renamed = first.heading != second.heading and found.comparable >= _ENOUGH
    return found.share_nothing or (is_renamed and found.is_mostly_other)


def in_range(one: Sketch, other: Sketch) -> tuple[set[int], set[int]]:
    """Return the shingles of two pages in the range in which both sketches are complete."""
    end = min(one.end, other.end)
    return {s for s in one.shingles if s <= end}, {s for s in other.shingles if s <= end}
