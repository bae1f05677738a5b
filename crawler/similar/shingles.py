"""Shingles of a text, their sketch, and how much two texts resemble each other."""

import re
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Shingles = NDArray[np.uint64]
Sketch = NDArray[np.uint32]

SHINGLE = 3  # words. Four are usual; three lose less where one word, such as a price, differs.
SKETCH = 128  # hash functions
MOST_WORDS = 20_000  # of a text; what follows does not count
_MOST_KNOWN = 300_000  # words whose hashes are remembered
# Scripts without spaces between words: each letter is a word.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
WORD = re.compile(rf"[{_UNSPACED}]|[^\W{_UNSPACED}]+")
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)
# The functions are fixed, so that the same input has the same groups everywhere.
_RANDOM = np.random.Generator(np.random.PCG64(1997))
_FACTORS = _RANDOM.integers(1, 1 << 63, (SKETCH, 1), np.uint64) * np.uint64(2) + np.uint64(1)
_ADDENDS = _RANDOM.integers(0, 1 << 63, (SKETCH, 1), np.uint64)
_AT_ONCE = 4096  # shingles hashed at once


class Vocabulary(dict[str, int]):
    """Hashes of words, 64 bits each, whatever their case."""

    def __missing__(self, word: str) -> int:
        """Hash a word that is not known."""
        if len(self) >= _MOST_KNOWN:
            self.clear()
        folded = word.casefold().encode("utf-8", "surrogatepass")
        hashed = blake2b(folded, digest_size=8).digest()
        self[word] = number = int.from_bytes(hashed, "little")
        return number


class Resemblance(NamedTuple):
    """How much two sets of shingles have in common, each from 0 to 1."""

    score: float  # shared shingles by all: Jaccard, Broder's resemblance
    containment: float  # shared shingles by those of the smaller set


def shingles_of(passages: Iterable[str], vocabulary: Vocabulary) -> tuple[Shingles, list[int]]:
    """Return the shingle that begins at each word, and the number of words of each passage.

    A shingle ends with its passage at the latest, so that passages can move.
    """
    words: list[str] = []
    counts: list[int] = []
    for passage in passages:
        found = WORD.findall(passage)[: MOST_WORDS - len(words)]
        words += found
        counts.append(len(found))
    hashes = np.fromiter(map(vocabulary.__getitem__, words), np.uint64, len(words))
    ends = np.repeat(np.cumsum(counts, dtype=np.int64), counts)
    found_hash = hashes.copy()
    for step in range(1, SHINGLE):
        following = np.zeros_like(hashes)
        following[:-step] = hashes[step:]
        following[np.arange(step, len(hashes) + step) >= ends] = 0
        found_hash = _mixed(found_hash * _ODD + following)
    return found_hash, counts


def _mixed(hashes: Shingles) -> Shingles:
    """Mix the bits of hashes, as splitmix64 does."""
    hashes = (hashes ^ (hashes >> _HALF)) * _MIX
    return hashes ^ (hashes >> _HALF)


def is_in(shingles: Shingles, sorted_set: Shingles) -> NDArray[np.bool_]:
    """Return which of the shingles are in a sorted set."""
    if not len(sorted_set):
        return np.zeros(len(shingles), np.bool_)
    places = np.searchsorted(sorted_set, shingles)
    places[places == len(sorted_set)] = 0
    return np.asarray(sorted_set[places] == shingles)


def sketch_of(shingles: Shingles) -> Sketch:
    """Return the MinHash sketch of a set that is not empty.

    The share of equal places of two sketches estimates the resemblance of their sets.
    """
    least = np.full(SKETCH, np.iinfo(np.uint32).max, np.uint32)
    for start in range(0, len(shingles), _AT_ONCE):
        hashed = (shingles[start : start + _AT_ONCE] * _FACTORS + _ADDENDS) >> _HALF
        np.minimum(least, hashed.min(axis=1).astype(np.uint32), out=least)
    return least


def resemblance(one: Shingles, two: Shingles) -> Resemblance:
    """Compare two sorted sets that are not empty."""
    shared = int(np.count_nonzero(is_in(one, two)))
    return Resemblance(shared / (len(one) + len(two) - shared), shared / min(len(one), len(two)))


def band_rows(least: float) -> int:
    """Return how many places of a sketch make a band.

    As many as possible, if of the pairs with the least score all but one in two hundred share a
    band: fewer rows only add candidates. (Mining of Massive Datasets, section 3.4.2.)
    """
    return max(
        (rows for rows in range(2, SKETCH + 1) if _missed(least, rows) <= 1 / 200), default=1
    )


def _missed(score: float, rows: int) -> float:
    """Return the probability that two texts with a score share no band."""
    return float((1 - score**rows) ** (SKETCH // rows))


def bands_of(sketches: Sketch, rows: int) -> Sequence[Any]:
    """Return for each band the number of each sketch's bucket; -1 if nothing else is in it."""
    bands = []
    for start in range(0, SKETCH - rows + 1, rows):
        part = np.ascontiguousarray(sketches[:, start : start + rows])
        whole = part.view(np.dtype((np.void, part.itemsize * rows))).ravel()
        _kinds, numbers, counts = np.unique(whole, return_inverse=True, return_counts=True)
        bands.append(np.where(counts[numbers] > 1, numbers, -1).astype(np.int32))
    return bands
