"""Equivalences: which known URLs are one resource, and which of them represents it.

A URL belongs to the end of the chain of its merging steps, and only if that answered 200: a chain
that ends elsewhere, or in a circle, merges nothing. Ends on one host with equal bodies are one
resource, too.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.storage.clusters.merging_step import (
    CURRENT,
    EDGE_COLUMNS,
    SINK,
    Edge,
    EdgeEnd,
    are_unlike,
    latest_first,
    merging_step,
)
from canonry.storage.http_status import OK
from canonry.storage.learned.classes import LEARNED
from canonry.storage.records import UNREAD
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import chunks, rows_of
from canonry.storage.sql.schema import State, aliases, urls

_ROWS = (
    "SELECT urls.id, urls.url, urls.state, pages.status, pages.title, pages.canonical FROM urls "
    "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
)
_EDGES = f"SELECT from_id, {', '.join(EDGE_COLUMNS)} FROM aliases WHERE from_id"  # noqa: S608 - our names
_LEADING = "SELECT to_id, kind FROM aliases WHERE to_id"
_LEADS = "SELECT DISTINCT from_id FROM aliases WHERE from_id"
_IS_LED_TO = "SELECT DISTINCT to_id FROM aliases WHERE to_id"
_HELD_WITH_PAGES = (
    "SELECT url_id FROM pages JOIN url_rows ON id = url_id "  # noqa: S608 - our names
    f"WHERE state = {State.HELD:d} AND reason = '{LEARNED}'"
)
_AT_ONCE = 1_000  # rows read at once to find out if a URL is a sink
CONTENT = "content"  # the kind of the step to a page with an equal body
# Pages whose bodies may be those of others of their hosts; what follows says which bodies.
EQUAL_BODIES = f"""
SELECT pages.digest, urls.host_id, urls.id, urls.url, pages.fetched_at FROM pages
JOIN urls ON urls.id = pages.url_id
WHERE pages.status = {OK} AND pages.size > 0 AND pages.links <> {UNREAD}
AND urls.state IN ({", ".join(f"{state:d}" for state in CURRENT)}) AND pages.digest"""  # noqa: S608 - our own numbers


class Alias(NamedTuple):
    """One merging step: a URL, the URL that it leads to, and the evidence."""

    alias_id: int  # 0 for equal bodies
    to_id: int
    url: str
    to: str
    kind: str  # redirect, canonical, rule or content
    status: int
    times: int
    last_seen: float


class EquivalenceClass(NamedTuple):
    """The class of a URL: the representative's id and URL, and the steps that lead there."""

    url_id: int
    url: str
    steps: tuple[Alias, ...]


class EqualPage(NamedTuple):
    """A page whose body others of its host have."""

    url: str
    fetched_at: float  # seconds since 1970


class EqualPages(NamedTuple):
    """Pages of one host with equal bodies, none of which leads to another URL."""

    best: int  # the id of the URL that represents them
    pages: Mapping[int, EqualPage]


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


def held_with_needless_pages(connection: Connection) -> Iterator[int]:
    """Yield the URLs that learned rules hold as names of a page, and that still have their own.

    They were held after they had been fetched, and maybe while they waited to be fetched again. No
    export shows their pages, unless the other one goes.
    """
    held = connection.exec_driver_sql(_HELD_WITH_PAGES).scalars().all()
    equivalences = Equivalences(connection)
    for url_ids in chunks(held):
        equivalences.prepare(url_ids)
        yield from (url_id for url_id in url_ids if equivalences.led_end(url_id).steps)


