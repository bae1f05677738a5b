"""The strip: how fast a crawl is now, what is queued, and how long that may take."""

from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from canonry.crawler.observe.pace import time_left
from canonry.crawler.run.job import killed_jobs
from canonry.crawler.web.panel import Asked
from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.known_url import last_crawl
from canonry.storage.rows.waiting import waits_for
from canonry.storage.sql import counts
from canonry.storage.sql.schema import State, merges, rules
from canonry.storage.timestamps import iso


class NextTry(msgspec.Struct, frozen=True, kw_only=True):
    """What an idle crawl waits for."""

    host: str
    at: str  # RFC 3339
    seconds: float  # until then
    reason: str | None  # of the retry; null: the host's delay


class SecondsLeft(msgspec.Struct, frozen=True, kw_only=True):
    """How long the queue takes, in seconds."""

    least: float  # if nothing more is found
    most: float | None  # if as much is found as lately; null: the queue grows as fast as it shrinks


class Now(msgspec.Struct, frozen=True, kw_only=True):
    """Where the crawl of a store stands."""

    state: str  # starting, running, interrupted, finished, failed; "none" if no crawl used it
    started_at: str | None
    pages_per_second: float | None  # null: not known
    in_flight: int | None  # requests; null: not known to this process
    queued: int
    fetched: int
    redirected: int
    failed: int
    held: int
    error_pages: int  # pages with a status from 400 on
    spared: int  # URLs that a learned rule spared
    merged_links: int  # links that were another spelling of a known URL
    left: SecondsLeft | None
    next_try: NextTry | None  # if nothing else is left to do now


def view(connection: Connection, asked: Asked) -> Now:
    """Return where the crawl of a store stands."""
    states: dict[str, int] = {}
    for name, _reason, count in counts.read(connection, "urls"):
        states[name] = states.get(name, 0) + count
    job = last_crawl(connection)
    state = _state(job, asked)
    queued = states.get("queued", 0)
    pages_per_second = left = in_flight = None
    if asked.crawl is not None and state == "running":
        speed = asked.crawl.speed
        pages_per_second, in_flight = round(speed.pages, 2), asked.crawl.progress.in_flight
        found = time_left(queued, speed.done, speed.found)
        if found is not None:
            left = SecondsLeft(least=found.least, most=found.most)
    idle = queued and state == "running" and not in_flight and not pages_per_second
    return Now(
        state=state,
        started_at=None if job is None else iso(job["started_at"]),
        pages_per_second=pages_per_second,
        in_flight=in_flight,
        queued=queued,
        **{
            s.name.lower(): states.get(s.name.lower(), 0)
            for s in (State.FETCHED, State.REDIRECTED, State.FAILED, State.HELD)
        },
        error_pages=sum(
            count for name, _, count in counts.read(connection, "pages") if int(name) >= FIRST_ERROR
        ),
        spared=connection.scalar(select(func.sum(rules.c.spared))) or 0,
        merged_links=connection.scalar(select(func.sum(merges.c.count))) or 0,
        left=left,
        next_try=_next_try(connection, asked.now) if idle else None,
    )


def _state(job: dict[str, Any] | None, asked: Asked) -> str:
    """Return the state of the last crawl."""
    if asked.crawl is not None and not asked.crawl.is_over:
        return "starting" if job is None else "running"
    return "none" if job is None else str(killed_jobs.corrected(job)["state"])


def _next_try(connection: Connection, now: float) -> NextTry | None:
    """Return the host that an idle crawl waits for."""
    found = waits_for(connection, now)
    if found is None:
        return None
    return NextTry(
        host=found.host,
        at=iso(found.until) or "",
        seconds=max(round(found.until - now, 1), 0.0),
        reason=found.reason,
    )
