"""A set of integers that takes eight bytes for each: for what is counted and forgotten."""

from array import array
from bisect import bisect_left
from collections.abc import Iterable, Iterator


class CompactSet:
    """A set of integers below 2**63; to add some, all are sorted anew."""

    __slots__ = ("_sorted",)

    def __init__(self, numbers: Iterable[int] = ()) -> None:
        """Start with some numbers."""
        self._sorted = array("q", sorted(set(numbers)))

    def __contains__(self, number: int) -> bool:
        """Return True if a number is in the set."""
        place = bisect_left(self._sorted, number)
        return place < len(self._sorted) and self._sorted[place] == number

    def __len__(self) -> int:
        """Return how many numbers there are."""
        return len(self._sorted)

    def __iter__(self) -> Iterator[int]:
        """Yield the numbers."""
        return iter(self._sorted)

    def with_more(self, numbers: Iterable[int]) -> "CompactSet":
        """Return a set with more numbers."""
        return CompactSet([*self._sorted, *numbers])
