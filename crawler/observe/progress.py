"""The progress of a run: its counts, their rate, and an honest interval for the time left."""

import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.samples import StoreSample

SPAN = 10.0  # seconds, of the rate that is shown
LONG = 120.0  # seconds, of the rates for the time left: twice the longest usual delay
_DAY = 86_400


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
    """Return the sum of several workers; of "queued", which counts the store, the maximum."""
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

    def __init__(self, span: float = SPAN) -> None:
        """Start without observations; the rate is over this many seconds."""
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


class Speed(NamedTuple):
    """How long a run has taken so far, in seconds, and what it does per second."""

    seconds: float
    pages: float  # fetched, or found unchanged
    done: float  # URLs that left the queue
    found: float = 0.0  # URLs that entered it


class TimeLeft(NamedTuple):
    """How long a queue will take, in seconds."""

    least: float  # if nothing more is found
    most: float | None  # if as much is found as lately; None: then it does not end


class RunPace:
    """Observes the progress of a run, and returns its speed."""

    def __init__(self, start: float) -> None:
        """Start a run at a time in seconds."""
        self._start = start
        self._pages, self._done, self._found = Rate(SPAN), Rate(LONG), Rate(LONG)

    def at(self, now: float, progress: Progress) -> Speed:
        """Add an observation; return the speed.

        Args:
            now: a time in seconds.
            progress: of the run, at that time.
        """
        found_rate = 0.0
        if progress.queued or progress.done:  # before, nothing was read from the store
            found_rate = self._found.at(now, progress.queued + progress.done)
        return Speed(
            now - self._start,
            self._pages.at(now, progress.pages + progress.unchanged),
            self._done.at(now, progress.done),
            max(found_rate, 0.0),
        )


class LiveCrawl:
    """The latest progress of a crawl, and its speed: what the display, page and metrics show.

    The crawl calls `update` on its own thread; the others only read. Each attribute is replaced as
    a whole, so no lock is needed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start before the first page.

        Args:
            clock: returns monotonic seconds.
        """
        self._clock = clock
        self._pace = RunPace(clock())
        self.progress = Progress()
        self.speed = self._pace.at(clock(), self.progress)
        self.is_over = False

    def update(self, progress: Progress) -> None:
        """Store the current progress of the crawl."""
        self.progress = replace(progress)
        self.speed = self._pace.at(self._clock(), progress)

    def end(self) -> None:
        """Mark the crawl as over, with nothing in flight."""
        self.is_over = True


def speed_between(then: StoreSample, shortly: StoreSample, now: StoreSample) -> Speed | None:
    """Return the speed of a crawl that another process runs, from what its store held.

    Args:
        then: a sample from about `LONG` seconds ago.
        shortly: one from about `SPAN` seconds ago.
        now: what the store holds now.
    """
    span, short = now.at - then.at, now.at - shortly.at
    if span <= 0 or short <= 0:
        return None
    done = max(now.done - then.done, 0) / span
    pages = max(now.fetched - shortly.fetched, 0) / short
    entered = (now.queued - then.queued) / span + done
    return Speed(span, pages, done, max(entered, 0.0))


def time_left(
    queued: int, done: float, found: float, pages: float = 0.0, until_limit: int | None = None
) -> TimeLeft | None:
    """Return how long a queue takes at a speed; None if that cannot be said.

    The least is what the queue takes if no page leads to anything new. The most is what it takes if
    pages go on leading to as many new URLs as lately. Pages found late lead to fewer new URLs, so
    the truth is usually between.

    Args:
        queued: URLs that are queued.
        done: URLs that leave the queue each second.
        found: URLs that enter it each second.
        pages: pages that are fetched each second.
        until_limit: pages until the crawl stops anyway; None is no limit.
    """
    if not queued or done <= 0:
        return None
    left = TimeLeft(queued / done, queued / (done - found) if found < done else None)
    if until_limit is None or pages <= 0:
        return left
    limit = max(until_limit, 0) / pages
    return TimeLeft(min(left.least, limit), limit if left.most is None else min(left.most, limit))


def most_pages(job: Mapping[str, Any] | None) -> int:
    """Return how many pages stop a crawl, by the settings of its job; 0 is no limit."""
    settings = {} if job is None else job["settings"].get("settings", {})
    most: int = settings.get("crawl", {}).get("max_pages", 0)
    return most


def error_pages(by_status: Mapping[str, int]) -> dict[str, int]:
    """Return how many pages answered with each error status, of those by HTTP status."""
    return {name: number for name, number in by_status.items() if int(name) >= FIRST_ERROR}


def clock(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds; a long one in days and hours."""
    if seconds >= 2 * _DAY:
        return f"{int(seconds // _DAY):,} d {int(seconds % _DAY // 3_600)} h"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
