"""The live display of a crawl, on a terminal only."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from rich.console import Group
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from canonry.crawler.cli.terminal import render
from canonry.crawler.cli.terminal.loudness import LOUDNESS
from canonry.crawler.cli.terminal.summaries import largest, numbers
from canonry.crawler.markup import named
from canonry.crawler.observe.progress import (
    SPAN,
    LiveCrawl,
    Progress,
    Speed,
    clock,
    error_pages,
    most_pages,
    time_left,
)
from canonry.crawler.plurals import counted, lasting, merged_by_rule
from canonry.storage import StoreError
from canonry.storage.reading import report

_INTERVAL = 2.0  # seconds between two reads of the store
_FIRST = 0.5  # the same, while there is nothing to read
_NAMED = 3  # counts in a line
_BAR = 30  # characters
_MINUTE = 60.0  # seconds
_SURE = 3.0  # times the least that a crawl can take: where the most is longer, nothing is estimated
_STEADY = 30.0  # seconds in which an estimate follows what is known by now, at most


@contextmanager
def live_display(store: str, crawl: LiveCrawl) -> Iterator[Callable[[], None]]:
    """Show the progress of a crawl; yields a function that shows the current one.

    Args:
        store: a SQLAlchemy URL. What is merged, held and failed is read from the store, so that it
            covers all workers and all runs.
        crawl: of this process.
    """
    console = render.err()
    if not console.is_terminal or LOUDNESS.quiet:
        yield lambda: None
        return
    ending = Ending()
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
        shown = Live(console=console, transient=True, refresh_per_second=2)
        with shown as live, render.displaying(console):

            def update() -> None:
                progress, speed, known = crawl.progress, crawl.speed, dict(status)
                end = ending.at(progress, known, speed)
                live.update(display(progress, known, speed, end, console.width))

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

    It can be said where the queue shrinks by a third of what is done, or a limit of pages is near.
    """

    def __init__(self) -> None:
        """Start before the first page."""
        self._share = 0.0
        self._end: float | None = None  # in seconds of the run
        self._at = 0.0

    def at(self, progress: Progress, status: Mapping[str, Any], speed: Speed) -> End | None:
        """Return the estimate of now; None where nothing can be said."""
        now, fetched = speed.seconds, status.get("urls", {}).get("fetched", 0)
        most = most_pages(status.get("job"))
        limit = most - fetched if most else None
        left = time_left(progress.queued, speed.done, speed.found, speed.pages, limit)
        sure = _SURE if self._end is None else 2 * _SURE  # so the bar does not come and go
        if left is None or now < SPAN or left.most is None or left.most > sure * left.least:
            self._end = None
            return None
        share = progress.done / (progress.done + progress.queued)
        if most:
            share = max(share, min(fetched / most, 1.0))
        self._share = max(self._share, share)
        end = now + (left.least + left.most) / 2
        if self._end is None:
            self._end = end
        steady = min(_STEADY, 2 * now / 3)  # what is known at first is little
        self._end += (end - self._end) * min(1.0, (now - self._at) / steady)
        self._at = now
        return End(self._share, max(self._end - now, 0.0))


def display(
    progress: Progress, status: Mapping[str, Any], speed: Speed, end: End | None, width: int
) -> Group:
    """Return the display: the run and the store's largest counts as lines, and a bar to the end.

    Args:
        progress: of this run.
        status: the store's status from `report.status`; empty until it was read.
        speed: of this run.
        end: where it is known.
        width: of the terminal.
    """
    lines = Table.grid(padding=(0, 2, 0, 0))
    lines.add_column(no_wrap=True)
    lines.add_column()
    for name, text in _lines(progress, status, speed, end):
        lines.add_row(Text(name, style="dim"), Text(named(text)))
    if end is None:
        return Group(lines)
    in_words = "less than a minute" if end.seconds < _MINUTE else f"about {lasting(end.seconds)}"
    bar = Table.grid(padding=(0, 2, 0, 0))
    bar.add_row(
        ProgressBar(1.0, end.share, width=min(_BAR, width // 2)),
        Text(f"{end.share:.0%}, {in_words} left"),
    )
    return Group(lines, bar)


def _lines(
    p: Progress, status: Mapping[str, Any], speed: Speed, end: End | None
) -> Iterator[tuple[str, str]]:
    """Yield the lines about the run and the store, each with its name."""
    known = f", {p.unchanged:,} unchanged" if p.unchanged else ""
    pages = f"{counted(p.pages, 'page')}{known} in {clock(speed.seconds)}"
    yield "run", f"{pages}, {speed.pages:,.1f} a second, {_bytes(p.bytes)}"
    states = status.get("urls", {})
    # Before anything is done, only the store knows how many URLs are queued.
    queued = p.queued if p.queued or p.done or p.in_flight else int(states.get("queued", 0))
    left = None if end else time_left(queued, speed.done, speed.found)
    is_long = left is not None and left.least >= _MINUTE  # else it is about a last retry
    least = f", at least {clock(left.least)} left" if left and is_long else ""
    yield "queue", counted(queued, "URL") + least
    retried = f", {p.retries:,} retried" if p.retries else ""
    probed = f", {counted(p.probes, 'probe')}" if p.probes else ""
    asked = f", {counted(p.in_flight, 'request')} in flight" if p.in_flight else ""
    yield "now", f"{counted(p.hosts, 'host')}{asked}{retried}{probed}"
    yield "links", f"{p.links:,} found, {p.duplicates:,} of them known"
    statuses = status.get("pages_by_status", {})
    bad = {f"status {name}": number for name, number in error_pages(statuses).items()}
    if states:
        errors = f" ({counted(sum(bad.values()), 'error')})" if bad else ""
        pages = sum(statuses.values())  # those that wait again, too
        rest = {name: states[name] for name in ("redirected", "failed", "held")}
        told = [counted(pages, "page") + errors] * bool(pages)
        told += [f"{number:,} {name}" for name, number in rest.items() if number]
        yield "store", ", ".join(told) or "empty"
    merged = merged_by_rule(status.get("merged", ()))
    for name, counts in (
        ("merged by", {row["rules"]: row["links"] for row in merged}),
        ("errors", {**status.get("failed", {}), **bad}),
        ("held", status.get("held", {})),
    ):
        if counts:
            yield name, numbers(largest(counts), most=_NAMED)
    if waiting := status.get("waiting"):
        first, more = waiting[0], len(waiting) - 1
        until = f"{first['until'][:10]} {first['until'][11:16]}Z"
        others = f", and {more:,} more" if more else ""
        yield "waits", f"{first['host']} until {until} ({first['reason'] or 'its delay'}){others}"


def _bytes(count: float) -> str:
    """Return a size for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:  # noqa: PLR2004 - SI units
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
