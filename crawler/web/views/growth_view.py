"""Growth: the counts of a store over time."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.inquiry.last_crawl import last_crawl
from canonry.crawler.web.panel import Asked
from canonry.crawler.web.views.now_view import RUNNING, state_of
from canonry.storage import samples
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
# Of URLs, with what people read: all that are known, each of which is one of the next six; and of
# links to known URLs with another raw URL.
COUNTS = {
    "known": "known",
    "fetched": "fetched",
    "redirected": "redirected",
    "suppressed": "held by learned rules",
    "held": "held otherwise",
    "failed": "failed",
    "queued": "queued",
    "merged_links": "links merged",
}
_POINTS = 150  # in an answer


class Growth(msgspec.Struct, frozen=True, kw_only=True):
    """How a store grew in a span of time that ends now."""

    span: str
    spans: list[str]
    points: list[dict[str, int | str]]  # at most 150: "at", and the counts of then


def view(connection: Connection, asked: Asked) -> Growth:
    """Return the samples of a span, which ends with the latest one if no crawl is running."""
    span = asked.choice("span", tuple(SPANS))
    is_running = state_of(last_crawl(connection), asked) == RUNNING
    first, newest = samples.first_at(connection), samples.latest(connection, asked.now)
    span_samples: list[StoreSample] = []
    if first is not None and newest is not None:
        end = asked.now if is_running else newest.at
        start = end - SPANS[span] if SPANS[span] else first
        span_samples = samples.between(connection, start, end)
        if is_running:
            span_samples.append(samples.now(connection, asked.now))
    return Growth(
        span=span, spans=list(SPANS), points=[_point(one) for one in _fewer(span_samples)]
    )


def _fewer(span_samples: list[StoreSample]) -> list[StoreSample]:
    """Return few enough samples for a chart, evenly spaced, with the first and the last one."""
    if len(span_samples) <= _POINTS:
        return span_samples
    width = (span_samples[-1].at - span_samples[0].at) / (_POINTS - 2)
    by_slot = {int((one.at - span_samples[0].at) / width): one for one in span_samples[1:]}
    return [span_samples[0], *by_slot.values()]


def _point(sample: StoreSample) -> dict[str, int | str]:
    counts = {name: getattr(sample, name) for name in COUNTS}
    return {"at": iso(sample.at) or "", **counts}
