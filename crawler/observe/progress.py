"""The progress of a run: counts that a crawl updates as it goes, and their rate."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, fields

_SPAN = 10.0  # seconds


@dataclass(slots=True)
class Progress:
    """The counts of one run, updated in place. Counts of the store come from the store."""

    pages: int = 0
    unchanged: int = 0  # known pages that have not changed
    redirects: int = 0
    failed: int = 0
    held: int = 0
    retries: int = 0
    probes: int = 0  # requests for learning alone: pages that are asked again
    links: int = 0
    duplicates: int = 0  # links to known resources
    new: int = 0
    in_flight: int = 0
    hosts: int = 0  # hosts with URLs in memory
    bytes: int = 0  # of decoded bodies
    waited: float = 0.0  # total response time in seconds
    learning: float = 0.0  # seconds of CPU time, in the writer thread
    learning_failed: int = 0  # workers whose learning failed, and was switched off
    queued: int = 0  # URLs queued in the store

    @property
    def done(self) -> int:
        """Return how many URLs have left the queue, one way or another."""
        return self.pages + self.unchanged + self.redirects + self.failed + self.held


def total(several: Iterable[Progress]) -> Progress:
    """Return the sum of several workers on one store; "queued" is of the store, so its maximum."""
    sum_ = Progress()
    for one in several:
        for field in fields(Progress):
            value = getattr(one, field.name)
            if field.name == "queued":
                sum_.queued = max(sum_.queued, value)
            else:
                setattr(sum_, field.name, getattr(sum_, field.name) + value)
    return sum_


class Rate:
    """The rate of a count, over the last seconds."""

    def __init__(self, span: float = _SPAN) -> None:
        """Start without observations; the rate is over so many seconds."""
        self._span = span
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, now: float, count: int) -> float:
        """Add an observation; return the increase per second over the span.

        Args:
            now: a time in seconds.
            count: the count at that time.
        """
        self._seen.append((now, count))
        while len(self._seen) > 2 and now - self._seen[0][0] > self._span:  # noqa: PLR2004 - a rate needs two
            self._seen.popleft()
        then, before = self._seen[0]
        return (count - before) / (now - then) if now > then else 0.0
