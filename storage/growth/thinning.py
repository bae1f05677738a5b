"""Thinning: which of many samples are kept, so that years take as little room as days."""

from collections.abc import Iterable

FINEST = 1.0  # seconds between two samples
_PER_AGE = 100  # samples of one age: of what is a day old, one for each 1/100 of a day, or denser


def superfluous(times: Iterable[float], now: float) -> list[float]:
    """Return the times of the samples that are not needed any more.

    Time is divided into slots that are the wider the older they are, each twice as wide as a
    finer one, so that a later call keeps some of what an earlier one kept. The first sample of each
    slot is kept, and the last of all.

    Args:
        times: of all samples, ascending.
        now: the time from which their age counts.
    """
    kept: tuple[float, float] | None = None
    gone: list[float] = []
    last = None
    for at in times:
        width = _width(now - at)
        slot = (width, at // width)
        if slot == kept:
            gone.append(at)
        kept, last = slot, at
    if gone and gone[-1] == last:
        gone.pop()
    return gone


def _width(age: float) -> float:
    """Return the width of the slots of an age, in seconds."""
    width = FINEST
    while 2 * width * _PER_AGE <= age:
        width *= 2
    return width
