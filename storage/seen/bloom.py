"""The Bloom filter in front of the table: pybloom-live's filters, chained and read in bulk.

Sizes, bits and container are pybloom-live's. Its own hashing takes microseconds for each key. The
keys are hashes already, so NumPy computes the bit positions of many keys at once from their halves.
Position i is (h1 + i * h2) mod slice (Kirsch and Mitzenmacher, "Less hashing, same
performance", 2006).
"""

from collections.abc import Sequence
from typing import Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pybloom_live import BloomFilter

from canonry.storage.seen.key_rows import KEY_BYTES

FIRST_CAPACITY = 1 << 20
ERROR_RATE = 0.01  # share of unknown keys for which the answer may be "perhaps"
_REST = 0.05  # share of the error budget for all filters after the first
_Words: TypeAlias = NDArray[np.uint64]
_Places: TypeAlias = NDArray[np.intp]


class KeyFilter:
    """A growing set of keys whose answers are "surely not" or "perhaps".

    When a filter is full, another of twice its size is chained to it (Almeida et al., "Scalable
    Bloom filters", 2007). The first gets nearly all of the error budget, and each later one half of
    what is left, so that the whole never exceeds ``error_rate``, however often it grows. The later
    ones take more bits for each key.

    Not safe for concurrent writing: it belongs to the writer thread.
    """

    def __init__(
        self, error_rate: float = ERROR_RATE, first_capacity: int = FIRST_CAPACITY
    ) -> None:
        """Create an empty filter.

        Args:
            error_rate: share of unknown keys for which the answer may be "perhaps".
            first_capacity: number of keys in the first filter.
        """
        self.error_rate = error_rate
        self.first_capacity = first_capacity
        self._chain: list[BloomFilter] = []

    @classmethod
    def for_keys(cls, number: int) -> Self:
        """Create an empty filter for a store that has a number of keys, and room for as many."""
        return cls(first_capacity=max(FIRST_CAPACITY, 2 * number))

    @property
    def count(self) -> int:
        """Return how many keys were added."""
        return sum(link.count for link in self._chain)

    @property
    def bits(self) -> int:
        """Return the total size in bits."""
        return sum(link.num_bits for link in self._chain)

    @property
    def links(self) -> int:
        """Return how many filters are chained."""
        return len(self._chain)

    def perhaps(self, keys: Sequence[bytes]) -> list[bool]:
        """Return for each key False if it was surely not added, and True if it perhaps was."""
        is_perhaps = np.zeros(len(keys), dtype=np.bool_)
        first, step = _halves(b"".join(keys))
        left = np.arange(len(keys))
        for link in reversed(self._chain):  # the last one is the largest
            is_perhaps[left[_places_in(link, first, step)]] = True
            missing = np.flatnonzero(~is_perhaps[left])
            left, first, step = left[missing], first[missing], step[missing]
        answers: list[bool] = is_perhaps.tolist()
        return answers

    def add(self, keys: Sequence[bytes]) -> None:
        """Add keys that were not added before."""
        self.add_joined(b"".join(keys))

    def add_joined(self, joined: bytes) -> None:
        """Add keys that were not added before, given as one text of bytes."""
        start = 0
        while start < len(joined):
            if not self._chain or self._chain[-1].count >= self._chain[-1].capacity:
                self._grow()
            link = self._chain[-1]
            part = joined[start : start + KEY_BYTES * (link.capacity - link.count)]
            _add(link, part)
            link.count += len(part) // KEY_BYTES
            start += len(part)

    def _grow(self) -> None:
        """Chain another filter: twice the last one's size, with its share of the error budget."""
        n = len(self._chain)
        share = 1 - _REST if n == 0 else _REST / 2**n
        capacity = 2 * self._chain[-1].capacity if self._chain else self.first_capacity
        self._chain.append(BloomFilter(capacity, self.error_rate * share))


def _places_in(link: BloomFilter, first: _Words, step: _Words) -> _Places:
    """Return the places of the keys that have all their bits in a filter.

    A key is dropped at its first unset bit; of unknown keys, each slice leaves half or fewer.
    """
    bits = np.frombuffer(link.bitarray, dtype=np.uint8)
    places = np.arange(len(first))
    for n in range(link.num_slices):
        at, mask = _positions(link, n, first, step)
        hit = np.flatnonzero(bits[at] & mask)
        if len(hit) < len(places):
            places, first, step = places[hit], first[hit], step[hit]
    return places


def _add(link: BloomFilter, joined: bytes) -> None:
    """Set all bits of 16-byte keys, one after the other.

    NumPy keeps one of several values that it writes to one byte, so bits get lost; they are written
    again. That takes a third of the time of ``bitwise_or.at``.
    """
    bits = np.frombuffer(link.bitarray, dtype=np.uint8)
    first, step = _halves(joined)
    for n in range(link.num_slices):  # one after the other: a slice fits the processor's cache
        at, mask = _positions(link, n, first, step)
        while len(at):
            bits[at] |= mask
            lost = np.flatnonzero((bits[at] & mask) == 0)
            at, mask = at[lost], mask[lost]


def _halves(joined: bytes) -> tuple[_Words, _Words]:
    """Return the first position of each key, and the step to its next, both not yet reduced."""
    halves = np.frombuffer(joined, dtype="<u8").reshape(-1, 2)
    return halves[:, 0].copy(), halves[:, 1] | np.uint64(1)


def _positions(
    link: BloomFilter, n: int, first: _Words, step: _Words
) -> tuple[_Places, NDArray[np.uint8]]:
    """Return the byte of each key's bit in slice ``n``, and the bit in it."""
    size = np.uint64(link.bits_per_slice)
    positions = (first + np.uint64(n) * step) % size + np.uint64(n) * size
    mask = np.left_shift(np.uint8(1), (positions & np.uint64(7)).astype(np.uint8))
    return (positions >> np.uint64(3)).astype(np.intp), mask
