"""Pages of rows in the order of an index: each begins where the one before ended."""

from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from sqlalchemy import Column, Connection, Label, Select, func, select

_T = TypeVar("_T")
LOOKED_AT = 5_000  # rows that are searched for one page


class PageOfRows(NamedTuple, Generic[_T]):
    """Rows, and where to go on."""

    rows: list[_T]
    after: str  # the cursor of the next page; "" if this is the last one
    looked_at: int  # rows, to find these


class InOrder(NamedTuple, Generic[_T]):
    """A list in the order of an index."""

    query: Select[Any]  # of all rows from the cursor on; neither ordered nor limited
    order: Sequence[Column[Any] | Label[Any]]
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
    """Return the first rows of a list that have a text in a column, ignoring case.

    At most `LOOKED_AT` rows are searched; the next page goes on there.

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
