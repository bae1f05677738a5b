"""Equivalences: the class of one URL, found by following its aliases through indexes.

The representative of a class is the end of the chain of merging steps, and only if that answered
200: a chain that ends elsewhere, or in a circle, merges nothing.
"""

from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.storage.clusters.merging_step import (
    EDGE_COLUMNS,
    SINK,
    Edge,
    EdgeEnd,
    are_unlike,
    latest_first,
    merging_step,
)
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import aliases, urls

_ROWS = (
    "SELECT urls.id, urls.url, urls.state, pages.status, pages.title, pages.canonical FROM urls "
    "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
)
_EDGES = f"SELECT from_id, {', '.join(EDGE_COLUMNS)} FROM aliases WHERE from_id"  # noqa: S608 - our names
_LEADING = "SELECT to_id, kind FROM aliases WHERE to_id"
_AT_ONCE = 1_000  # rows read at once to find out if a URL is a sink


class Alias(NamedTuple):
    """One merging step: a URL, the URL that it leads to, and the evidence."""

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


class Equivalences:
    """The classes in a store, as a connection sees it. Remembers which URLs are sinks."""

    def __init__(self, connection: Connection) -> None:
        """Bind a connection."""
        self._connection = connection
        self._sinks: dict[tuple[int, str], bool] = {}  # by row, and kind of edge
        self._rows: dict[int, EdgeEnd] = {}
        self._edges: dict[int, list[Edge]] = {}

    def prepare(self, rows: Collection[int]) -> None:
        """Read all that `representative` needs for some URLs, in a few queries.

        This drops what was read for other URLs before.
        """
        self._rows, self._edges = {}, {}
        new = set(rows)
        while new:
            self._read(new)
            new = {edge.to_id for row in new for edge in self._edges[row]} - self._rows.keys()
        ends = {(e.to_id, e.kind) for edges in self._edges.values() for e in edges}
        unknown = {row for row, kind in ends - self._sinks.keys() if kind != "rule"}
        leading = Counter(map(tuple, rows_of(self._connection, _LEADING, list(unknown))))
        self._sinks |= {end: False for end, number in leading.items() if number < SINK}

    def of_many(self, rows: Collection[int]) -> dict[int, EquivalenceClass]:
        """Return by row the classes of those URLs that lead to others.

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
        while (edge := self._merging(here)) is not None:
            if edge.to_id in seen:
                return alone
            seen.add(edge.to_id)
            there = self._of(edge.to_id)
            steps.append(
                Alias(here.url, there.url, edge.kind, edge.status, edge.times, edge.last_seen)
            )
            here = there
        if not here.is_alive and not (awaited and all(step.kind == "rule" for step in steps)):
            return alone
        return EquivalenceClass(here.id, here.url, tuple(steps))

    def _read(self, rows: Collection[int]) -> None:
        """Read some URLs, and the edges that begin there, the latest first."""
        part = list(rows)
        for found in rows_of(self._connection, _ROWS, part):
            self._rows[found[0]] = EdgeEnd._make(found)
        self._edges |= {row: [] for row in part}
        for from_id, *edge in rows_of(self._connection, _EDGES, part):
            self._edges[from_id].append(Edge._make(edge))
        for row in part:
            self._edges[row].sort(key=latest_first)

    def _of(self, row: int) -> EdgeEnd:
        """Return a URL with its page's data."""
        if row not in self._rows:
            self._read([row])
        return self._rows[row]

    def _merging(self, here: EdgeEnd) -> Edge | None:
        """Return the edge that merges a URL into another, if there is one."""
        edges = ((edge, self._of(edge.to_id)) for edge in self._edges[here.id])
        return merging_step(here, edges, self._is_sink)

    def _is_sink(self, row: int, kind: str) -> bool:
        """Return True if many unlike URLs lead to a row, by edges of a kind."""
        end = row, kind
        if end not in self._sinks:
            query = select(urls.c.url).join_from(aliases, urls, aliases.c.from_id == urls.c.id)
            query = query.where(aliases.c.to_id == row, aliases.c.kind == kind)
            with self._connection.scalars(query.execution_options(yield_per=_AT_ONCE)) as leading:
                self._sinks[end] = are_unlike(leading, self._of(row).url)
        return self._sinks[end]
