"""Growth: the counts of a store over time, and an outlook."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.observe.progress import time_left
from canonry.crawler.web.panel import Asked
from canonry.crawler.web.views.strip_view import RUNNING, speed_of, state_of
from canonry.storage import samples
from canonry.storage.reading.known_url import last_crawl
from canonry.storage.samples import StoreSample
from canonry.storage.timestamps import iso

SPANS = {  # seconds, by name
    "all": 0,
    "10min": 600,
    "1h": 3_600,
    "6h": 21_600,
    "1d": 86_400,
    "1w": 604_800,
    "4w": 2_419_200,
}
_POINTS = 150  # in an answer
_LATEST = 10**11  # seconds since 1970: in the far future


class GrowthPoint(msgspec.Struct, frozen=True, kw_only=True):
    """What a store held at one moment: "known" is the sum of the next six."""

    at: str  # RFC 3339
    known: int
    fetched: int
    redirected: int
    spared: int  # held, because a learned rule says that they are other names of pages
    held: int  # for other reasons
    failed: int
    queued: int
    merged_links: int  # links that were another spelling of a known URL


class Outlook(msgspec.Struct, frozen=True, kw_only=True):
    """When the queue may be empty."""

    earliest: str  # RFC 3339: if nothing more is found
    latest: str | None  # if as much is found as lately; null: it does not end so


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How a store grew in a span of time."""

    span: str
    spans: list[str]
    points: list[GrowthPoint]  # at most 150; fewer samples are kept of what is older
    outlook: Outlook | None
    earlier: int | None  # the "until" of the span before this one; null: there is nothing
    later: int | None  # of the one after it


def view(connection: Connection, asked: Asked) -> Growth:
    """Return the samples of a span, and an outlook if a crawl is running and the span ends now."""
    span = asked.choice("span", tuple(SPANS))
    until = asked.number("until", 0, _LATEST)
    job = last_crawl(connection)
    is_running = state_of(job, asked) == RUNNING
    now = samples.now(connection, asked.now)
    first = samples.first_at(connection)
    newest = samples.latest(connection, asked.now)
    if first is None or newest is None:
        return Growth(
            span=span, spans=list(SPANS), points=[], outlook=None, earlier=None, later=None
        )
    last = asked.now if is_running else newest.at
    end = min(float(until), last) if until else last
    start = end - SPANS[span] if SPANS[span] else first
    span_samples = samples.between(connection, start, end)
    if is_running and end == last:
        span_samples.append(now)
    outlook = None
    if is_running and end == last and (speed := speed_of(connection, now, job, asked)):
        left = time_left(now.queued, speed.done, speed.found)
        if left is not None:
            latest = None if left.most is None else iso(asked.now + left.most)
            outlook = Outlook(earliest=iso(asked.now + left.least) or "", latest=latest)
    half = SPANS[span] // 2
    return Growth(
        span=span,
        spans=list(SPANS),
        points=[_point(one) for one in _fewer(span_samples)],
        outlook=outlook,
        earlier=int(end) - half if half and start > first else None,
        later=int(end) + half if half and end < last else None,
    )


def _fewer(span_samples: list[StoreSample]) -> list[StoreSample]:
    """Return few enough samples for a chart, evenly spaced, with the first and the last one."""
    if len(span_samples) <= _POINTS:
        return span_samples
    width = (span_samples[-1].at - span_samples[0].at) / (_POINTS - 2)
    by_slot = {int((one.at - span_samples[0].at) / width): one for one in span_samples[1:]}
    return [span_samples[0], *by_slot.values()]


def _point(sample: StoreSample) -> GrowthPoint:
    return GrowthPoint(
        at=iso(sample.at) or "",
        known=sample.known,
        fetched=sample.fetched,
        redirected=sample.redirected,
        spared=sample.spared,
        held=sample.held,
        failed=sample.failed,
        queued=sample.queued,
        merged_links=sample.merged_links,
    )
