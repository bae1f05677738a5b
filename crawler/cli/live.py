"""The live display of a crawl, on a terminal only."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Group
from rich.live import Live
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from canonry.crawler.cli import render
from canonry.crawler.observe.progress import Progress, Rate
from canonry.storage import StoreError, report

_INTERVAL = 2.0  # seconds between two reads of the store
_ROWS = 6  # in each table
_HTTP_ERROR = "4"  # statuses from here on are errors; they are compared as text


@contextmanager
def shown(store: str) -> Iterator[Callable[[Progress], None]]:
    """Show the progress of a crawl; yields a function that takes the current progress.

    Args:
        store: a SQLAlchemy URL. Merges and errors are read from the store, so that they cover all
            workers.
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
        while not over.wait(_INTERVAL):
            try:
                with report.reading(store) as connection:
                    status.update(report.status(connection))
            except StoreError:  # the crawl is still creating it
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
    """Return the display: the run as text, and the store's largest counts as tables.

    Args:
        progress: the progress of this run.
        status: the store's status from `canonry.storage.report.status`; empty until it was read.
        seconds: seconds since the start.
        rate: current pages per second.
    """
    p = progress
    known = f", {p.unchanged:,} unchanged" if p.unchanged else ""
    run = (
        f"{render.counted(p.pages, 'page')}{known} in {_clock(seconds)}, {rate:,.1f} a second, "
        f"{_bytes(p.bytes)}; {render.counted(p.in_flight, 'request')} in flight to "
        f"{render.counted(p.hosts, 'host')}; "
        f"{render.counted(p.queued, 'URL')} queued"
    )
    met = (
        f"{render.counted(p.links, 'link')}, {p.duplicates:,} of them known; "
        f"{render.counted(p.redirects, 'redirect')}, {p.retries:,} retried, {p.failed:,} failed, "
        f"{p.held:,} held"
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
    """Return the errors: failures by reason, and responses by error status."""
    statuses = status.get("pages_by_status", {})
    bad = {f"status {name}": n for name, n in statuses.items() if name >= _HTTP_ERROR}
    return {**status.get("failed", {}), **bad}


def _table(title: str, counts: Mapping[str, int]) -> Table | None:
    """Return a table of the largest counts, or None if there are none."""
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
    """Return a duration as hours, minutes and seconds."""
    minutes, rest = divmod(int(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"


def _bytes(count: float) -> str:
    """Return a size for people."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:  # noqa: PLR2004 - SI units
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:,.3g} TB"
