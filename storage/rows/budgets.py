"""Budgets: how many URLs with a pattern in common are let into the queue, counted exactly.

What is let in while a budget is not set is not counted.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache

from sqlalchemy import Connection

from canonry.storage.records import Share
from canonry.storage.sql.bulk import Upsert, rows_of, upsert
from canonry.storage.sql.schema import budgets

Budget = Callable[[str], Sequence[Share]]  # from a URL to what it draws on


def spend(connection: Connection, wanted: Iterable[Sequence[Share]]) -> list[str | None]:
    """Let URLs into the queue, one after the other, as far as their budgets go.

    Args:
        connection: in a writing transaction.
        wanted: for each URL what it draws on; it is let in when all of that has something left.

    Returns:
        For each URL why it has to be held, or None.
    """
    asked = list(wanted)
    shares = {share.key: share for given in asked for share in given}
    question = "SELECT key, count FROM budgets WHERE key"
    spent: dict[bytes, int] = {
        bytes(key): count for key, count in rows_of(connection, question, list(shares))
    }
    before = dict(spent)
    answers: list[str | None] = []
    for given in asked:
        over = next((s.reason for s in given if spent.get(s.key, 0) >= s.most), None)
        answers.append(over)
        if over is None:
            for share in given:
                spent[share.key] = spent.get(share.key, 0) + 1
    rows = [
        {"key": key, "pattern": shares[key].pattern, "count": count - before.get(key, 0)}
        for key, count in sorted(spent.items())
        if count != before.get(key, 0)
    ]
    if rows:
        connection.execute(_spending(connection.dialect.name), rows)
    return answers


@cache
def _spending(dialect: str) -> Upsert:
    """Return the statement that adds to what is spent."""
    new = upsert(dialect, budgets)
    more = budgets.c.count + new.excluded.count
    return new.on_conflict_do_update(index_elements=["key"], set_={"count": more})