class Equivalences:
    """The classes in a store, as a connection sees it. Remembers which URLs are sinks."""

    def __init__(self, connection: Connection) -> None:
        """Bind a connection."""
        self._connection = connection
        self._sinks: dict[tuple[int, str], bool] = {}  # by URL id, and kind of edge
        self._repeats = counts.total_of(connection, counts.REPEATED) > 0
        self._forget()

    def _forget(self) -> None:
        """Drop what was read of single URLs."""
        self._ends_by_id: dict[int, EdgeEnd] = {}
        self._edges: dict[int, list[Edge]] = {}
        self._steps: dict[int, Edge | None] = {}
        self._equal: dict[int, EqualPages] = {}  # by the id of each of the pages
        self._compared: set[int] = set()  # ids of pages of which the equal ones are known

    def prepare(self, url_ids: Collection[int]) -> None:
        """Read all that `led_end` needs for some URLs, in a few queries.

        This drops what was read for other URLs before. Equal bodies are read for all of them when
        `representative` first needs those of one.
        """
        self._forget()
        self._sinks = {end: True for end, is_sink in self._sinks.items() if is_sink}
        self._load(set(url_ids))
        ends = {(e.to_id, e.kind) for edges in self._edges.values() for e in edges}
        unknown = {url_id for url_id, kind in ends - self._sinks.keys() if kind != "rule"}
        leading = Counter(map(tuple, rows_of(self._connection, _LEADING, list(unknown))))
        self._sinks |= {end: False for end, number in leading.items() if number < SINK}

    def of_many(self, url_ids: Collection[int]) -> dict[int, EquivalenceClass]:
        """Return by id the classes of those URLs that another one represents.

        A URL that a rule holds belongs to the class of its representative, even if that is not
        fetched yet.
        """
        wanted = {url_id for (url_id,) in rows_of(self._connection, _LEADS, list(url_ids))}
        self._load(wanted)
        self._load_equal(set(url_ids))
        wanted |= self._equal.keys() & set(url_ids)
        found = {url_id: self.representative(url_id, awaited=True) for url_id in wanted}
        return {url_id: one for url_id, one in found.items() if one.steps}

    def representative(self, url_id: int, *, awaited: bool = False) -> EquivalenceClass:
        """Return the class of a known URL; a URL that is merged with none is its own class.

        With ``awaited``, rules also lead to URLs that are still to be fetched.
        """
        end = self.led_end(url_id, awaited=awaited)
        equal = self.equal_to(end.url_id)
        if equal is None or equal.best == end.url_id:
            return end
        to = equal.pages[equal.best].url
        seen = equal.pages[end.url_id].fetched_at
        step = Alias(0, equal.best, end.url, to, CONTENT, 0, 1, seen)
        return EquivalenceClass(equal.best, to, (*end.steps, step))

    def led_end(self, url_id: int, *, awaited: bool = False) -> EquivalenceClass:
        """Return what `representative` would if there were no equal bodies."""
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

    def equal_to(self, url_id: int) -> EqualPages | None:
        """Return the pages of a URL's host that have its body; None if it is the only one."""
        if url_id not in self._compared and self._of(url_id).is_alive:
            self._load_equal({one for one, end in self._ends_by_id.items() if end.is_alive})
        return self._equal.get(url_id)

    def _load_equal(self, url_ids: set[int]) -> None:
        """Find the pages that have the bodies of some, and which one represents them."""
        new = list(url_ids - self._compared)
        self._compared |= url_ids
        if not self._repeats:
            return
        own = rows_of(self._connection, "SELECT DISTINCT digest FROM pages WHERE url_id", new)
        digests = list({bytes(digest) for (digest,) in own})
        bodies: dict[tuple[bytes, int], dict[int, EqualPage]] = {}
        for digest, host_id, url_id, *page in rows_of(self._connection, EQUAL_BODIES, digests):
            bodies.setdefault((bytes(digest), host_id), {})[url_id] = EqualPage._make(page)
        several = [pages for pages in bodies.values() if len(pages) > 1]
        every = [url_id for pages in several for url_id in pages]
        leading = {url_id for (url_id,) in rows_of(self._connection, _LEADS, every)}
        led_to = {url_id for (url_id,) in rows_of(self._connection, _IS_LED_TO, every)}
        self._load(leading)
        for pages in several:
            ends = {
                url_id: page
                for url_id, page in pages.items()
                if url_id not in leading or not self.led_end(url_id).steps
            }
            if len(ends) > 1:
                urls_by_id = {url_id: page.url for url_id, page in ends.items()}
                best = best_of(urls_by_id, lambda id_: id_ in led_to and self._is_led_to(id_))
                self._equal |= dict.fromkeys(ends, EqualPages(best, ends))

    def _is_led_to(self, url_id: int) -> bool:
        """Return True if a merging step leads to a URL."""
        leading = select(aliases.c.from_id).where(aliases.c.to_id == url_id)
        options = leading.execution_options(yield_per=_AT_ONCE)
        with self._connection.scalars(options) as found:
            for some in found.partitions():
                self._load(set(some))
                ends = (self.led_end(one) for one in some)
                if any(end.steps and end.url_id == url_id for end in ends):
                    return True
        return False

    def _load(self, url_ids: set[int]) -> None:
        """Read some URLs, and all to which they lead."""
        new = url_ids - self._ends_by_id.keys()
        while new:
            self._read(new)
            new = {
                edge.to_id for url_id in new for edge in self._edges[url_id]
            } - self._ends_by_id.keys()

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
