"""The pace of a crawl: pages a second, and an honest interval for the time that is left."""

from typing import NamedTuple

from canonry.crawler.observe.progress import Progress, Rate

_SPAN = 10.0  # seconds, of the rate that is shown
_LONG = 120.0  # of the rates that forecast: twice the longest usual delay
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
        self._pages, self._done, self._found = Rate(_SPAN), Rate(_LONG), Rate(_LONG)

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


def time_left(queued: int, done: float, found: float) -> TimeLeft | None:
    """Return how long a queue takes at a speed; None if that cannot be said.

    The least is what the queue takes if no page leads to anything new. The most is what it takes if
    pages go on leading to as many new URLs as lately. Pages found late lead to fewer new URLs, so
    the truth is usually between.

    Args:
        queued: URLs that are queued.
        done: URLs that leave the queue each second.
        found: URLs that enter it each second.
    """
    if not queued or done <= 0:
        return None
    least = queued / done
    return TimeLeft(least, queued / (done - found) if found < done else None)


def clock(seconds: float) -> str:
    """Return a duration as hours, minutes and seconds; a long one in days and hours."""
    if seconds >= 2 * _DAY:
        return f"{int(seconds // _DAY):,} d {int(seconds % _DAY // 3_600)} h"
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
