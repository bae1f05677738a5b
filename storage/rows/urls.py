"""URL rows: created when a URL is first found, and moved from state to state."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection, bindparam, func, insert, select, update

from canonry.storage.learned.classes import LEARNED, Placement, RuleSource, carry_out, place
from canonry.storage.records import (
    ALIAS,
    DEEPEST,
    HOST_BLOCKED,
    Admission,
    Candidate,
)
from canonry.storage.rows import budgets
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql import transitions, write_locks
from canonry.storage.sql.bulk import insert_columns, next_id, rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, hosts, url_rows, urls
from canonry.storage.sql.transitions import QUEUED, Transition
from canonry.storage.sql.url_suffixes import suffixes_of

_QUEUED, _HELD = int(State.QUEUED), int(State.HELD)
_HOST = itemgetter(Candidate._fields.index("host"))
# Built once: building a statement takes longer than running it.
_here = url_rows.c.id == bindparam("url_id")
GIVEN = -(func.abs(url_rows.c.priority) % 2)  # the priority before any promotion
_PROMOTE = Prepared(
    update(url_rows)
    .where(_here, url_rows.c.state == State.QUEUED, url_rows.c.priority > bindparam("to"))
    .values(priority=GIVEN + bindparam("to"))
)


def admit(
    connection: Connection,
    seen: SeenSet,
    candidates: Sequence[Candidate],
    now: float,
    rules: RuleSource | None = None,
    budgets_of: budgets.BudgetsOf | None = None,
    host_budget: budgets.HostBudget | None = None,
) -> list[Admission]:
    """Admit URLs: claim their keys and insert rows for the new ones.

    Key and row are written in the caller's transaction, which holds the write lock or shares it. If
    it shares the lock, it becomes exclusive here, before rules and budgets are read. Learned rules
    may hold new URLs whose page is known under another URL. Budgets hold URLs beyond the limit of
    their pattern, and URLs on hosts beyond the limit of their domain. Hosts of seeds are not
    counted.
    """
    claims = seen.claim(connection, [candidate.key for candidate in candidates])
    if rules is not None or budgets_of is not None:
        _become_exclusive(connection, rules)
    new = [(c, claim.url_id) for c, claim in zip(candidates, claims, strict=True) if claim.new]
    replaced = _insert(connection, new, now, rules, budgets_of, host_budget) if new else {}
    write_locks.become_exclusive(connection)
    if not replaced:
        return claims
    return [a._replace(replaces=replaced.get(a.url_id)) if a.new else a for a in claims]


def _insert(
    connection: Connection,
    new: list[tuple[Candidate, int]],
    now: float,
    rules: RuleSource | None,
    budgets_of: budgets.BudgetsOf | None,
    host_budget: budgets.HostBudget | None,
) -> dict[int, int]:
    """Insert the rows of new URLs, in the queue or held; return the queued URLs that some replace.

    The first reason to hold a URL counts.
    """
    linked = {c.host for c, _url_id in new if c.source is not None}
    names = dict.fromkeys(map(_HOST, map(itemgetter(0), new)))
    ids = host_ids(connection, names, now, linked, host_budget)
    new = _held(new, blocked_among(connection, ids), HOST_BLOCKED)
    if host_budget is not None:
        overflow = budgets.beyond(connection, host_budget, linked)
        new = _held(new, overflow, host_budget.reason)
    placed = Placement([], set(), [])
    if rules is not None:
        placed = place(connection, new, rules, now, ids.__getitem__)
        new = _apply(placed, new)
    replaced = {one.same_as: one.url_id for one in placed.replaced}
    if budgets_of is not None:
        new = _within_budgets(connection, new, budgets_of, replaced)
    columns = columns_of(new, ids, [now] * len(new))
    insert_columns(connection, url_rows, columns)
    write_locks.become_exclusive(connection)
    by = zip(columns["host_id"], columns["depth"], columns["reason"], strict=True)
    added = {
        Transition(host_id, depth, None, QUEUED if held is None else (State.HELD, held)): number
        for (host_id, depth, held), number in Counter(by).items()
    }
    transitions.count(connection, added)
    if rules is not None:
        carry_out(connection, placed, rules, now)
    return replaced


def columns_of(
    new: Sequence[tuple[Candidate, int]], ids: Mapping[str, int], found_at: Sequence[float]
) -> dict[str, Sequence[Any]]:
    """Return the rows of new URLs as columns, most of which need no loop.

    Args:
        new: candidates and the ids of their URLs.
        ids: by name the ids of their hosts.
        found_at: for each, when it was found; seconds since 1970.
    """
    candidates, numbers = zip(*new, strict=True)
    given = dict(zip(Candidate._fields, zip(*candidates, strict=True), strict=True))
    texts, names = given["url"], given["host"]
    return {
        "id": numbers,
        "suffix": suffixes_of(texts, names),
        "raw_url": [
            None if raw_url == text else raw_url.replace("\0", "%00")
            for text, raw_url in zip(texts, given["raw_url"], strict=True)
        ],
        "host_id": list(map(ids.__getitem__, names)),
        "state": [_QUEUED if reason is None else _HELD for reason in given["held"]],
        "reason": given["held"],
        "depth": [min(depth, DEEPEST) for depth in given["depth"]],
        "hops": [min(number, DEEPEST) for number in given["hops"]],
        "source_id": given["source"],
        "priority": given["priority"],
        "attempts": [0] * len(numbers),
        "due": given["due"],
        "found_at": found_at,
    }


def _become_exclusive(connection: Connection, rules: RuleSource | None) -> None:
    """Become exclusive, and load the rules that others have changed until then."""
    if write_locks.become_exclusive(connection) and rules is not None:
        rules.refresh(connection)


def _held(
    new: list[tuple[Candidate, int]], names: set[str], reason: str
) -> list[tuple[Candidate, int]]:
    """Return new URLs, those of some hosts held for a reason."""
    if not names:
        return new
    return [
        (c._replace(held=reason) if c.held is None and c.host in names else c, url_id)
        for c, url_id in new
    ]


def _within_budgets(
    connection: Connection,
    new: Sequence[tuple[Candidate, int]],
    budgets_of: budgets.BudgetsOf,
    replaced: Collection[int],
) -> list[tuple[Candidate, int]]:
    """Return new URLs, those beyond their budgets held; one that replaces another needs none."""
    free = [one for one in new if one[0].held is None and one[1] not in replaced]
    over = budgets.spend(connection, [budgets_of(candidate.url) for candidate, _url_id in free])
    reasons = {
        url_id: reason
        for (_candidate, url_id), reason in zip(free, over, strict=True)
        if reason is not None
    }
    return [
        (c._replace(held=reasons[url_id]) if url_id in reasons else c, url_id) for c, url_id in new
    ]


def blocked_among(connection: Connection, names: Iterable[str]) -> set[str]:
    """Return those of some hosts that people have blocked."""
    if connection.exec_driver_sql("SELECT 1 FROM hosts WHERE blocked > 0 LIMIT 1").first() is None:
        return set()
    question = "SELECT name FROM hosts WHERE blocked > 0 AND name"
    return {name for (name,) in rows_of(connection, question, list(names))}


def _apply(placed: Placement, new: Sequence[tuple[Candidate, int]]) -> list[tuple[Candidate, int]]:
    """Return new URLs with what rules say about them: some are held, some are requested later."""
    held = {one.url_id for one in placed.held}
    later = placed.deferred
    if not held and not later:
        return list(new)
    return [
        (
            c._replace(held=LEARNED)
            if r in held
            else c._replace(priority=ALIAS)
            if r in later
            else c,
            r,
        )
        for c, r in new
    ]


def host_ids(
    connection: Connection,
    names: Iterable[str],
    now: float = 0.0,
    counted: Collection[str] = (),
    budget: budgets.HostBudget | None = None,
) -> dict[str, int]:
    """Return the ids of hosts; insert those that are missing.

    Args:
        connection: in a writing transaction.
        names: the hosts.
        now: seconds since 1970; new hosts may be requested from then on.
        counted: those that count as hosts of their domains, if they are new.
        budget: counts them; None counts none.
    """
    wanted = list(names)
    ids_by_name: dict[str, int] = dict(
        rows_of(connection, "SELECT name, id FROM hosts WHERE name", wanted)
    )
    missing = [name for name in wanted if name not in ids_by_name]
    if missing and write_locks.become_exclusive(connection):
        # Others may have inserted them meanwhile.
        return host_ids(connection, wanted, now, counted, budget)
    if missing:
        first = next_id(connection, hosts)
        ids_by_name.update((name, first + n) for n, name in enumerate(missing))
        ranks: Mapping[str, int] = {}
        if budget is not None:
            ranks = budgets.ranks(connection, [n for n in missing if n in counted], budget)
        new = {"pending": 0, "ready_at": now, "held_until": now}
        connection.execute(
            insert(hosts),
            [{**new, "id": ids_by_name[n], "name": n, "rank": ranks.get(n, 0)} for n in missing],
        )
    return ids_by_name


def promote(connection: Connection, url_ids: Iterable[int], priority: int) -> None:
    """Let queued URLs be requested sooner, where they have a worse priority.

    Args:
        connection: in a writing transaction.
        url_ids: of URLs in any state; those that are not queued keep their priority.
        priority: `QUESTION` or `TARGET`.
    """
    _PROMOTE.run_many(connection, [{"url_id": url_id, "to": priority} for url_id in url_ids])


def raw_urls(connection: Connection, url_ids: Iterable[int]) -> dict[int, str]:
    """Return the first raw URL of each URL."""
    question = "SELECT id, coalesce(raw_url, url) FROM urls WHERE id"
    return dict(rows_of(connection, question, list(url_ids)))


def seed_targets(connection: Connection) -> list[str]:
    """Return the URLs that seeds redirected to; they count as seeds, too."""
    query = select(urls.c.url).where(urls.c.depth == 0, urls.c.hops > 0)
    return list(connection.scalars(query))
