"""Equivalences: which known URLs are one resource, by what each led to (RFC 3986 section 6.2.4).

A permanent redirect merges its ends; a temporary one merges nothing. A canonical link merges if its
target answers 200, names itself or nothing, and is not refuted. A learned rule merges the URLs that
it held. The representative of a class is the end of the chain, and only if that answered 200: a
chain that ends elsewhere, or in a circle, merges nothing. Neither does one that ends at a sink: a
page to which many unlike pages lead, such as a login page, or the home page for deleted pages.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State, aliases, pages, urls

_MAX_STEPS = 16
SINK = 10  # so many sources with names unlike the target's make it a sink
_LOOKED_AT = 200
_LAST = re.compile(r"://[^/?#]*/?(?:[^?#]*/)?([^/?#]*)/*(?:[?#]|\Z)")


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
        self._sinks: dict[int, bool] = {}

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
        query = select(urls.c.id, urls.c.url, urls.c.state, pages.c.status, pages.c.title)
        query = query.join_from(urls, pages, pages.c.url_id == urls.c.id, isouter=True)
        return _URLRow._make(self._connection.execute(query.where(urls.c.id == row)).one())

    def _merging(self, here: _URLRow) -> _Edge | None:
        """Return the edge that merges a URL into another, if there is one."""
        query = select(
            aliases.c.to_id,
            aliases.c.kind,
            aliases.c.status,
            aliases.c.count,
            aliases.c.last_seen,
        ).where(aliases.c.from_id == here.id)
        found = self._connection.execute(query.order_by(aliases.c.last_seen.desc()))
        for edge in map(_Edge._make, found.all()):
            if edge.to_id == here.id:
                continue
            if edge.kind == "redirect" and here.state == State.REDIRECTED:
                # The last answer counts: a URL with a temporary redirect is a resource of its own.
                lasts = edge.status in PERMANENT_REDIRECTS and not self._is_sink(
                    edge.to_id, here.url
                )
                return edge if lasts else None
            if edge.kind == "rule" and here.state == State.HELD:
                return edge
            if edge.kind == "canonical" and self._is_canonical(here, edge.to_id):
                return edge
        return None

    def _is_canonical(self, here: _URLRow, target: int) -> bool:
        """Return True if a canonical link holds: its target confirms it, nothing refutes it."""
        there = self._of(target)
        if there.state != State.FETCHED or there.status != OK:
            return False
        named = self._connection.scalar(select(pages.c.canonical).where(pages.c.url_id == target))
        if named not in {None, there.url}:
            return False
        return not (here.title and there.title and here.title != there.title)

    def _is_sink(self, target: int, source: str) -> bool:
        """Return True if a site redirects there whatever it does not want to answer."""
        if target not in self._sinks:
            query = select(urls.c.url).join_from(aliases, urls, aliases.c.from_id == urls.c.id)
            leading = query.where(aliases.c.to_id == target, aliases.c.kind == "redirect")
            own = last_segment(self._of(target).url)
            names = map(last_segment, self._connection.scalars(leading.limit(_LOOKED_AT)))
            self._sinks[target] = len({name for name in names if name != own}) >= SINK
        return self._sinks[target] and last_segment(source) != last_segment(self._of(target).url)


def last_segment(url: str) -> str:
    """Return the last segment of a URL's path, in lower case; "" for the root."""
    found = _LAST.search(url)
    return found[1].lower() if found else ""
