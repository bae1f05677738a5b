"""Where a run stands: counts that a crawl keeps as it goes, for whoever wants to show them."""

from collections.abc import Iterable
from dataclasses import dataclass, fields


@dataclass(slots=True)
class Progress:
    """One run's counts; one object, updated in place. What the store holds is told by the store."""

    pages: int = 0
    unchanged: int = 0  # pages that were known, and still stand
    redirects: int = 0
    failed: int = 0
    held: int = 0
    retries: int = 0
    links: int = 0
    duplicates: int = 0  # links whose resource was known
    new: int = 0
    in_flight: int = 0
    hosts: int = 0  # that have URLs in memory
    bytes: int = 0  # of bodies, decoded
    waited: float = 0.0  # seconds that servers took, added up
    learning: float = 0.0  # seconds of CPU time, in the writer thread
    queued: int = 0  # in the store


def total(several: Iterable[Progress]) -> Progress:
    """Return what several workers on one store have done together."""
    sum_ = Progress()
    for one in several:
        for field in fields(Progress):
            value = getattr(one, field.name)
            if field.name == "queued":
                sum_.queued = max(sum_.queued, value)
            else:
                setattr(sum_, field.name, getattr(sum_, field.name) + value)
    return sum_
