"""Now: whether a crawl is done and well, how fast it is, and how long it may take."""

from typing import Any

import msgspec
from sqlalchemy import Connection

from canonry.crawler.observe.progress import LONG, SPAN, Speed, clock, speed_between, time_left
from canonry.crawler.plurals import counted
from canonry.crawler.run.job import lease_owners
from canonry.crawler.web.panel import Asked
from canonry.crawler.web.views import todo_view
from canonry.storage import samples
from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.reading.known_url import last_crawl
from canonry.storage.samples import StoreSample
from canonry.storage.sql import counts
from canonry.storage.sql.stored_json import stored_json
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
    fetched: int
    redirected: int
    failed: int
    held: int  # for other reasons than a learned rule
    error_pages: int  # pages with a status from 400 on
    suppressed: int  # held because of a learned rule
    merged_links: int  # links to known URLs with another raw URL
    left: SecondsLeft | None


def view(connection: Connection, asked: Asked) -> Now:
    """Return the current state and counts of the crawl of a store."""
    now = samples.now(connection, asked.now)
    job = last_crawl(connection)
    state = state_of(job, asked)
    speed = speed_of(connection, now, job, asked) if state == RUNNING else None
    progress = asked.crawl.progress if asked.crawl and state == RUNNING else None
    left = None
    if speed is not None:
        limit = _until_limit(job, now)
        found = time_left(now.queued, speed.done, speed.found, speed.pages, limit)
        left = found and SecondsLeft(least=round(found.least, 1), most=_rounded(found.most))
    statuses = counts.read(connection, "pages")
    return Now(
        state=state,
        says=_sentence(state, now, left),
        share=round(1 - now.queued / now.known, 4) if now.known else None,
        to_do=todo_view.number(connection),
        started_at=None if job is None else iso(job["started_at"]),
        pages_per_second=None if speed is None else round(speed.pages, 2),
        probes=progress.probes if progress else None,
        queued=now.queued,
        fetched=now.fetched,
        redirected=now.redirected,
        failed=now.failed,
        held=now.held,
        error_pages=sum(count for name, _, count in statuses if int(name) >= FIRST_ERROR),
        suppressed=now.suppressed,
        merged_links=now.merged_links,
        left=left,
    )


def _sentence(state: str, now: StoreSample, left: SecondsLeft | None) -> str:
    """Return in words where a crawl stands."""
    pages, queued = counted(now.fetched, "page"), counted(now.queued, "URL")
    time = limit = ""
    if left is not None:
        most = "or longer, if more is found" if left.most is None else f"to {clock(left.most)}"
        time = f"; {clock(left.least)} {most}"
    if now.queued:
        limit = f", and a limit left {queued} in the queue"
    return {
        "none": "No crawl has used this store.",
        "starting": "The crawl is starting.",
        RUNNING: f"It runs: {pages} so far, {queued} in the queue{time}.",
        "finished": f"It is done: {pages}{limit}.",
        "interrupted": f"It was interrupted after {pages}; the same command goes on with {queued}.",
        "failed": f"It failed after {pages}; the same command goes on with {queued}.",
    }[state]


def state_of(job: dict[str, Any] | None, asked: Asked) -> str:
    """Return the state of the last crawl; that of this process runs until it marks its end."""
    if asked.crawl is not None and not asked.crawl.is_over:
        return "starting" if job is None else RUNNING
    return "none" if job is None else str(lease_owners.corrected(job)["state"])


def speed_of(
    connection: Connection, now: StoreSample, job: dict[str, Any] | None, asked: Asked
) -> Speed | None:
    """Return the speed of a crawl that is running, from this process or from the samples."""
    if asked.crawl is not None:
        return asked.crawl.speed
    begun = job["started_at"] if job else 0.0
    shortly = samples.latest(connection, asked.now - SPAN)
    if shortly is None or shortly.at < begun:  # it has just begun, with a sample
        shortly = samples.latest(connection, begun)
    then = samples.latest(connection, asked.now - LONG)
    if then is None or then.at < begun:
        then = samples.latest(connection, begun)
    return speed_between(then, shortly, now) if then and shortly else None


def _until_limit(job: dict[str, Any] | None, now: StoreSample) -> int | None:
    """Return how many pages a crawl may still fetch; None if it has no limit."""
    if job is None:
        return None
    settings = stored_json(job["settings"], "jobs", job["id"]).get("settings", {})
    most = settings.get("crawl", {}).get("max_pages", 0)
    return most - now.fetched if most else None


def _rounded(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 1)
