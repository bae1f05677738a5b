"""Budgets: how many URLs that share a pattern, and how many hosts of a domain, are crawled.

They are counted exactly. URLs that are queued while no budget is set are not counted.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, select, text

from canonry.storage.records import PATTERN_EXCLUDED, Budget
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import join, rows_of
from canonry.storage.sql.schema import State, budgets, hosts, url_rows

# The states of a pattern, in the column "excluded".
EXCLUDING, ALL_HELD, INCLUDING = 1, 2, 3
EXCLUDED = frozenset({EXCLUDING, ALL_HELD})

BudgetsOf = Callable[[str], Sequence[Budget]]  # from a URL to its budgets
_MOST_HELD = 100_000  # URLs on hosts beyond the budgets of their domains: some 30 MB of a store


class HostBudget(NamedTuple):
    """A limit for the number of hosts of one registrable domain."""

    domain_of: Callable[[str], str]  # from a host to its registrable domain
    most: int  # hosts; URLs on further ones are held
    reason: str  # for which those URLs are held


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
    new: Counter[bytes] = Counter()
    answers: list[str | None] = []
    for of_url in drawn:
        over = next((s.reason for s in of_url if spent.get(s.key, 0) + new[s.key] >= s.most), None)
        if excluded and any(s.key in excluded for s in of_url):
            over = PATTERN_EXCLUDED
        answers.append(over)
        if over is None:
            new.update(budget.key for budget in of_url)
    _add(connection, limits, new)
    return answers


def count(connection: Connection, of_urls: Iterable[Sequence[Budget]], number: int) -> None:
    """Count URLs in their budgets whatever is left of these.

    Args:
        connection: in a writing transaction.
        of_urls: for each URL its budgets.
        number: 1, or -1 for URLs that leave them.
    """
    every = [budget for of_url in of_urls for budget in of_url]
    changes = {key: number * times for key, times in Counter(b.key for b in every).items()}
    _add(connection, {budget.key: budget for budget in every}, changes)


def _add(
    connection: Connection, known: Mapping[bytes, Budget], changes: Mapping[bytes, int]
) -> None:
    """Add to the counts of budgets, by key."""
    rows = [
        {"key": key, "pattern": known[key].pattern, "count": more}
        for key, more in sorted(changes.items())
    ]
    join(connection, budgets, rows)


def ranks(connection: Connection, names: Collection[str], budget: HostBudget) -> dict[str, int]:
    """Count new hosts; return by name how many hosts of its domain were found before each.

    Args:
        connection: in a writing transaction.
        names: of hosts that have no rows yet.
        budget: says what their domains are.
    """
    domains = {name: budget.domain_of(name) for name in names}
    new = Counter(domains.values())
    next_rank = Counter(_hosts_of(connection, new))
    found = {}
    for name, domain in domains.items():
        found[name] = next_rank[domain]
        next_rank[domain] += 1
    counts.add(connection, {counts.hosts_of(domain): number for domain, number in new.items()})
    return found


def beyond(
    connection: Connection, budget: HostBudget, names: Collection[str] | None = None
) -> set[str]:
    """Return those of some hosts, or of all, that are beyond their domain's budget."""
    if not budget.most:
        return set()
    many = f"SELECT name FROM hosts WHERE rank >= {budget.most:d}"  # noqa: S608 - a number
    if names is None:
        return set(connection.exec_driver_sql(many).scalars())
    return {name for (name,) in rows_of(connection, f"{many} AND name", list(names))}


def rank_of(connection: Connection, host: str, budget: HostBudget) -> int:
    """Return how many hosts of its domain were found before a host, known or not."""
    rank: int | None = connection.scalar(select(hosts.c.rank).where(hosts.c.name == host))
    domain = budget.domain_of(host)
    return _hosts_of(connection, [domain]).get(domain, 0) if rank is None else rank


def overflowing_domain(connection: Connection, budget: HostBudget) -> str | None:
    """Return a domain that has more hosts than its budget; None if nothing is held for that."""
    if not counts.total_of(connection, counts.url(State.HELD, budget.reason)):
        return None
    held = (text("state > 2"), url_rows.c.state == State.HELD, url_rows.c.reason == budget.reason)
    here = select(hosts.c.name).join(url_rows, hosts.c.id == url_rows.c.host_id).where(*held)
    return budget.domain_of(connection.scalars(here.limit(1)).one())


def countless(connection: Connection, names: Collection[str], budget: HostBudget) -> set[str]:
    """Return the new hosts that get no row: their domains are full, and too many URLs are held."""
    held = counts.total_of(connection, counts.url(State.HELD, budget.reason))
    if held < _MOST_HELD or not budget.most:
        return set()
    question = "SELECT name FROM hosts WHERE name"
    new = set(names).difference(name for (name,) in rows_of(connection, question, list(names)))
    known = _hosts_of(connection, set(map(budget.domain_of, new)))
    return {name for name in new if known.get(budget.domain_of(name), 0) >= budget.most}


def _hosts_of(connection: Connection, domains: Collection[str]) -> dict[str, int]:
    """Return how many hosts of domains are known."""
    question = "SELECT name, count FROM counts WHERE kind = 'hosts' AND reason = '' AND name"
    return dict(rows_of(connection, question, list(domains)))
