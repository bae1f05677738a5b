"""Pages of rows in the order of an index, and the patterns of URLs in such pages."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Column, Connection, Select, func, select, text, tuple_

from canonry.storage.sql.schema import LARGE, budgets
from canonry.storage.sql.store_errors import StoreError

_T = TypeVar("_T")
LOOKED_AT = 5_000  # rows, for a page of those that have a text
_IS_LARGE = text(f"count >= {LARGE}")  # as the index says it
_IS_SMALL = text(f"count < {LARGE}")
_IS_MARKED = text("excluded > 0")
_COLUMNS = (budgets.c.key, budgets.c.pattern, budgets.c.count, budgets.c.excluded)


class PageOfRows(NamedTuple, Generic[_T]):
    """Rows, and where to go on."""

    rows: list[_T]
    after: str  # the cursor of the next page; "" if this is the last one
    looked_at: int  # rows, to find these


class InOrder(NamedTuple, Generic[_T]):
    """A list in the order of an index."""

    query: Select[Any]  # of all rows from the cursor on; neither ordered nor limited
    order: Sequence[Column[Any]]
    ascending: bool
    make: Callable[[Sequence[Any]], _T]
    cursor_of: Callable[[_T], str]  # returns where a row stands in the order


def page_of(connection: Connection, listed: InOrder[_T], most: int) -> PageOfRows[_T]:
    """Return the first rows of a list.

    Args:
        connection: in a transaction.
        listed: the list.
        most: rows on a page.
    """
    query = _ordered(listed.query, listed.order, listed).limit(most + 1)
    rows = [listed.make(row) for row in connection.execute(query)]
    after = listed.cursor_of(rows[most - 1]) if len(rows) > most else ""
    return PageOfRows(rows[:most], after, min(len(rows), most))


def page_with(
    connection: Connection, listed: InOrder[_T], column: Column[Any], part: str, most: int
) -> PageOfRows[_T]:
    """Return the first rows of a list that have a text in a column, in any case of letters.

    So many rows are looked at, and no more; the cursor looks on.

    Args:
        connection: in a transaction.
        listed: the list.
        column: of the text.
        part: the text.
        most: rows on a page.
    """
    looked = _ordered(listed.query, listed.order, listed).limit(LOOKED_AT)
    inner = looked.subquery()
    has = func.lower(inner.c[column.name]).contains(part.lower(), autoescape=True)
    order = [inner.c[column.name] for column in listed.order]
    found = connection.execute(_ordered(select(inner).where(has), order, listed).limit(most + 1))
    rows = [listed.make(row) for row in found]
    if len(rows) > most:
        return PageOfRows(rows[:most], listed.cursor_of(rows[most - 1]), LOOKED_AT)
    last = connection.execute(looked.offset(LOOKED_AT - 1).limit(1)).one_or_none()
    if last is not None:
        return PageOfRows(rows, listed.cursor_of(listed.make(last)), LOOKED_AT)
    number = connection.scalar(select(func.count()).select_from(inner)) or 0
    return PageOfRows(rows, "", number)


def _ordered(query: Select[Any], order: Sequence[Any], listed: InOrder[_T]) -> Select[Any]:
    return query.order_by(*(c.asc() if listed.ascending else c.desc() for c in order))


class PatternRow(NamedTuple):
    """A pattern; the columns of the table say what each field means."""

    key: bytes
    pattern: str
    number: int  # URLs that were queued
    excluded: int


def patterns_in(
    connection: Connection, *, part: str = "", after: str = "", most: int = 50
) -> PageOfRows[PatternRow]:
    """Return a page of patterns, the most frequent first.

    Those that few URLs have are in no order: some of them are looked at, and sorted.

    Args:
        connection: in a transaction.
        part: only patterns that have this text in them; so many are looked at, and no more.
        after: the cursor of the page before.
        most: patterns on a page.

    Raises:
        StoreError: for a cursor that is none.
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
    found = select(few).order_by(few.c.count.desc(), few.c.pattern)
    if part:
        found = found.where(func.lower(few.c.pattern).contains(part.lower(), autoescape=True))
    more = connection.execute(found.limit(most - len(page.rows)))
    number = connection.scalar(select(func.count()).select_from(few)) or 0
    return PageOfRows([*page.rows, *map(_made, more)], "", page.looked_at + number)


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
