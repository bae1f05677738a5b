"""Patterns of URLs: how many were queued, and which people exclude.

All URLs with an excluded pattern are held, both queued and new ones. The state of the pattern's
budget decides about new URLs at once. Holding the queued URLs takes several steps; the state says
when all are held, so that interrupted steps are finished later.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, func, select, text, update

from canonry.storage.records import PATTERN_EXCLUDED
from canonry.storage.rows.budgets import ALL_HELD, EXCLUDED, EXCLUDING, INCLUDING
from canonry.storage.sql import transitions
from canonry.storage.sql.bulk import put, rows_of
from canonry.storage.sql.schema import LARGE, State, budgets, hosts, queue_order, urls
from canonry.storage.sql.transitions import QUEUED
from canonry.storage.steering.releases import Refusal, release_of
from canonry.storage.steering.short_steps import (
    QueueChange,
    ShortSteps,
    id_of,
    queued_on,
    run_at_once,
)

LOOKED_AT = 5_000  # patterns of few URLs; queued URLs, for a preview
_HELD = (State.HELD, PATTERN_EXCLUDED)
_IS_LARGE = text(f"count >= {LARGE}")  # the condition of the index
_IS_SMALL = text(f"count < {LARGE}")
_IS_EXCLUDED = text("excluded > 0")
_COLUMNS = (budgets.c.pattern, budgets.c.count.label("number"), budgets.c.excluded)


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

    @property
    def is_exact(self) -> bool:
        """True if all queued URLs of the host were looked at."""
        return self.looked_at >= self.queued


def patterns_in(
    connection: Connection, *, part: str = "", most: int = 50
) -> tuple[list[Row[Any]], bool]:
    """Return the first patterns, the most frequent first, and True if there are more.

    No index has the patterns of few URLs: only some of these are read, and sorted. With ``part``,
    only those that contain this text are returned.
    """
    few = select(*_COLUMNS, budgets.c.key).where(_IS_SMALL).limit(LOOKED_AT).subquery()
    small = select(few.c.pattern, few.c.number, few.c.excluded).where(few.c.number > 0)
    rows: list[Row[Any]] = []
    for query, c in ((select(*_COLUMNS).where(_IS_LARGE), budgets.c), (small, few.c)):
        has = func.lower(c.pattern).contains(part.lower(), autoescape=True)
        found = query.where(has) if part else query
        found = found.order_by(query.selected_columns.number.desc(), c.key.desc())
        rows += connection.execute(found.limit(most + 1 - len(rows)))
    return rows[:most], len(rows) > most


def pattern_with(connection: Connection, key: bytes) -> Row[Any] | None:
    """Return the pattern with a key; None if no URL with it was counted."""
    query: Select[Any] = select(*_COLUMNS).where(budgets.c.key == key)
    return connection.execute(query).first()


def excluded(connection: Connection, most: int | None = None) -> list[Row[Any]]:
    """Return the patterns that people have excluded, or are including again."""
    query = select(*_COLUMNS).where(_IS_EXCLUDED).order_by(budgets.c.key)
    return list(connection.execute(query.limit(most)))


def holding(connection: Connection) -> set[str]:
    """Return the patterns that hold URLs now."""
    return {row.pattern for row in excluded(connection) if row.excluded in EXCLUDED}


def preview(connection: Connection, pattern: URLPattern, most: int = LOOKED_AT) -> Preview:
    """Count the queued URLs that an exclusion would hold, among the first of their host."""
    queued = connection.scalar(select(hosts.c.pending).where(hosts.c.name == pattern.host)) or 0
    here = queued_on(pattern.host).with_only_columns(urls.c.url).order_by(None)
    first = here.order_by(*queue_order(connection.dialect.name)).limit(most).subquery()
    may = select(first.c.url).where(first.c.url.contains(pattern.part, autoescape=True))
    held = sum(map(pattern.has, connection.scalars(may)))
    return Preview(held, min(queued, most), queued)


def exclude(store: ShortSteps, pattern: URLPattern) -> int:
    """Exclude a pattern; return how many queued URLs are held because of it."""
    return store.run(_change(pattern, EXCLUDING))


def include(store: ShortSteps, pattern: URLPattern) -> int:
    """Undo an exclusion; return how many URLs go back to the queue."""
    return store.run(_change(pattern, INCLUDING))


def finish(connection: Connection, pattern: URLPattern, state: int) -> int:
    """Set a state, and hold or release its URLs in one transaction; return how many."""
    return run_at_once(connection, _change(pattern, state))


def _change(pattern: URLPattern, state: int) -> QueueChange:
    """Return what excludes a pattern or includes it again."""

    def mark(connection: Connection) -> None:  # a pattern that was never counted gets a row
        row = {"key": pattern.key, "pattern": pattern.text, "count": 0, "excluded": state}
        put(connection, budgets, [row], change=("excluded",))

    def end(connection: Connection) -> int:  # unless somebody has changed it meanwhile
        here = (budgets.c.key == pattern.key, budgets.c.excluded == state)
        after = ALL_HELD if state == EXCLUDING else 0
        connection.execute(update(budgets).where(*here).values(excluded=after))
        return 0

    def hold(connection: Connection, url_ids: Sequence[int]) -> int | None:
        if pattern.text not in holding(connection):
            return None  # somebody has included it meanwhile
        found = rows_of(connection, "SELECT id, url FROM urls WHERE id", url_ids)
        wanted = [url_id for url_id, url in found if pattern.has(url)]
        return len(transitions.move_ids(connection, wanted, _HELD, QUEUED))

    def keeps(connection: Connection) -> Callable[[str], bool]:
        others = holding(connection)
        return lambda url: not pattern.has(url) or not others.isdisjoint(pattern.of(url))

    if state == EXCLUDING:
        has_part = urls.c.url.contains(pattern.part, autoescape=True)
        return QueueChange(mark, queued_on(pattern.host).where(has_part), hold, end)
    refusal, on_host = Refusal("held", PATTERN_EXCLUDED), urls.c.host_id == id_of(pattern.host)
    return release_of(refusal, on_host, mark=mark, end=end, keeps=keeps)
