"""The Bloom filter in front of the table: pybloom-live's filters, chained and read in bulk.

Sizes, bits and container are pybloom-live's. Its own hashing takes microseconds for each key. The
keys are hashes already, so NumPy computes the bit positions of many keys at once from their halves.
Position i is (h1 + i * h2) mod slice (Kirsch and Mitzenmacher, "Less hashing, same
performance", 2006).
"""

import struct
import sys
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Self

from pybloom_live import BloomFilter

KEY_BYTES = 16
FIRST_CAPACITY = 1 << 20
ERROR_RATE = 0.01  # share of unknown keys for which the answer may be "perhaps"
_REST = 0.05  # share of the error budget for all filters after the first
_MANY = 1 << 15  # keys at once for which loading NumPy is worth it: 0.1 seconds and 15 MiB
_SOME = 1_000  # keys at once; batches of this size or more add up to ...
_OFTEN = 1 << 18  # ... keys for which NumPy is worth it, too: without it, these take 0.8 seconds
_HALVES = struct.Struct("<QQ")
_WORD = (1 << 64) - 1  # NumPy's sums have 64 bits, too


def split(joined: bytes) -> list[bytes]:
    """Split joined keys into single ones."""
    return [joined[at : at + KEY_BYTES] for at in range(0, len(joined), KEY_BYTES)]


def loads_numpy(number: int) -> bool:
    """Return True if this many keys are worth loading NumPy, or if it is loaded."""
    return number >= _MANY or "numpy" in sys.modules


def _bulk(number: int, passed: int) -> ModuleType | None:
    """Return the module that computes in bulk; None if the keys are not worth loading NumPy.

    Args:
        number: of the keys at once.
        passed: how many keys there were in large batches until now.
    """
    if passed < _OFTEN and not loads_numpy(number):
        return None
    from canonry.storage.seen import bloom_bulk  # noqa: PLC0415 - loads NumPy

    return bloom_bulk


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
        self._passed = 0  # keys that were asked for in large batches

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

    def perhaps(self, keys: Sequence[bytes]) -> Sequence[bool]:
        """Return for each key False if it was surely not added, and True if it perhaps was."""
        if not keys or not self._chain:
            return [False] * len(keys)
        self._passed += len(keys) if len(keys) >= _SOME else 0
        if (bulk := _bulk(len(keys), self._passed)) is not None:
            found: Sequence[bool] = bulk.contained(self._chain, keys)
            return found
        return [any(_contains(link, key) for link in self._chain) for key in keys]

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
            _add(link, part, self._passed)
            link.count += len(part) // KEY_BYTES
            start += len(part)

    def _grow(self) -> None:
        """Chain another filter: twice the last one's size, with its share of the error budget."""
        n = len(self._chain)
        share = 1 - _REST if n == 0 else _REST / 2**n
        capacity = 2 * self._chain[-1].capacity if self._chain else self.first_capacity
        self._chain.append(BloomFilter(capacity, self.error_rate * share))


def _positions(link: BloomFilter, key: bytes) -> Iterator[int]:
    """Yield the bit positions of a key."""
    first, second = _HALVES.unpack(key)
    step, size = second | 1, link.bits_per_slice
    for n in range(link.num_slices):
        yield (first + n * step & _WORD) % size + n * size


def _contains(link: BloomFilter, key: bytes) -> bool:
    """Return True if all bits of a key are set."""
    bits = link.bitarray
    return all(bits[at] for at in _positions(link, key))


def _add(link: BloomFilter, joined: bytes, passed: int) -> None:
    """Set all bits of each key."""
    if (bulk := _bulk(len(joined) // KEY_BYTES, passed)) is not None:
        bulk.add(link, joined)
        return
    bits = link.bitarray
    for key in split(joined):
        for at in _positions(link, key):
            bits[at] = True
