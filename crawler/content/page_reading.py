"""The reading of a page: all that its visible text says. Two readings tell any change of it.

A sketch has a few shingles of a page. So pages whose sketches do not tell whether they are the same
are asked again, and read. Pure.
"""

from array import array
from collections.abc import Iterable
from typing import NamedTuple

MOST = 4096  # hashes of a page: the smallest ones
_ALL = 0xFFFFFFFF


class PageReading(NamedTuple):
    """What a page says in each of its answers, and in any of them.

    Attributes:
        answers: how many were read.
        stays: the hashes of what each of them has, ascending, four bytes each.
        shown: the hashes of what any of them has.
        end: up to which hash these are all that there is.
    """

    answers: int
    stays: bytes
    shown: bytes
    end: int

    @classmethod
    def of(cls, hashes: bytes) -> "PageReading":
        """Return the reading of one answer.

        Args:
            hashes: of all that it says, in any order, as the machine has 32 bits.
        """
        kept = sorted(_as_set(hashes))
        end = kept[MOST - 1] if len(kept) > MOST else _ALL
        smallest = _as_bytes(kept[:MOST])
        return cls(1, smallest, smallest, end)

    def and_then(self, other: "PageReading") -> "PageReading":
        """Return the reading of these answers and of further ones."""
        return PageReading(
            self.answers + other.answers,
            _as_bytes(_as_set(self.stays) & _as_set(other.stays)),
            _as_bytes(_as_set(self.shown) | _as_set(other.shown)),
            min(self.end, other.end),
        )

    @property
    def forgotten(self) -> "PageReading":
        """The same number of answers, without what they say."""
        return self._replace(stays=b"", shown=b"")

    @property
    def changing(self) -> set[int]:
        """The hashes of what some answers have, and others have not."""
        found = _as_set(self.shown) - _as_set(self.stays)
        return {one for one in found if one <= self.end}

    def differences(self, other: "PageReading") -> set[int]:
        """Return the hashes of what each answer of either page has, and none of the other."""
        end = min(self.end, other.end)
        here, there = _as_set(self.stays), _as_set(other.stays)
        only = (here - _as_set(other.shown)) | (there - _as_set(self.shown))
        return {one for one in only if one <= end}


def _as_set(hashes: bytes) -> set[int]:
    return set(memoryview(hashes).cast("I"))


def _as_bytes(hashes: Iterable[int]) -> bytes:
    return array("I", sorted(hashes)).tobytes()
