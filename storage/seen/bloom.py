"""The Bloom filter in front of the table: pybloom-live's filters, chained and read in bulk.

Sizes, bits and container are pybloom-live's. Its own hashing costs microseconds a key in a loop;
the keys are hashes already, so the bit positions come from their halves, in NumPy, for many keys
at once. Position i is (h1 + i * h2) mod slice (Kirsch and Mitzenmacher, "Less hashing, same
performance", 2006).
"""

from collections.abc import Sequence
from io import BytesIO

import numpy as np
from numpy.typing import NDArray
from pybloom_live import BloomFilter

_KEY_BYTES = 16
FIRST_CAPACITY = 1 << 20
_REST = 0.05  # of the error budget, for all filters behind the first


def as_halves(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return n 16-byte keys as an array of shape (n, 2)."""
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(len(keys), 2)


class KeyFilter:
    """A set of keys that answers "surely not" or "perhaps", and grows.

    When a filter is full, another of twice its size is chained behind it (Almeida et al., "Scalable
    Bloom filters", 2007). The first gets nearly all of the error budget, and the others halves of
    halves of the rest, so that the whole never exceeds ``error_rate``. Those behind the first take
    more bits a key: who can make the whole anew, with room for what has come, should.

    Not safe for concurrent writing: it belongs to the writer thread.
    """

    def __init__(self, error_rate: float = 0.01, first_capacity: int = FIRST_CAPACITY) -> None:
        """Make an empty filter.

        Args:
            error_rate: the share of unknown keys that may be answered "perhaps".
            first_capacity: keys that fit before the first growth.
        """
        self.error_rate = error_rate
        self.first_capacity = first_capacity
        self._chain: list[BloomFilter] = []

    @property
    def count(self) -> int:
        """Return how many keys were added."""
        return sum(link.count for link in self._chain)

    @property
    def bits(self) -> int:
        """Return the size of the whole in bits."""
        return sum(link.num_bits for link in self._chain)

    @property
    def links(self) -> int:
        """Return how many filters are chained."""
        return len(self._chain)

    def perhaps(self, keys: Sequence[bytes]) -> NDArray[np.bool_]:
        """Return for each key whether it was perhaps added; False is certain."""
        found = np.zeros(len(keys), dtype=np.bool_)
        if not keys:
            return found
        halves = as_halves(keys)
        for link in self._chain:
            found |= _contains(link, halves)
        return found

    def add(self, keys: Sequence[bytes]) -> None:
        """Add keys that were not added before."""
        start = 0
        while start < len(keys):
            if not self._chain or self._chain[-1].count >= self._chain[-1].capacity:
                self._grow()
            link = self._chain[-1]
            part = keys[start : start + link.capacity - link.count]
            _add(link, as_halves(part))
            link.count += len(part)
            start += len(part)

    def _grow(self) -> None:
        """Chain another filter, twice as large as the last, with its share of the error budget."""
        n = len(self._chain)
        share = 1 - _REST if n == 0 else _REST / 2**n
        capacity = 2 * self._chain[-1].capacity if self._chain else self.first_capacity
        self._chain.append(BloomFilter(capacity, self.error_rate * share))

    def dumps(self) -> bytes:
        """Return the chain in pybloom-live's own file form, each filter behind its length."""
        out = BytesIO()
        for link in self._chain:
            body = BytesIO()
            link.tofile(body)
            out.write(len(body.getbuffer()).to_bytes(8, "little"))
            out.write(body.getbuffer())
        return out.getvalue()

    def loads(self, data: bytes) -> None:
        """Take the chain from `dumps`.

        Raises:
            ValueError: when the data are not what `dumps` wrote.
        """
        chain: list[BloomFilter] = []
        start = 0
        while start < len(data):
            size = int.from_bytes(data[start : start + 8], "little")
            body = data[start + 8 : start + 8 + size]
            if len(body) != size:
                raise ValueError("the filter is cut short")
            chain.append(BloomFilter.fromfile(BytesIO(body)))
            start += 8 + size
        self._chain = chain


def _positions(link: BloomFilter, halves: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the bit positions of each key, shape (slices, n)."""
    slices = np.arange(link.num_slices, dtype=np.uint64)[:, None]
    step = halves[:, 1] | np.uint64(1)
    size = np.uint64(link.bits_per_slice)
    positions: NDArray[np.uint64] = (halves[:, 0] + slices * step) % size + slices * size
    return positions


def _contains(link: BloomFilter, halves: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Say for each key whether all its bits are set."""
    bits = np.frombuffer(link.bitarray, dtype=np.uint8)
    at = _positions(link, halves)
    hit: NDArray[np.uint8] = (
        bits[at >> np.uint64(3)] >> (at & np.uint64(7)).astype(np.uint8)
    ) & np.uint8(1)
    found: NDArray[np.bool_] = np.asarray(hit.all(axis=0))
    return found


def _add(link: BloomFilter, halves: NDArray[np.uint64]) -> None:
    """Set all bits of each key."""
    bits = np.frombuffer(link.bitarray, dtype=np.uint8)
    at = _positions(link, halves).ravel()
    mask = np.left_shift(np.uint8(1), (at & np.uint64(7)).astype(np.uint8))
    np.bitwise_or.at(bits, at >> np.uint64(3), mask)
