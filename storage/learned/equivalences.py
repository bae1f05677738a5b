"""Equivalences: which known URLs are one resource, told by what each led to (RFC 3986 6.2.4).

A permanent redirect joins its ends; a temporary one joins nothing. A canonical link joins when its
target answers 200, names itself or nothing, and is not refuted. A learned rule joins what it
dropped. The representative of a class is the end of the chain, and only one that answered 200: a
chain that ends elsewhere, or runs in a circle, joins nothing. Neither does one that ends at a sink:
a page to which many unlike pages lead, such as a wall, or the home page for what is gone.
"""

import re
from collections.abc import Collection
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State, aliases, pages, urls

_PERMANENT = frozenset({301, 308})  # RFC 9110 sections 15.4.2 and 15.4.9
_OK = 200
_LONGEST = 16
_MANY = 10  # sources with names unlike the target's, from which on it is a sink
_LOOKED_AT = 200
_LAST = re.compile(r"://[^/?#]*/?(?:[^?#]*/)?([^/?#]*)/*(?:[?#]|\Z)")


class Step(NamedTuple):
    """One URL being another: how it is known."""

    url: str
    to: str
    kind: str  # redirect, canonical or rule
    status: int
    times: int
    last_seen: float


class Class(NamedTuple):
    """Where a URL belongs: the representative's row and URL, and the way to it."""

    row: int
    url: str
    steps: tuple[Step, ...]


class _Known(NamedTuple):
    """What is known of a URL."""

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
    """Answers from a store, at the moment that a connection sees."""

    def __init__(self, connection: Connection) -> None:
        """Bind a connection."""
        self._connection = connection
        self._sinks: dict[int, bool] = {}

    def of_many(self, rows: Collection[int]) -> dict[int, Class]:
        """Return the classes of those of some known URLs that lead to others.

        What a rule holds belongs to what it is held for, also where that is not fetched yet.
        """
        question = "SELECT DISTINCT from_id FROM aliases WHERE from_id"
        leading = [row for (row,) in rows_of(self._connection, question, list(rows))]
        return {row: self.representative(row, awaited=True) for row in leading}

    def representative(self, row: int, *, awaited: bool = False) -> Class:
        """Return the class of a known URL: itself, where it is joined with none.

        With ``awaited``, rules also lead to what is still to be fetched.
        """
        here = self._of(row)
        alone = Class(row, here.url, ())
        steps: list[Step] = []
        seen = {row}
        while len(steps) < _LONGEST:
            edge = self._joining(here)
            if edge is None:
                break
            if edge.to_id in seen:
                return alone
            seen.add(edge.to_id)
            there = self._of(edge.to_id)
            steps.append(
                Step(here.url, there.url, edge.kind, edge.status, edge.times, edge.last_seen)
            )
            here = there
        is_there = here.state == State.FETCHED and here.status == _OK
        if not is_there and not (awaited and all(step.kind == "rule" for step in steps)):
            return alone
        return Class(here.id, here.url, tuple(steps))

    def _of(self, row: int) -> _Known:
        """Return what is known of a URL."""
        query = select(urls.c.id, urls.c.url, urls.c.state, pages.c.status, pages.c.title)
        query = query.join_from(urls, pages, pages.c.url_id == urls.c.id, isouter=True)
        return _Known._make(self._connection.execute(query.where(urls.c.id == row)).one())

    def _joining(self, here: _Known) -> _Edge | None:
        """Return the edge that joins a URL with another, if one does."""
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
                # The last answer counts: what leads on for a time only is a resource of its own.
                lasts = edge.status in _PERMANENT and not self._is_sink(edge.to_id, here.url)
                return edge if lasts else None
            if edge.kind == "rule" and here.state == State.HELD:
                return edge
            if edge.kind == "canonical" and self._is_canonical(here, edge.to_id):
                return edge
        return None

    def _is_canonical(self, here: _Known, target: int) -> bool:
        """Say whether a canonical link holds: confirmed by its target, and not refuted."""
        there = self._of(target)
        if there.state != State.FETCHED or there.status != _OK:
            return False
        named = self._connection.scalar(select(pages.c.canonical).where(pages.c.url_id == target))
        if named not in {None, there.url}:
            return False
        return not (here.title and there.title and here.title != there.title)

    def _is_sink(self, target: int, source: str) -> bool:
        """Say whether a URL is where a site sends all that it does not want to answer."""
        if target not in self._sinks:
            query = select(urls.c.url).join_from(aliases, urls, aliases.c.from_id == urls.c.id)
            leading = query.where(aliases.c.to_id == target, aliases.c.kind == "redirect")
            own = _name(self._of(target).url)
            names = map(_name, self._connection.scalars(leading.limit(_LOOKED_AT)))
            self._sinks[target] = len({name for name in names if name != own}) >= _MANY
        return self._sinks[target] and _name(source) != _name(self._of(target).url)


def _name(url: str) -> str:
    """Return the last segment of a URL's path, letter case aside; "" for the root."""
    found = _LAST.search(url)
    return found[1].lower() if found else ""
