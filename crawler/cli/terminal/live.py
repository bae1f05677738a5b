"""The live display of a crawl, on a terminal only."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.markup import escape
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.markup import named
from canonry.crawler.observe.progress import SPAN, Progress, RunPace, Speed, clock, time_left
from canonry.crawler.plurals import counted, lasting
from canonry.storage import StoreError
from canonry.storage.reading import report

_INTERVAL = 2.0  # seconds between two reads of the store
_FIRST = 0.5  # the same, while there is nothing to read
_ROWS = 6  # in each table
_WIDEST = 48  # characters of a table
_NARROWEST = 23
_GAP = 3  # between tables
_LINES = 10  # of a terminal, that are not left to the tables
_BAR = 30  # characters
_MINUTE = 60.0  # seconds
_STEADY = 30.0  # seconds in which an estimate follows what is known by now
_HTTP_ERROR = "4"  # statuses from here on are errors; they are compared as text


@contextmanager
def live_display(store: str, max_pages: int = 0) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a crawl; yields a function that takes the current progress.

    Args:
        store: a SQLAlchemy URL. What is merged, held and failed is read from the store, so that it
            covers all workers and all runs.
        max_pages: where the crawl stops; 0 is no limit.
    """
    console = render.err()
    if not console.is_terminal or LOUDNESS.quiet:
        yield lambda _progress: None
        return
    pace, ending = RunPace(time.monotonic()), Ending(max_pages)
    status: dict[str, Any] = {}
    stop = threading.Event()

    def refresh_status() -> None:
        while not stop.is_set():
            try:
                with report.reading(store) as connection:
                    status.update(report.status(connection))
            except StoreError:  # the crawl is still creating it
                pass
            stop.wait(_INTERVAL if status else _FIRST)

    refreshing = threading.Thread(target=refresh_status, daemon=True)
    refreshing.start()
    try:
        display = Live(console=console, transient=True, refresh_per_second=2)
        with display as live, render.displaying(console):

            def update(progress: Progress) -> None:
                speed, known = pace.at(time.monotonic(), progress), dict(status)
                end = ending.at(progress, known, speed)
                live.update(LiveDisplay(progress, known, speed, end))

            yield update
    finally:
        stop.set()
        refreshing.join()


class End(NamedTuple):
    """How far a crawl is, and when it may end."""

    share: float  # that is done, 0 to 1
    seconds: float  # that are left


class Ending:
    """Estimates when a crawl ends, if that can be said: neither the bar nor the time jumps.

    It can be said where the queue shrinks, or a limit of pages is near.
    """

    def __init__(self, max_pages: int = 0) -> None:
        """Take where the crawl stops; 0 is no limit."""
        self._max_pages = max_pages
        self._share = 0.0
        self._end: float | None = None  # in seconds of the run
        self._at = 0.0

    def at(self, progress: Progress, status: Mapping[str, Any], speed: Speed) -> End | None:
        """Return the estimate of now; None where nothing can be said."""
        now, fetched = speed.seconds, status.get("urls", {}).get("fetched", 0)
        limit = self._max_pages - fetched if self._max_pages else None
        left = time_left(progress.queued, speed.done, speed.found, speed.pages, limit)
        if left is None or left.most is None or now < SPAN:
            return None
        share = progress.done / (progress.done + progress.queued)
        if self._max_pages:
            share = max(share, min(fetched / self._max_pages, 1.0))
        self._share = max(self._share, share)
        end = now + (left.least + left.most) / 2
        if self._end is None:
            self._end = end
        self._end += (end - self._end) * min(1.0, (now - self._at) / _STEADY)
        self._at = now
        return End(self._share, max(self._end - now, 0.0))


