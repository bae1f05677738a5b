"""The patterns of URLs, with how many were queued, in pages; the most frequent first."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, select, text, tuple_

from canonry.storage.sql.schema import LARGE, budgets
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.steering.pages_of_rows import (
    LOOKED_AT,
    InOrder,
    PageOfRows,
    page_of,
    page_with,
)

_IS_LARGE = text(f"count >= {LARGE}")  # the condition of the index
_IS_SMALL = text(f"count < {LARGE}")
_IS_MARKED = text("excluded > 0")
_COLUMNS = (budgets.c.key, budgets.c.pattern, budgets.c.count, budgets.c.excluded)


class PatternRow(NamedTuple):
    """A pattern; the columns of the table say what each field means."""

    key: bytes
    pattern: str
    number: int  # URLs that were queued
    excluded: int


def patterns_in(
    connection: Connection, *, part: str = "", after: str = "", most: int = 50, least: int = 1
) -> PageOfRows[PatternRow]:
    """Return a page of patterns, the most frequent first.

    No index has the patterns of few URLs: only some of these are read, and sorted.

    Args:
        connection: in a transaction.
        part: only patterns that contain this text, among a limited number of patterns.
        after: the cursor of the page before.
        most: patterns on a page.
        least: URLs of a pattern; those with fewer are left out.

    Raises:
        StoreError: for an invalid cursor.
    """
    here = (budgets.c.count, budgets.c.key)
    query = select(*_COLUMNS)
    large = query.where(_IS_LARGE)
    if after:
        key, _, count = after.partition("|")
        try:
            place = (int(count), bytes.fromhex(key))
        except ValueError:
            raise StoreError(f"{after!r} is no place in a list of patterns") from None
        large = large.where(tuple_(*here) < place)
    listed = InOrder(large, here, ascending=False, make=_made, cursor_of=_cursor)
    if part:
        page = page_with(connection, listed, budgets.c.pattern, part, most)
    else:
        page = page_of(connection, listed, most)
    if page.after or len(page.rows) == most:
        return page
    few = query.where(_IS_SMALL).limit(LOOKED_AT).subquery()
    found = select(few).where(few.c.count >= least).order_by(few.c.count.desc(), few.c.pattern)
    if part:
        found = found.where(func.lower(few.c.pattern).contains(part.lower(), autoescape=True))
    more = connection.execute(found.limit(most - len(page.rows)))
    number = connection.scalar(select(func.count()).select_from(few)) or 0
    return PageOfRows([*page.rows, *map(_made, more)], "", page.looked_at + number)


def number_below(connection: Connection, least: int) -> int:
    """Return how many patterns have fewer URLs than ``least``, of `LOOKED_AT` small ones."""
    few = select(budgets.c.count).where(_IS_SMALL).limit(LOOKED_AT).subquery()
    rare = select(func.count()).select_from(few).where(few.c.count < least)
    return connection.scalar(rare) or 0


def _made(row: Sequence[Any]) -> PatternRow:
    return PatternRow(bytes(row[0]), *row[1:])


def _cursor(one: PatternRow) -> str:
    return f"{one.key.hex()}|{one.number}"


def pattern_with(connection: Connection, key: bytes) -> PatternRow | None:
    """Return the pattern with a key; None if no URL with it was counted."""
    found = connection.execute(select(*_COLUMNS).where(budgets.c.key == key)).one_or_none()
    return None if found is None else _made(found)


def marked_patterns(connection: Connection, most: int = 1_000) -> list[PatternRow]:
    """Return the patterns that people have excluded, or are including again."""
    marked = select(*_COLUMNS).where(_IS_MARKED).order_by(budgets.c.key).limit(most)
    return [_made(row) for row in connection.execute(marked)]
