"""The crawl of this process, as the live page sees it."""

import time
from collections.abc import Callable
from dataclasses import replace

from canonry.crawler.observe.pace import RunPace
from canonry.crawler.observe.progress import Progress


class LiveCrawl:
    """Keeps the latest progress of a crawl, and its speed.

    The crawl calls `update` on its own thread; viewers only read. Each attribute is replaced as a
    whole, so no lock is needed.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """Start before the first page.

        Args:
            clock: seconds, from any moment on.
        """
        self._clock = clock
        self._pace = RunPace(clock())
        self.progress = Progress()
        self.speed = self._pace.at(clock(), self.progress)
        self.is_over = False

    def update(self, progress: Progress) -> None:
        """Take the progress of the crawl as it is now."""
        self.progress = replace(progress)
        self.speed = self._pace.at(self._clock(), progress)

    def end(self) -> None:
        """Say that the crawl is over: nothing is in flight any more."""
        self.is_over = True
