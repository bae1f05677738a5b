"""Charts: convert the points of a panel to the coordinates of an SVG template."""

from datetime import datetime
from math import log10
from typing import NamedTuple

from canonry.crawler.web.views.growth_view import COUNTS, Growth
from canonry.storage.timestamps import iso

# The lines: a count, a colour and a dash pattern, so that colours alone need not be distinguished.
SERIES = (
    ("known", "c5", ""),
    ("fetched", "c1", ""),
    ("redirected", "c2", "8 3"),
    ("suppressed", "c2", "2 6"),
    ("held", "c3", "2 3"),
    ("queued", "c4", "10 3 2 3"),
)
_RIGHT, _TOP, _BOTTOM = 8, 10, 26  # around the plot
_DIGIT, _GAP = 7.5, 8  # the width of a character of a label, and what is between it and the plot
_LINES = 4  # of the grid
_DAY = 86_400


class Series(NamedTuple):
    """A line of the chart."""

    name: str
    colour: str
    dashes: str
    path: str  # for a polyline
    last: int


class Tick(NamedTuple):
    """A line of the grid, with its label."""

    at: float
    label: str


class Drawing(NamedTuple):
    """A chart, with all lengths in units of its view box."""

    width: int
    height: int
    left: float
    right: float
    floor: float
    series: list[Series]
    levels: list[Tick]
    times: list[Tick]


def growth_chart(growth: Growth, width: int, height: int) -> Drawing:
    """Return the chart of a growth that has at least one point."""
    at = [_seconds(str(point["at"])) for point in growth.points]
    start, end = at[0], max(at[-1], at[0] + 1.0)
    span = end - start
    top = _above(max(int(point["known"]) for point in growth.points))
    floor, right = height - _BOTTOM, width - _RIGHT
    margin = round(_GAP + _DIGIT * len(f"{top:,}"), 1)

    def x(seconds: float) -> float:
        return round(margin + (right - margin) * (seconds - start) / span, 1)

    def y(value: float) -> float:
        return round(floor - (floor - _TOP) * value / top, 1)

    drawn = []
    for count, colour, dashes in SERIES:
        values = [int(point[count]) for point in growth.points]
        path = " ".join(f"{x(s)},{y(v)}" for s, v in zip(at, values, strict=True))
        drawn.append(Series(COUNTS[count], colour, dashes, path, values[-1]))
    levels = [Tick(y(top * n / _LINES), f"{top * n // _LINES:,}") for n in range(_LINES + 1)]
    times = [Tick(x(one), _label(one, span)) for one in (start, start + span / 2, end)]
    return Drawing(width, height, margin, right, floor, drawn, levels, times)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()


def _above(value: int) -> int:
    """Return a round number that is at least a value, and divisible by the grid's lines."""
    step: int = 10 ** int(log10(max(value, 1)))
    tops = (n * step // 5 for n in (4, 8, 10, 12, 16, 20, 24, 32, 40, 48, 60))
    return next((top for top in tops if top >= max(value, 4) and top % _LINES == 0), 10 * step)


def _label(at: float, span: float) -> str:
    """Return the label of a time: its time of day, or its day if the span is long."""
    text = iso(at) or ""
    if span > 3 * _DAY:
        return text[5:10]
    return text[11:19] if span < _DAY / 24 else text[11:16]
