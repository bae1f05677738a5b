"""The same Bloom filter bits as key by key, but for many keys at once, with NumPy."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from pybloom_live import BloomFilter

_Words: TypeAlias = NDArray[np.uint64]
_Places: TypeAlias = NDArray[np.intp]


def contained(chain: Sequence[BloomFilter], keys: Sequence[bytes]) -> list[bool]:
    """Return for each 16-byte key True if all its bits are set in a filter of a chain."""
    is_contained = np.zeros(len(keys), dtype=np.bool_)
    first, step = _halves(b"".join(keys))
    left = np.arange(len(keys))
    for link in reversed(chain):  # the last one is the largest
        is_contained[left[_places_in(link, first, step)]] = True
        missing = np.flatnonzero(~is_contained[left])
        left, first, step = left[missing], first[missing], step[missing]
    answers: list[bool] = is_contained.tolist()
    return answers


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


def add(link: BloomFilter, joined: bytes) -> None:
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
