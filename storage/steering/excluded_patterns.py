"""Excluded patterns: all URLs with such a pattern are held, both queued and new ones.

The mark on the pattern's budget decides about new URLs at once. Holding the queued URLs takes
several steps; the mark says when all are held, so that interrupted steps are finished later.
"""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, select, text, tuple_

from canonry.storage.records import PATTERN_EXCLUDED
from canonry.storage.rows.budgets import ALL_HELD, EXCLUDED, EXCLUDING, INCLUDING
from canonry.storage.rows.requeueing import queue_ids_again
from canonry.storage.sql import transitions
from canonry.storage.sql.bulk import next_id, put
from canonry.storage.sql.schema import State, budgets, hosts, queue_order, url_rows, urls
from canonry.storage.sql.transitions import QUEUED, Transition
from canonry.storage.steering.short_steps import STEP, ShortSteps

_HELD = (State.HELD, PATTERN_EXCLUDED)
_IS_MARKED = text("excluded > 0")
_HELD_HERE = text("state > 2")  # the condition of the index
_SORTED = 100_000  # queued URLs of a host on PostgreSQL: so many are sorted in each step
_LOOKED_AT = 5_000  # queued URLs, for a preview


class URLPattern(NamedTuple):
    """A pattern, and how to recognize its URLs."""

    key: bytes  # of its budget
    text: str
    host: str
    part: str  # a text that all its URLs contain
    of: Callable[[str], Collection[str]]  # from a URL to its patterns

    def has(self, url: str) -> bool:
        """Return True if a URL has the pattern."""
        return self.part in url and self.text in self.of(url)


class Preview(NamedTuple):
    """What an exclusion would hold."""

    held: int  # queued URLs that were found to have the pattern
    looked_at: int  # queued URLs of the host that were looked at
    queued: int  # on the host
    ever: int  # URLs with the pattern that were ever queued

    @property
    def is_exact(self) -> bool:
        """True if all queued URLs of the host were looked at."""
        return self.looked_at >= self.queued


def preview(connection: Connection, pattern: URLPattern, most: int = _LOOKED_AT) -> Preview:
    """Count the queued URLs that an exclusion would hold, among the first of their host.

    Args:
        connection: in a transaction.
        pattern: to exclude.
        most: URLs to look at.
    """
    found = select(hosts.c.id, hosts.c.pending).where(hosts.c.name == pattern.host)
    host_id, queued = connection.execute(found).one_or_none() or (None, 0)
    ever = connection.scalar(select(budgets.c.count).where(budgets.c.key == pattern.key)) or 0
    here = select(urls.c.url).where(urls.c.host_id == host_id, urls.c.state == State.QUEUED)
    here = here.order_by(*queue_order(connection.dialect.name)).limit(most)
    first = here.subquery()
    may = select(first.c.url).where(first.c.url.contains(pattern.part, autoescape=True))
    held = sum(map(pattern.has, connection.scalars(may)))
    return Preview(held, min(queued, most), queued, ever)


def exclude(store: ShortSteps, pattern: URLPattern) -> int:
    """Exclude a pattern; return how many queued URLs are held because of it."""
    with store.step() as connection:
        _mark(connection, pattern, EXCLUDING)
    return _finish(store, pattern, EXCLUDING)


def include(store: ShortSteps, pattern: URLPattern) -> int:
    """Undo an exclusion; return how many URLs go back to the queue."""
    with store.step() as connection:
        _mark(connection, pattern, INCLUDING)
    return _finish(store, pattern, INCLUDING)


def _finish(store: ShortSteps, pattern: URLPattern, mark: int) -> int:
    """Hold or release URLs, as a mark asks for, in steps."""
    return store.repeat(_Pass(pattern, mark))


def finish(connection: Connection, pattern: URLPattern, mark: int) -> int:
    """Set a mark, and hold or release its URLs in one transaction; return how many."""
    _mark(connection, pattern, mark)
    change, total = _Pass(pattern, mark), 0
    while (changed := change(connection)) is not None:
        total += changed
    return total


def excluded(connection: Connection) -> Iterator[tuple[str, int]]:
    """Yield the patterns that are marked, each with its mark."""
    marked = select(budgets.c.pattern, budgets.c.excluded).where(_IS_MARKED)
    yield from ((found, mark) for found, mark in connection.execute(marked.order_by(budgets.c.key)))


