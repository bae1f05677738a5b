"""Budgets: how many URLs with a pattern in common may be queued, counted exactly.

URLs that are queued while no budget is set are not counted.
"""

from collections.abc import Callable, Iterable, Sequence

from sqlalchemy import Connection

from canonry.storage.records import Budget
from canonry.storage.sql.bulk import add_counts, rows_of
from canonry.storage.sql.schema import budgets

BudgetsOf = Callable[[str], Sequence[Budget]]  # from a URL to its budgets


def spend(connection: Connection, wanted: Iterable[Sequence[Budget]]) -> list[str | None]:
    """Spend budgets on URLs, one after the other.

    Args:
        connection: in a writing transaction.
        wanted: for each URL its budgets; it may be queued if all of them have something left.

    Returns:
        For each URL the reason to hold it, or None if it may be queued.
    """
    drawn = list(wanted)
    limits = {budget.key: budget for of_url in drawn for budget in of_url}
    question = "SELECT key, count FROM budgets WHERE key"
    spent: dict[bytes, int] = {
        bytes(key): count for key, count in rows_of(connection, question, list(limits))
    }
    before = dict(spent)
    answers: list[str | None] = []
    for of_url in drawn:
        over = next((s.reason for s in of_url if spent.get(s.key, 0) >= s.most), None)
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
