"""Budgets: how many URLs with a pattern in common may be queued, counted exactly.

URLs that are queued while no budget is set are not counted.
"""

from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection

from canonry.storage.records import PATTERN_EXCLUDED, Budget
from canonry.storage.sql.bulk import add_counts, rows_of
from canonry.storage.sql.schema import budgets

# The states of a pattern, in the column "excluded".
EXCLUDING, ALL_HELD, INCLUDING = 1, 2, 3
EXCLUDED = frozenset({EXCLUDING, ALL_HELD})

BudgetsOf = Callable[[str], Sequence[Budget]]  # from a URL to its budgets


def spend(connection: Connection, wanted: Iterable[Sequence[Budget]]) -> list[str | None]:
    """Spend budgets on URLs, one after the other.

    Args:
        connection: in a writing transaction.
        wanted: for each URL its budgets; it may be queued if all of them have something left.

    Returns:
        For each URL the reason to hold it, or None if it may be queued. A URL whose pattern people
        have excluded may not.
    """
    drawn = list(wanted)
    limits = {budget.key: budget for of_url in drawn for budget in of_url}
    question = "SELECT key, count, excluded FROM budgets WHERE key"
    spent: dict[bytes, int] = {}
    excluded: set[bytes] = set()
    for found, count, state in rows_of(connection, question, list(limits)):
        spent[key := bytes(found)] = count
        if state in EXCLUDED:
            excluded.add(key)
    before = dict(spent)
    answers: list[str | None] = []
    for of_url in drawn:
        over = next((s.reason for s in of_url if spent.get(s.key, 0) >= s.most), None)
        if excluded and any(s.key in excluded for s in of_url):
            over = PATTERN_EXCLUDED
        answers.append(over)
        if over is None:
            for budget in of_url:
                spent[budget.key] = spent.get(budget.key, 0) + 1
    rows = [
        {"key": key, "pattern": limits[key].pattern, "count": count - before.get(key, 0)}
        for key, count in sorted(spent.items())
        if count != before.get(key, 0)
    ]
    add_counts(connection, budgets, rows)
    return answers