def holding(connection: Connection) -> set[str]:
    """Return the patterns that hold URLs now."""
    return {found for found, mark in excluded(connection) if mark in EXCLUDED}


class _Found(NamedTuple):
    """A URL that may have the pattern."""

    id: int
    host_id: int
    depth: int
    priority: int
    url: str


class _Pass:
    """A pass over the URLs that a mark is about; each call is a step.

    Queued URLs are looked at in the order of their queue. A crawl may promote some to a place that
    was passed already, so there are passes until one finds nothing.
    """

    def __init__(self, pattern: URLPattern, mark: int) -> None:
        self._pattern = pattern
        self._mark = mark
        self._after: tuple[int, ...] = ()
        self._changed = 0  # in this pass

    def __call__(self, connection: Connection) -> int | None:
        """Change some of the next URLs; return how many, and None when all are done."""
        if _mark_of(connection, self._pattern) != self._mark:
            return None  # somebody else has changed it meanwhile
        host = connection.scalar(select(hosts.c.id).where(hosts.c.name == self._pattern.host))
        rows = [] if host is None else self._next(connection, host)
        if not rows:
            if not self._changed:
                _mark(connection, self._pattern, ALL_HELD if self._mark == EXCLUDING else 0)
                return None
            self._after, self._changed = (), 0
            return 0
        wanted = [row for row in rows if row.host_id == host and self._pattern.has(row.url)]
        if self._mark == INCLUDING:
            others = holding(connection)
            wanted = [row for row in wanted if others.isdisjoint(self._pattern.of(row.url))]
        self._changed += len(wanted)
        if self._mark == INCLUDING:
            self._after = (rows[-1].id,)
            return queue_ids_again(connection, [row.id for row in wanted])
        last = rows[-1]
        in_order = connection.dialect.name != "postgresql"
        self._after = (last.priority, last.depth, last.id) if in_order else (last.id,)
        moved = {row.id: Transition(row.host_id, row.depth, QUEUED, _HELD) for row in wanted}
        transitions.move(connection, moved)
        return len(moved)

    def _next(self, connection: Connection, host: int) -> Sequence[_Found]:
        """Return the next URLs that may have the pattern, in an order that an index has."""
        columns = (urls.c.id, urls.c.host_id, urls.c.depth, urls.c.priority, urls.c.url)
        if self._mark == INCLUDING:
            held = (_HELD_HERE, urls.c.state == State.HELD, urls.c.reason == PATTERN_EXCLUDED)
            query = select(*columns).where(*held)
            order: tuple[ColumnElement[int], ...] = (urls.c.id,)
        else:
            query = select(*columns).where(urls.c.host_id == host, urls.c.state == State.QUEUED)
            if connection.dialect.name == "postgresql":
                return self._next_by_id(connection, host, query)
            order = queue_order(connection.dialect.name)
        if self._after:
            query = query.where(tuple_(*order) > self._after)
        return [_Found(*row) for row in connection.execute(query.order_by(*order).limit(STEP))]

    def _next_by_id(
        self, connection: Connection, host: int, query: Select[Any]
    ) -> Sequence[_Found]:
        """Return the next queued URLs by id, which no index of PostgreSQL has for a host.

        If the host has few, they are sorted each time; else all URLs are read once, part by part.
        """
        after = self._after[0] if self._after else 0
        last = next_id(connection, url_rows) - 1
        queued = connection.scalar(select(hosts.c.pending).where(hosts.c.id == host)) or 0
        part = last if queued <= _SORTED else STEP * (last // queued + 1)
        while True:
            end = after + part
            here = query.where(urls.c.id > after, urls.c.id <= end)
            rows = connection.execute(here.order_by(urls.c.id).limit(STEP)).all()
            if rows or end >= last:
                return [_Found(*row) for row in rows]
            after = end


def _mark_of(connection: Connection, pattern: URLPattern) -> int:
    """Return the mark of a pattern."""
    here = select(budgets.c.excluded).where(budgets.c.key == pattern.key)
    return connection.scalar(here) or 0


def _mark(connection: Connection, pattern: URLPattern, mark: int) -> None:
    """Mark a pattern; one that was never counted gets a row."""
    row = {"key": pattern.key, "pattern": pattern.text, "count": 0, "excluded": mark}
    put(connection, budgets, [row], change=("excluded",))
