"""Groups of texts that resemble a representative, found by sketches and without all pairs."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from canonry.crawler.similar.shingles import (
    Resemblance,
    Shingles,
    Sketch,
    band_rows,
    bands_of,
    resemblance,
)

_MOST_IN_BUCKET = 64  # representatives; of more, those that came first are compared
_MOST_COMPARED = 16  # representatives whose resemblance to a text is computed
_NOISE = 0.15  # over three standard errors of an estimate from 128 places
_KEPT = 4096  # sets of shingles in memory


class Likeness(NamedTuple):
    """A text, and the earlier one that it resembles most."""

    text: int
    representative: int
    resemblance: Resemblance


def likenesses(
    order: Sequence[int],
    sketches: Sketch,
    own_shingles: Callable[[int], Shingles],
    least: float,
) -> Iterator[Likeness]:
    """Yield each text that resembles a representative; the others are representatives.

    Args:
        order: ids of texts, those that rather represent others first.
        sketches: their sketches, in this order.
        own_shingles: returns the sorted set of a text's shingles.
        least: the smallest score.
    """
    own = lru_cache(_KEPT)(own_shingles)
    buckets = _Buckets(bands_of(sketches, band_rows(least)))
    for at, text in enumerate(order):
        best = None
        for other in _nearest(sketches, at, buckets.near(at), least):
            found = resemblance(own(text), own(order[other]))
            if found.score >= least and (best is None or found > best.resemblance):
                best = Likeness(text, order[other], found)
        if best is None:
            buckets.add(at)
        else:
            yield best


class _Buckets:
    """The representatives of each bucket, by their places in the order."""

    def __init__(self, bands: Sequence[Any]) -> None:
        self._bands = bands
        self._places: tuple[defaultdict[int, list[int]], ...] = tuple(
            defaultdict(list) for _band in bands
        )

    def near(self, at: int) -> list[int]:
        """Return the representatives that share a bucket with a text, sorted."""
        found: set[int] = set()
        for band, places in zip(self._bands, self._places, strict=True):
            if band[at] >= 0:
                found.update(places.get(int(band[at]), ()))
        return sorted(found)

    def add(self, at: int) -> None:
        """Make a text a representative."""
        for band, places in zip(self._bands, self._places, strict=True):
            if band[at] >= 0 and len(bucket := places[int(band[at])]) < _MOST_IN_BUCKET:
                bucket.append(at)


def _nearest(sketches: Sketch, at: int, near: list[int], least: float) -> list[int]:
    """Return the places that are worth a comparison, those with the best estimates first."""
    estimates = (sketches[near] == sketches[at]).mean(axis=1)
    best = np.argsort(-estimates, kind="stable")[:_MOST_COMPARED]
    return [near[i] for i in best if estimates[i] >= least - _NOISE]