class LiveDisplay:
    """The display: the run as lines, and the store's largest counts as tables.

    It fits the terminal: lines are wrapped, and tables stand side by side as far as there is room.
    """

    def __init__(
        self,
        progress: Progress,
        status: Mapping[str, Any],
        speed: Speed,
        end: End | None = None,
    ) -> None:
        """Take what is shown.

        Args:
            progress: of this run.
            status: the store's status from `report.status`; empty until it was read.
            speed: of this run.
            end: where it is known.
        """
        self._progress = progress
        self._status = status
        self._pace = speed
        self._end = end

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines and the tables, as wide and as high as the terminal allows."""
        lines = Table.grid(padding=(0, 2, 0, 0))
        lines.add_column(no_wrap=True)
        lines.add_column()
        for name, text in self.lines():
            lines.add_row(Text(name, style="dim"), Text(named(text)))
        yield lines
        if self._end is not None:
            share, left = self._end
            in_words = "less than a minute" if left < _MINUTE else f"about {lasting(left)}"
            bar = Table.grid(padding=(0, 2, 0, 0))
            bar.add_row(
                ProgressBar(1.0, share, width=min(_BAR, options.max_width // 2)),
                Text(f"{share:.0%}, {in_words} left"),
            )
            yield bar
        counts = {
            "merged by": {row["rules"]: row["links"] for row in self._status.get("merged", ())},
            "errors": errors(self._status),
            "held": self._status.get("held", {}),
        }
        nonempty = {title: by_name for title, by_name in counts.items() if by_name}
        if not nonempty:
            return
        side_by_side = max(1, min(len(nonempty), (options.max_width + _GAP) // (_NARROWEST + _GAP)))
        width = min(_WIDEST, (options.max_width + _GAP) // side_by_side - _GAP)
        stacked = -(-len(nonempty) // side_by_side)
        rows = max(1, min(_ROWS, (console.size.height - _LINES) // stacked - 1))
        tables = [_table(title, by_name, width, rows) for title, by_name in nonempty.items()]
        for first in range(0, len(tables), side_by_side):
            row = Table.grid(padding=(0, _GAP, 0, 0))
            row.add_row(*tables[first : first + side_by_side])
            yield row

    def lines(self) -> Iterator[tuple[str, str]]:
        """Yield the lines about the run and the store, each with its name."""
        p, speed = self._progress, self._pace
        known = f", {p.unchanged:,} unchanged" if p.unchanged else ""
        pages = f"{counted(p.pages, 'page')}{known} in {clock(speed.seconds)}"
        yield "run", f"{pages}, {speed.pages:,.1f} a second, {_bytes(p.bytes)}"
        left = self._left()
        at_least = "" if left is None or self._end else f", at least {clock(left)} left"
        yield "queue", f"{counted(self._queued(), 'URL')}{at_least}"
        retried = f", {p.retries:,} retried" if p.retries else ""
        probed = f", {counted(p.probes, 'probe')}" if p.probes else ""
        asked = f", {counted(p.in_flight, 'request')} in flight" if p.in_flight else ""
        yield "now", f"{counted(p.hosts, 'host')}{asked}{retried}{probed}"
        yield "links", f"{p.links:,} found, {p.duplicates:,} of them known"
        states = self._status.get("urls", {})
        if states:
            names = ("fetched", "redirected", "failed", "held")
            bad = sum(_bad_statuses(self._status).values())
            errors_too = {"fetched": f" ({counted(bad, 'error')})"} if bad else {}
            told = [f"{states[n]:,} {n}{errors_too.get(n, '')}" for n in names if states[n]]
            yield "store", ", ".join(told) or "empty"
        waiting = self._status.get("waiting", ())
        if waiting:
            more = f", and {len(waiting) - 1:,} more" if len(waiting) > 1 else ""
            yield "waits", f"{waits(waiting[0])}{more}"

    def _queued(self) -> int:
        """Return how many URLs are queued; before anything is done, only the store knows that."""
        p = self._progress
        started = p.queued or p.done or p.in_flight
        return p.queued if started else int(self._status.get("urls", {}).get("queued", 0))

    def _left(self) -> float | None:
        """Return the seconds that the queue takes at this speed, if nothing more is found.

        None while that is not known.
        """
        left = time_left(self._queued(), self._pace.done, self._pace.found)
        return None if left is None else left.least


def waits(host: Mapping[str, Any]) -> str:
    """Return until when a host waits, and why."""
    until = host["until"]
    return f"{host['host']} until {until[:10]} {until[11:16]}Z ({host['reason'] or 'its delay'})"


def errors(status: Mapping[str, Any]) -> dict[str, int]:
    """Return the errors: failures by reason, and responses by error status."""
    return {**status.get("failed", {}), **_bad_statuses(status)}


def _bad_statuses(status: Mapping[str, Any]) -> dict[str, int]:
    """Return how many pages answered with each error status."""
    statuses = status.get("pages_by_status", {})
    return {f"status {name}": n for name, n in statuses.items() if name >= _HTTP_ERROR}


def _table(title: str, counts: Mapping[str, int], width: int, rows: int) -> Table:
    """Return a table of the largest counts; the last row sums up those that have no room."""
    largest = sorted(counts.items(), key=lambda pair: -pair[1])
    if len(largest) > rows:
        rest = largest[rows - 1 :]
        largest = [*largest[: rows - 1], (f"{len(rest):,} others", sum(n for _name, n in rest))]
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
    digits = max(len(f"{count:,}") for _name, count in largest)
    table.add_column(justify="right", no_wrap=True, min_width=digits)
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=max(width - digits - 1, 1))
    for name, count in largest:
        table.add_row(f"{count:,}", escape(name))
    return table


def _bytes(count: float) -> str:
    """Return a size for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:  # noqa: PLR2004 - SI units
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
