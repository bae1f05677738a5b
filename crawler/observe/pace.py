"""The pace of a crawl: pages a second, and an honest interval for the time that is left."""

from typing import NamedTuple

from canonry.crawler.observe.progress import Progress, Rate
from canonry.storage.growth.samples import StoreSample

SPAN = 10.0  # seconds, of the rate that is shown
LONG = 120.0  # of the rates that forecast: twice the longest usual delay
_DAY = 86_400


class Speed(NamedTuple):
    """How long a run takes so far, in seconds, and what it does in each."""

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
        found = 0.0
        if progress.queued or progress.done:  # before, nothing was read from the store
            found = self._found.at(now, progress.queued + progress.done)
        return Speed(
            now - self._start,
            self._pages.at(now, progress.pages + progress.unchanged),
            self._done.at(now, progress.done),
            max(found, 0.0),
        )


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


def clock(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds; a long one in days and hours."""
    if seconds >= 2 * _DAY:
        return f"{int(seconds // _DAY):,} d {int(seconds % _DAY // 3_600)} h"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
