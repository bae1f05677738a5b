"""Equivalences: which known URLs are one resource, by what each led to (RFC 3986 section 6.2.4).

A permanent redirect merges its ends; a temporary one merges nothing. A canonical link merges if its
target answers 200, names itself or nothing, and is not refuted. A learned rule merges the URLs that
it held. The representative of a class is the end of the chain, and only if that answered 200: a
chain that ends elsewhere, or in a circle, merges nothing. Neither does one that ends at a sink: a
page to which many unlike pages lead, such as a login page, or the home page for deleted pages. The
same holds for a page that many unlike pages name as canonical, as on sites where all name the home
page by mistake.
"""

import re
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State, aliases, urls

_MAX_STEPS = 16
SINK = 10  # so many sources with names unlike the target's make it a sink
_LOOKED_AT = 200
_LAST = re.compile(r"://[^/?#]*/?(?:[^?#]*/)?([^/?#]*)/*(?:[?#]|\Z)")

_ROWS = (
    "SELECT urls.id, urls.url, urls.state, pages.status, pages.title, pages.canonical FROM urls "
    "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
)
_EDGES = "SELECT from_id, to_id, kind, status, count, last_seen, id FROM aliases WHERE from_id"
_LEADING = "SELECT to_id, kind FROM aliases WHERE to_id"


class Alias(NamedTuple):
    """A URL that is another one, and how that is known."""

    url: str
    to: str
    kind: str  # redirect, canonical or rule
    status: int
    times: int
    last_seen: float


class EquivalenceClass(NamedTuple):
    """The class of a URL: the representative's row and URL, and the steps that lead there."""

    row: int
    url: str
    steps: tuple[Alias, ...]


class _URLRow(NamedTuple):
    """What the store knows of a URL."""

    id: int
    url: str
    state: int
    status: int | None
    title: str | None
    canonical: str | None


class _Edge(NamedTuple):
    """One URL leading to another."""

    to_id: int
    kind: str
    status: int
    times: int
    last_seen: float


class Equivalences:
    """The classes in a store, as a connection sees it. Remembers which URLs are sinks."""

    def __init__(self, connection: Connection) -> None:
        """Bind a connection."""
        self._connection = connection
        self._sinks: dict[tuple[int, str], bool] = {}  # by row, and kind of edge
        self._rows: dict[int, _URLRow] = {}
        self._edges: dict[int, list[_Edge]] = {}

    def prepare(self, rows: Collection[int]) -> None:
        """Read all that `representative` asks for about some URLs, in a few questions.

        What was read for other URLs before is forgotten.
        """
        self._rows, self._edges = {}, {}
        new = set(rows)
        for _ in range(_MAX_STEPS + 1):
            if not new:
                break
            part = list(new)
            for found in rows_of(self._connection, _ROWS, part):
                self._rows[found[0]] = _URLRow._make(found)
            self._edges |= {row: [] for row in part}
            for from_id, *edge, _id in sorted(rows_of(self._connection, _EDGES, part), key=_latest):
                self._edges[from_id].append(_Edge._make(edge))
            new = {edge.to_id for row in part for edge in self._edges[row]} - self._rows.keys()
        ends = {(e.to_id, e.kind) for edges in self._edges.values() for e in edges}
        new = {row for row, kind in ends - self._sinks.keys() if kind != "rule"}
        leading = Counter(map(tuple, rows_of(self._connection, _LEADING, list(new))))
        self._sinks |= {end: False for end, number in leading.items() if number < SINK}

    def of_many(self, rows: Collection[int]) -> dict[int, EquivalenceClass]:
        """Return the classes of the URLs, among known ones, that lead to others.

        A URL that a rule holds belongs to the class of its representative, even if that is not
        fetched yet.
        """
        question = "SELECT DISTINCT from_id FROM aliases WHERE from_id"
        leading = [row for (row,) in rows_of(self._connection, question, list(rows))]
        return {row: self.representative(row, awaited=True) for row in leading}

    def representative(self, row: int, *, awaited: bool = False) -> EquivalenceClass:
        """Return the class of a known URL; a URL that is merged with none is its own class.

        With ``awaited``, rules also lead to URLs that are still to be fetched.
        """
        here = self._of(row)
        alone = EquivalenceClass(row, here.url, ())
        steps: list[Alias] = []
        seen = {row}
        while len(steps) < _MAX_STEPS:
            edge = self._merging(here)
            if edge is None:
                break
            if edge.to_id in seen:
                return alone
            seen.add(edge.to_id)
            there = self._of(edge.to_id)
            steps.append(
                Alias(here.url, there.url, edge.kind, edge.status, edge.times, edge.last_seen)
            )
            here = there
        is_alive = here.state == State.FETCHED and here.status == OK
        if not is_alive and not (awaited and all(step.kind == "rule" for step in steps)):
            return alone
        return EquivalenceClass(here.id, here.url, tuple(steps))

    def _of(self, row: int) -> _URLRow:
        """Return what is known of a URL."""
        if row in self._rows:
            return self._rows[row]
        [found] = rows_of(self._connection, _ROWS, [row])
        return _URLRow._make(found)

    def _from(self, row: int) -> list[_Edge]:
        """Return the edges that begin at a URL, the latest first."""
        if row in self._edges:
            return self._edges[row]
        found = sorted(rows_of(self._connection, _EDGES, [row]), key=_latest)
        return [_Edge._make(edge) for _from_id, *edge, _id in found]

    def _merging(self, here: _URLRow) -> _Edge | None:
        """Return the edge that merges a URL into another, if there is one."""
        for edge in self._from(here.id):
            if edge.to_id == here.id:
                continue
            if edge.kind == "redirect" and here.state == State.REDIRECTED:
                # The last answer counts: a URL with a temporary redirect is a resource of its own.
                lasts = edge.status in PERMANENT_REDIRECTS
                return edge if lasts and not self._is_sink(edge, here.url) else None
            if edge.kind == "rule" and here.state == State.HELD:
                return edge
            if edge.kind == "canonical" and self._is_canonical(here, edge):
                return edge
        return None

    def _is_canonical(self, here: _URLRow, edge: _Edge) -> bool:
        """Return True if a canonical link holds: its target confirms it, nothing refutes it."""
        there = self._of(edge.to_id)
        if there.state != State.FETCHED or there.status != OK:
            return False
        if there.canonical not in {None, there.url}:
            return False
        if here.title and there.title and here.title != there.title:
            return False
        return not self._is_sink(edge, here.url)

    def _is_sink(self, edge: _Edge, source: str) -> bool:
        """Return True if a site leads there from many pages that are none of its names."""
        own = last_segment(self._of(edge.to_id).url)
        end = edge.to_id, edge.kind
        if end not in self._sinks:
            query = select(urls.c.url).join_from(aliases, urls, aliases.c.from_id == urls.c.id)
            leading = query.where(aliases.c.to_id == edge.to_id, aliases.c.kind == edge.kind)
            names = map(last_segment, self._connection.scalars(leading.limit(_LOOKED_AT)))
            self._sinks[end] = len({name for name in names if name != own}) >= SINK
        return self._sinks[end] and last_segment(source) != own


def _latest(edge: Sequence[Any]) -> tuple[float, int]:
    """Return the order of edges: the latest first; of several, the first in the store."""
    return -edge[-2], edge[-1]


def last_segment(url: str) -> str:
    """Return the last segment of a URL's path, in lower case; "" for the root."""
    found = _LAST.search(url)
    return found[1].lower() if found else ""
