"""Now: whether a crawl is done and well, how fast it is, and how long it may take."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.inquiry.last_crawl import LastCrawl, last_crawl
from canonry.crawler.observe.progress import (
    LONG,
    SPAN,
    Speed,
    clock,
    error_pages,
    speed_between,
    time_left,
)
from canonry.crawler.plurals import counted
from canonry.crawler.web.panel import Asked
from canonry.crawler.web.views import todo_view
from canonry.storage import samples
from canonry.storage.learned.classes import LEARNED
from canonry.storage.reading import report
from canonry.storage.samples import StoreSample
from canonry.storage.timestamps import iso

RUNNING = "running"


class SecondsLeft(msgspec.Struct, frozen=True, kw_only=True):
    """How long a crawl takes, in seconds."""

    least: float  # if nothing more is found
    most: float | None  # if as much is found as lately; null: the queue grows as fast as it shrinks


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """Where the crawl of a store stands."""

    state: str  # starting, running, interrupted, finished, failed; "none" if no crawl used it
    says: str  # the same in a sentence
    share: float | None  # of the known URLs that have left the queue, 0 to 1; null: none is known
    to_do: int  # things that need a person
    started_at: str | None
    pages_per_second: float | None  # null: not known
    probes: int | None  # requests of this run for learning alone; null: not known here
    queued: int
    pages: int  # with those that wait to be fetched again
    fetched: int
    redirected: int
    failed: int
    held: int  # for other reasons than a learned rule
    error_pages: int  # pages with a status from 400 on
    suppressed: int  # held because of a learned rule
    merged_links: int  # links to known URLs with another raw URL
    left: SecondsLeft | None


def view(connection: Connection, asked: Asked) -> Now:
    """Return the current state and counts of the crawl of a store, as its status has them."""
    crawl = last_crawl(connection)
    state = state_of(crawl, asked)
    urls, reasons, statuses, merged = report.figures(connection)
    speed = speed_of(connection, crawl, asked) if state == RUNNING else None
    left = None
    if speed is not None:
        most = 0 if crawl is None else crawl.settings.crawl.max_pages
        limit = most - urls["fetched"] if most else None
        found = time_left(urls["queued"], speed.done, speed.found, speed.pages, limit)
        left = found and SecondsLeft(least=round(found.least, 1), most=_rounded(found.most))
    known, suppressed = sum(urls.values()), reasons["held"].get(LEARNED, 0)
    pages = sum(statuses.values())
    return Now(
        state=state,
        says=_sentence(state, pages, urls["queued"], left),
        share=round(1 - urls["queued"] / known, 4) if known else None,
        to_do=todo_view.number(connection),
        started_at=None if crawl is None else iso(crawl.started_at),
        pages_per_second=None if speed is None else round(speed.pages, 2),
        probes=asked.crawl.progress.probes if asked.crawl and state == RUNNING else None,
        queued=urls["queued"],
        pages=pages,
        fetched=urls["fetched"],
        redirected=urls["redirected"],
        failed=urls["failed"],
        held=urls["held"] - suppressed,
        error_pages=sum(error_pages(statuses).values()),
        suppressed=suppressed,
        merged_links=sum(row["links"] for row in merged),
        left=left,
    )


def _sentence(state: str, number: int, waiting: int, left: SecondsLeft | None) -> str:
    """Return in words where a crawl stands, with its pages, and URLs in the queue."""
    pages, queued = counted(number, "page"), counted(waiting, "URL")
    time = limit = ""
    if left is not None:
        most = "or longer, if more is found" if left.most is None else f"to {clock(left.most)}"
        time = f"; {clock(left.least)} {most}"
    if waiting:
        limit = f", and a limit left {queued} in the queue"
    return {
        "none": "No crawl has used this store.",
        "starting": "The crawl is starting.",
        RUNNING: f"It runs: {pages} so far, {queued} in the queue{time}.",
        "finished": f"It is done: {pages}{limit}.",
        "interrupted": f"It was interrupted after {pages}; the same command goes on with {queued}.",
        "failed": f"It failed after {pages}; the same command goes on with {queued}.",
    }[state]


def state_of(crawl: LastCrawl | None, asked: Asked) -> str:
    """Return the state of the last crawl; that of this process runs until it marks its end."""
    if asked.crawl is not None and not asked.crawl.is_over:
        return "starting" if crawl is None else RUNNING
    return "none" if crawl is None else crawl.state


def speed_of(connection: Connection, crawl: LastCrawl | None, asked: Asked) -> Speed | None:
    """Return the speed of a crawl that is running, from this process or from the samples."""
    if asked.crawl is not None:
        return asked.crawl.speed
    begun = 0.0 if crawl is None else crawl.started_at
    then, shortly = (_sample(connection, asked.now - span, begun) for span in (LONG, SPAN))
    now = samples.now(connection, asked.now)
    return speed_between(then, shortly, now) if then and shortly else None


def _sample(connection: Connection, at: float, begun: float) -> StoreSample | None:
    """Return the last sample before a time; the first of a crawl that has just begun."""
    found = samples.latest(connection, at)
    is_of_before = found is None or found.at < begun
    return samples.latest(connection, begun) if is_of_before else found


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
