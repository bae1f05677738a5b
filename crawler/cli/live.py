"""The live display of a crawl, on a terminal; silent in a pipe."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from canonry.crawler.cli import render
from canonry.crawler.observe.progress import Progress
from canonry.storage import StoreError, report

_LOOK = 2.0  # seconds after which the store is looked at again
_SPAN = 10.0  # seconds over which the rate is taken
_ROWS = 6  # of each table
_HTTP_ERROR = "4"  # what the statuses of errors begin with, or more


class Rate:
    """How many a second, over the last while."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._seen: deque[tuple[float, int]] = deque()

    def at(self, now: float, count: int) -> float:
        """Take in a count at a time; return how many a second came since a while ago."""
        self._seen.append((now, count))
        while len(self._seen) > 2 and now - self._seen[0][0] > _SPAN:  # noqa: PLR2004 - two make a rate
            self._seen.popleft()
        then, before = self._seen[0]
        return (count - before) / (now - then) if now > then else 0.0


@contextmanager
def shown(store: str) -> Iterator[Callable[[Progress], None]]:
    """Show where a crawl stands; yields what to call with it.

    Args:
        store: a SQLAlchemy URL. What is merged and what fails is read from there, so that it is
            that of all workers.
    """
    console = render.err()
    if not console.is_terminal:
        yield lambda _progress: None
        return
    rate = Rate()
    start = time.monotonic()
    status: dict[str, Any] = {}
    over = threading.Event()

    def look() -> None:
        while not over.wait(_LOOK):
            try:
                with report.reading(store) as connection:
                    status.update(report.status(connection))
            except StoreError:  # it is just being made
                continue

    looking = threading.Thread(target=look, daemon=True)
    looking.start()
    try:
        with Live(console=console, transient=True, refresh_per_second=2) as live:

            def update(progress: Progress) -> None:
                now = time.monotonic()
                pages = progress.pages + progress.unchanged
                live.update(panel(progress, dict(status), now - start, rate.at(now, pages)))

            yield update
    finally:
        over.set()
        looking.join()


def panel(progress: Progress, status: Mapping[str, Any], seconds: float, rate: float) -> Group:
    """Return what is shown: the run in lines, and what the store says in tables beside each other.

    Args:
        progress: of this run.
        status: of the store, as `canonry.storage.report.status` has it; empty until it was read.
        seconds: since the start.
        rate: pages a second, just now.
    """
    p = progress
    known = f", {p.unchanged:,} unchanged" if p.unchanged else ""
    run = (
        f"{p.pages:,} pages{known} in {_clock(seconds)}, {rate:,.1f} a second, "
        f"{_bytes(p.bytes)}; {p.in_flight} requests in flight to {p.hosts:,} hosts; "
        f"{p.queued:,} URLs queued"
    )
    met = (
        f"{p.links:,} links, {p.duplicates:,} of them known; {p.redirects:,} redirects, "
        f"{p.retries:,} retries, {p.failed:,} failed, {p.held:,} held"
    )
    tables = [
        _table("merged by", {row["rules"]: row["links"] for row in status.get("merged", ())}),
        _table("errors", errors(status)),
        _table("held", status.get("held", {})),
    ]
    row = Table.grid(padding=(0, 4))
    row.add_row(*(table for table in tables if table is not None))
    return Group(Text(run), Text(met), row)


def errors(status: Mapping[str, Any]) -> dict[str, int]:
    """Return what went wrong: faults by name, and answers by the statuses of errors."""
    statuses = status.get("pages_by_status", {})
    bad = {f"status {name}": n for name, n in statuses.items() if name >= _HTTP_ERROR}
    return {**status.get("failed", {}), **bad}


def _table(title: str, counts: Mapping[str, int]) -> Table | None:
    """Return the largest counts; None where there are none."""
    largest = sorted(counts.items(), key=lambda pair: -pair[1])[:_ROWS]
    if not largest:
        return None
    table = Table(title=title, title_justify="left", box=None, pad_edge=False, show_header=False)
    table.add_column(justify="right")
    table.add_column(overflow="ellipsis", no_wrap=True, max_width=40)
    for name, count in largest:
        table.add_row(f"{count:,}", escape(name))
    return table


def _clock(seconds: float) -> str:
    """Return a time as hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _bytes(count: float) -> str:
    """Return a size for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:  # noqa: PLR2004 - SI
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
