"""Equivalences: which known URLs are one resource, found by following their aliases.

The representative of a class is the end of the chain of merging steps, and only if that answered
200: a chain that ends elsewhere, or in a circle, merges nothing.
"""

from collections import Counter
from collections.abc import Callable, Collection, Mapping
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

    alias_id: int
    to_id: int
    url: str
    to: str
    kind: str  # redirect, canonical or rule
    status: int
    times: int
    last_seen: float


class EquivalenceClass(NamedTuple):
    """The class of a URL: the representative's id and URL, and the steps that lead there."""

    url_id: int
    url: str
    steps: tuple[Alias, ...]


def best_of(pages: Mapping[int, str], is_led_to: Callable[[int], object]) -> int:
    """Return the id of the page that represents some with equal bodies.

    It is one that other URLs lead to; else one with https; else the one with the shortest URL; else
    the one that was found first.

    Args:
        pages: their URLs by their ids.
        is_led_to: returns True for the ids of those that others lead to.
    """

    def rank(url_id: int) -> tuple[bool, bool, int, int]:
        url = pages[url_id]
        return not is_led_to(url_id), not url.startswith("https:"), len(url), url_id

    return min(pages, key=rank)


class Equivalences:
    """The classes in a store, as a connection sees it. Remembers which URLs are sinks."""

    def __init__(self, connection: Connection) -> None:
        """Bind a connection."""
        self._connection = connection
        self._sinks: dict[tuple[int, str], bool] = {}  # by URL id, and kind of edge
        self._ends_by_id: dict[int, EdgeEnd] = {}
        self._edges: dict[int, list[Edge]] = {}
        self._steps: dict[int, Edge | None] = {}

    def prepare(self, url_ids: Collection[int]) -> None:
        """Read all that `representative` needs for some URLs, in a few queries.

        This drops what was read for other URLs before.
        """
        self._ends_by_id, self._edges, self._steps = {}, {}, {}
        self._sinks = {end: True for end, is_sink in self._sinks.items() if is_sink}
        new = set(url_ids)
        while new:
            self._read(new)
            new = {
                edge.to_id for url_id in new for edge in self._edges[url_id]
            } - self._ends_by_id.keys()
        ends = {(e.to_id, e.kind) for edges in self._edges.values() for e in edges}
        unknown = {url_id for url_id, kind in ends - self._sinks.keys() if kind != "rule"}
        leading = Counter(map(tuple, rows_of(self._connection, _LEADING, list(unknown))))
        self._sinks |= {end: False for end, number in leading.items() if number < SINK}

    def of_many(self, url_ids: Collection[int]) -> dict[int, EquivalenceClass]:
        """Return by id the classes of those URLs that lead to others.

        A URL that a rule holds belongs to the class of its representative, even if that is not
        fetched yet.
        """
        question = "SELECT DISTINCT from_id FROM aliases WHERE from_id"
        leading = [url_id for (url_id,) in rows_of(self._connection, question, list(url_ids))]
        return {url_id: self.representative(url_id, awaited=True) for url_id in leading}

    def representative(self, url_id: int, *, awaited: bool = False) -> EquivalenceClass:
        """Return the class of a known URL; a URL that is merged with none is its own class.

        With ``awaited``, rules also lead to URLs that are still to be fetched.
        """
        here = self._of(url_id)
        alone = EquivalenceClass(url_id, here.url, ())
        steps: list[Alias] = []
        seen = {url_id}
        while (edge := self._merging(here)) is not None:
            if edge.to_id in seen:
                return alone
            seen.add(edge.to_id)
            there = self._of(edge.to_id)
            steps.append(
                Alias(
                    *(edge.id, edge.to_id, here.url, there.url),
                    *(edge.kind, edge.status, edge.times, edge.last_seen),
                )
            )
            here = there
        if not here.is_alive and not (awaited and all(step.kind == "rule" for step in steps)):
            return alone
        return EquivalenceClass(here.id, here.url, tuple(steps))

    def _read(self, url_ids: Collection[int]) -> None:
        """Read some URLs, and the edges that begin there, the latest first."""
        part = list(url_ids)
        for found in rows_of(self._connection, _ROWS, part):
            self._ends_by_id[found[0]] = EdgeEnd._make(found)
        self._edges |= {url_id: [] for url_id in part}
        for from_id, *edge in rows_of(self._connection, _EDGES, part):
            self._edges[from_id].append(Edge._make(edge))
        for edges in map(self._edges.__getitem__, part):
            if len(edges) > 1:
                edges.sort(key=latest_first)

    def _of(self, url_id: int) -> EdgeEnd:
        """Return a URL with its page's data."""
        if url_id not in self._ends_by_id:
            self._read([url_id])
        return self._ends_by_id[url_id]

    def _merging(self, here: EdgeEnd) -> Edge | None:
        """Return the edge that merges a URL into another, if there is one."""
        if here.id not in self._steps:
            edges = ((edge, self._of(edge.to_id)) for edge in self._edges[here.id])
            self._steps[here.id] = merging_step(here, edges, self._is_sink)
        return self._steps[here.id]

    def _is_sink(self, url_id: int, kind: str) -> bool:
        """Return True if many unlike URLs lead to one, by edges of a kind."""
        end = url_id, kind
        if end not in self._sinks:
            query = select(urls.c.url).join_from(aliases, urls, aliases.c.from_id == urls.c.id)
            query = query.where(aliases.c.to_id == url_id, aliases.c.kind == kind)
            with self._connection.scalars(query.execution_options(yield_per=_AT_ONCE)) as leading:
                self._sinks[end] = are_unlike(leading, self._of(url_id).url)
        return self._sinks[end]
