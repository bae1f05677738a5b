"""Patterns of URLs, with how many were queued; and the newest pages, which may repeat others."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select, text

from canonry.storage.http_status import OK
from canonry.storage.records import UNREAD
from canonry.storage.sql.schema import LARGE, budgets

LOOKED_AT = 5_000  # patterns of few URLs
_IS_LARGE = text(f"count >= {LARGE}")  # the condition of the index
_IS_SMALL = text(f"count < {LARGE}")
_IS_MARKED = text("excluded > 0")
_COLUMNS = (budgets.c.key, budgets.c.pattern, budgets.c.count, budgets.c.excluded)

_NEWEST = """
SELECT urls.url, EXISTS (
    SELECT 1 FROM pages earlier WHERE earlier.digest = newest.digest
    AND (earlier.fetched_at < newest.fetched_at
        OR (earlier.fetched_at = newest.fetched_at AND earlier.url_id < newest.url_id))
)
FROM (SELECT url_id, status, links, size, digest, fetched_at FROM pages
    ORDER BY fetched_at DESC, url_id DESC LIMIT {most:d}) newest
JOIN urls ON urls.id = newest.url_id
WHERE newest.status = {ok:d} AND newest.size > 0 AND newest.links <> {unread:d}
"""


class PatternRow(NamedTuple):
    """A pattern; the columns of the table say what each field means."""

    key: bytes
    pattern: str
    number: int  # URLs that were queued
    excluded: int


def patterns_in(
    connection: Connection, *, part: str = "", most: int = 50, least: int = 1
) -> tuple[list[PatternRow], bool]:
    """Return the first patterns, the most frequent first, and True if there are more.

    No index has the patterns of few URLs: only some of these are read, and sorted.

    Args:
        connection: in a transaction.
        part: only patterns that contain this text.
        most: how many.
        least: URLs of a pattern; those with fewer are left out.
    """
    few = select(*_COLUMNS).where(_IS_SMALL).limit(LOOKED_AT).subquery()
    rows: list[PatternRow] = []
    for query, c in (
        (select(*_COLUMNS).where(_IS_LARGE), budgets.c),
        (select(few).where(few.c.count >= least), few.c),
    ):
        if part:
            has = func.lower(c.pattern).contains(part.lower(), autoescape=True)
            query = query.where(has)  # noqa: PLW2901 - of this list
        found = query.order_by(c.count.desc(), c.key.desc()).limit(most + 1 - len(rows))
        rows += map(_made, connection.execute(found))
    return rows[:most], len(rows) > most


def number_below(connection: Connection, least: int) -> int:
    """Return how many patterns have fewer URLs than ``least``, of `LOOKED_AT` small ones."""
    few = select(budgets.c.count).where(_IS_SMALL).limit(LOOKED_AT).subquery()
    rare = select(func.count()).select_from(few).where(few.c.count < least)
    return connection.scalar(rare) or 0


def _made(row: Sequence[Any]) -> PatternRow:
    return PatternRow(bytes(row[0]), *row[1:])


def pattern_with(connection: Connection, key: bytes) -> PatternRow | None:
    """Return the pattern with a key; None if no URL with it was counted."""
    found = connection.execute(select(*_COLUMNS).where(budgets.c.key == key)).one_or_none()
    return None if found is None else _made(found)


def marked_patterns(connection: Connection, most: int = 1_000) -> list[PatternRow]:
    """Return the patterns that people have excluded, or are including again."""
    marked = select(*_COLUMNS).where(_IS_MARKED).order_by(budgets.c.key).limit(most)
    return [_made(row) for row in connection.execute(marked)]


class NewestPage(NamedTuple):
    """A page that was fetched lately."""

    url: str
    repeats: bool  # the body of a page that was fetched earlier, on any host


def newest_pages(connection: Connection, most: int) -> Iterator[NewestPage]:
    """Yield the pages that were fetched last, in no order; what is no page with a body is left out.

    Args:
        connection: in a transaction.
        most: fetched URLs to look at.
    """
    question = _NEWEST.format(most=most, ok=OK, unread=UNREAD)
    for url, repeats in connection.exec_driver_sql(question):
        yield NewestPage(str(url), bool(repeats))
