"""The patterns of URLs, with how many were queued, in pages; the most frequent first."""

from typing import NamedTuple

from sqlalchemy import Connection, select, text, tuple_

from canonry.storage.sql.engine import StoreError
from canonry.storage.sql.schema import LARGE, budgets
from canonry.storage.steering.pages_of_rows import LOOKED_AT, PageOfRows, page_of

_IS_LARGE = text(f"count >= {LARGE}")  # as the index says it
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
    limit = LOOKED_AT if part else most + 1
    here = (budgets.c.count, budgets.c.key)
    query = select(*_COLUMNS).where(_IS_LARGE)
    if after:
        key, _, count = after.partition("|")
        try:
            place = (int(count), bytes.fromhex(key))
        except ValueError:
            raise StoreError(f"{after!r} is no place in a list of patterns") from None
        query = query.where(tuple_(*here) < place)
    rows = connection.execute(query.order_by(*(c.desc() for c in here)).limit(limit))
    found = [PatternRow(bytes(row[0]), *row[1:]) for row in rows]
    wanted = part.casefold()
    page = page_of(
        found,
        most=most,
        limit=limit,
        wanted=lambda one: wanted in one.pattern.casefold(),
        cursor_of=lambda one: f"{one.key.hex()}|{one.number}",
    )
    if page.after:
        return page
    few = connection.execute(select(*_COLUMNS).where(_IS_SMALL).limit(LOOKED_AT))
    small = [PatternRow(bytes(row[0]), *row[1:]) for row in few]
    more = sorted(
        (one for one in small if wanted in one.pattern.casefold()),
        key=lambda one: (-one.number, one.pattern),
    )
    return PageOfRows([*page.rows, *more[: most - len(page.rows)]], "", page.looked_at + len(small))


def pattern_with(connection: Connection, key: bytes) -> PatternRow | None:
    """Return the pattern with a key; None if no URL with it was counted."""
    found = connection.execute(select(*_COLUMNS).where(budgets.c.key == key)).one_or_none()
    return None if found is None else PatternRow(bytes(found[0]), *found[1:])


def marked_patterns(connection: Connection, most: int = 1_000) -> list[PatternRow]:
    """Return the patterns that people have excluded, or are including again."""
    marked = select(*_COLUMNS).where(_IS_MARKED).order_by(budgets.c.key).limit(most)
    return [PatternRow(bytes(row[0]), *row[1:]) for row in connection.execute(marked)]
