"""Pages of rows in the order of an index: each begins where the one before ended."""

from collections.abc import Callable, Sequence
from typing import Generic, NamedTuple, TypeVar

_T = TypeVar("_T")
LOOKED_AT = 10_000  # rows, for a page of those that have a text


class PageOfRows(NamedTuple, Generic[_T]):
    """Rows, and where to go on."""

    rows: list[_T]
    after: str  # the cursor of the next page; "" if this is the last one
    looked_at: int  # rows, to find these


def page_of(
    found: Sequence[_T],
    *,
    most: int,
    limit: int,
    wanted: Callable[[_T], bool],
    cursor_of: Callable[[_T], str],
) -> PageOfRows[_T]:
    """Return the first of some rows that are wanted.

    Args:
        found: rows in order.
        most: rows on a page.
        limit: how many rows the query was limited to.
        wanted: returns True for the rows to show.
        cursor_of: returns where a row stands in the order.
    """
    rows: list[_T] = []
    for number, row in enumerate(found, 1):
        if wanted(row):
            rows.append(row)
        if len(rows) == most:
            is_end = number == len(found) < limit
            return PageOfRows(rows, "" if is_end else cursor_of(row), number)
    has_more = len(found) == limit
    return PageOfRows(rows, cursor_of(found[-1]) if has_more else "", len(found))
