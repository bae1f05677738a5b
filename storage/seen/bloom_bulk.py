"""The bits of many keys at once in a Bloom filter, with NumPy: the same as one key at a time."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from pybloom_live import BloomFilter


def contained(chain: Sequence[BloomFilter], keys: Sequence[bytes]) -> list[bool]:
    """Return for each 16-byte key True if all its bits are set in a filter of a chain."""
    found = np.zeros(len(keys), dtype=np.bool_)
    halves = _halves(keys)
    for link in chain:
        bits = np.frombuffer(link.bitarray, dtype=np.uint8)
        at = _positions(link, halves)
        hit = (bits[at >> np.uint64(3)] >> (at & np.uint64(7)).astype(np.uint8)) & np.uint8(1)
        found |= hit.all(axis=0)
    answers: list[bool] = found.tolist()
    return answers


def add(link: BloomFilter, keys: Sequence[bytes]) -> None:
    """Set all bits of each 16-byte key."""
    bits = np.frombuffer(link.bitarray, dtype=np.uint8)
    at = _positions(link, _halves(keys)).ravel()
    mask = np.left_shift(np.uint8(1), (at & np.uint64(7)).astype(np.uint8))
    np.bitwise_or.at(bits, at >> np.uint64(3), mask)


def _halves(keys: Sequence[bytes]) -> NDArray[np.uint64]:
    """Return n 16-byte keys as an array of shape (n, 2)."""
    return np.frombuffer(b"".join(keys), dtype="<u8").reshape(len(keys), 2)


def _positions(link: BloomFilter, halves: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the bit positions of each key, shape (slices, n)."""
    slices = np.arange(link.num_slices, dtype=np.uint64)[:, None]
    step = halves[:, 1] | np.uint64(1)
    size = np.uint64(link.bits_per_slice)
    positions: NDArray[np.uint64] = (halves[:, 0] + slices * step) % size + slices * size
    return positions
