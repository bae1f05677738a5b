"""URL rows: created when a URL is first found, and moved from state to state."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, insert, or_, select, update

from canonry.storage.learned import deferral
from canonry.storage.learned.classes import (
    HELD,
    LEARNED,
    Placement,
    RuleSource,
    delete_edges,
    place,
    record_held,
)
from canonry.storage.records import ALIAS, Admission, Candidate, Outcome
from canonry.storage.rows import budgets
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import chunks, insert_rows, next_id, rows_of
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.transitions import QUEUED, Transition, standing

_REVIEWED = 20_000  # URLs in memory at once while all are checked
_QUEUED, _HELD = int(State.QUEUED), int(State.HELD)
COLUMNS = (
    "id",
    "url",
    "spelling",
    "host_id",
    "state",
    "reason",
    "depth",
    "hops",
    "source_id",
    "priority",
    "attempts",
    "due",
    "found_at",
)
# Built once: building a statement takes longer than running it.
_here = urls.c.id == bindparam("row")
_POSTPONE = (
    update(urls)
    .where(_here)
    .values(due=bindparam("at"), reason=bindparam("why"), attempts=urls.c.attempts + 1)
)
# A URL may be held by a learned rule while it is fetched; its outcome counts all the same.
_learned = and_(urls.c.state == State.HELD, urls.c.reason == LEARNED)
_by_robots = and_(urls.c.state == State.HELD, urls.c.reason == "robots")
_OPEN = select(urls.c.id, urls.c.host_id, urls.c.depth, urls.c.state, urls.c.reason).where(
    urls.c.id.in_(bindparam("rows", expanding=True)), or_(urls.c.state == State.QUEUED, _learned)
)
_GIVEN = -(func.abs(urls.c.priority) % 2)  # the priority before any promotion
_PROMOTE = (
    update(urls)
    .where(urls.c.id.in_(bindparam("rows", expanding=True)))
    .where(urls.c.state == State.QUEUED, urls.c.priority > bindparam("to"))
    .values(priority=_GIVEN + bindparam("to"))
)


def admit(
    connection: Connection,
    seen: SeenSet,
    candidates: Sequence[Candidate],
    now: float,
    rules: RuleSource | None = None,
    budgets_of: budgets.BudgetsOf | None = None,
) -> list[Admission]:
    """Admit URLs: claim their keys and insert rows for the new ones.

    Key and row are written in one transaction: the caller's, which holds the write lock. Learned
    rules may hold new URLs whose page is known under another URL; budgets hold URLs beyond the
    number that they allow for a pattern.
    """
    first = next_id(connection, urls)
    claims = seen.claim(connection, [candidate.key for candidate in candidates], first)
    new = [(c, claim.row) for c, claim in zip(candidates, claims, strict=True) if claim.new]
    if new:
        ids = host_ids(connection, dict.fromkeys(c.host for c, _row in new))
        placed = Placement([], set(), [])
        if rules is not None:
            placed = place(connection, new, rules, now, ids.__getitem__)
            new = _apply(placed, new)
        replaced = {one.same_as: one.row for one in placed.replaced}
        if budgets_of is not None:  # who takes another's place in the queue has its budget
            free = [at for at, (c, row) in enumerate(new) if c.held is None and row not in replaced]
            over = budgets.spend(connection, [budgets_of(new[at][0].url) for at in free])
            for at, reason in zip(free, over, strict=True):
                if reason is not None:
                    new[at] = (new[at][0]._replace(held=reason), new[at][1])
        rows = [
            (
                row,
                url,
                None if spelling == url else spelling.replace("\0", "%00"),
                ids[host],
                _QUEUED if held is None else _HELD,
                held,
                depth,
                hops,
                source,
                priority,
                0,
                0.0,
                now,
            )
            for (
                (url, spelling, _key, host, depth, hops, source, held, _listed, priority),
                row,
            ) in new
        ]
        insert_rows(connection, urls, COLUMNS, rows)
        added = Counter((row[3], row[6], row[5]) for row in rows)
        transitions.count(
            connection,
            {
                Transition(host_id, depth, None, QUEUED if held is None else (State.HELD, held)): n
                for (host_id, depth, held), n in added.items()
            },
        )
        if rules is not None:
            deferral.replace(connection, [(old, row) for row, old in replaced.items()], HELD)
            record_held(connection, [*placed.held, *placed.replaced], rules, now)
            claims = (
                [
                    a._replace(replaces=replaced[a.row]) if a.new and a.row in replaced else a
                    for a in claims
                ]
                if replaced
                else claims
            )
    return claims


def _apply(placed: Placement, new: Sequence[tuple[Candidate, int]]) -> list[tuple[Candidate, int]]:
    """Return new URLs with what rules say about them: some are held, some are asked later."""
    held = {one.row for one in placed.held}
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


def host_ids(connection: Connection, names: Iterable[str]) -> dict[str, int]:
    """Return the rows of hosts; insert those that are missing."""
    wanted = list(names)
    known: dict[str, int] = {}
    for part in chunks(wanted):
        rows = connection.execute(select(hosts.c.name, hosts.c.id).where(hosts.c.name.in_(part)))
        known.update((name, row) for name, row in rows)
    missing = [name for name in wanted if name not in known]
    if missing:
        first = next_id(connection, hosts)
        known.update((name, first + n) for n, name in enumerate(missing))
        connection.execute(
            insert(hosts),
            [
                {"id": known[n], "name": n, "pending": 0, "ready_at": 0.0, "lease_until": 0.0}
                for n in missing
            ],
        )
    return known


def acknowledge(connection: Connection, outcomes: Iterable[Outcome], now: float) -> None:
    """Take URLs out of the queue, or leave them in it for a retry.

    URLs whose outcome another worker has recorded are left alone.
    """
    wanted = {outcome.row: outcome for outcome in outcomes}
    settled: dict[int, Transition] = {}
    postponed = []
    in_flight: list[int] = []  # a learned rule held them while they were fetched
    for row, host_id, depth, state, reason in connection.execute(_OPEN, {"rows": list(wanted)}):
        outcome = wanted[row]
        if outcome.retry_at is None:
            after = (outcome.state, outcome.reason)
            settled[row] = Transition(host_id, depth, standing(state, reason), after)
            in_flight += [row] * (state == State.HELD)
        else:
            postponed.append({"row": row, "at": outcome.retry_at, "why": outcome.reason})
    transitions.move(connection, settled, due=now)
    delete_edges(connection, in_flight)
    if postponed:
        connection.execute(_POSTPONE, postponed)


def promote(connection: Connection, rows: Iterable[int], priority: int) -> None:
    """Let queued URLs be requested sooner, where they have a worse priority.

    Args:
        connection: in a writing transaction.
        rows: of URLs in any state; those that are not queued keep their priority.
        priority: `QUESTION` or `TARGET`.
    """
    for part in chunks(list(rows)):
        connection.execute(_PROMOTE, {"rows": part, "to": priority})


def requeue(connection: Connection, before: float) -> int:
    """Put URLs that were fetched before a time back in the queue: pages, redirects and failures.

    So are those that a robots.txt held before: by now, it may allow them.

    Args:
        connection: in a writing transaction.
        before: seconds since 1970.

    Returns:
        How many URLs.
    """
    settled = urls.c.state.in_([State.FETCHED, State.REDIRECTED, State.FAILED])
    old = and_(or_(settled, _by_robots), urls.c.due <= before)
    return queue_again(connection, old)


def queue_again(connection: Connection, which: ColumnElement[bool]) -> int:
    """Put URLs back in the queue as if they had never been fetched; return how many.

    Args:
        connection: in a writing transaction.
        which: a condition on `urls`; none of them may be queued.
    """
    by = (urls.c.host_id, urls.c.depth, urls.c.state, urls.c.reason)
    found = connection.execute(select(*by, func.count()).where(which).group_by(*by))
    moved = {
        Transition(host_id, depth, (State(state), reason), QUEUED): number
        for host_id, depth, state, reason, number in found
    }
    connection.execute(
        update(urls)
        .where(which)
        .values(state=State.QUEUED, reason=None, attempts=0, due=0.0, priority=_GIVEN)
    )
    transitions.count(connection, moved)
    return sum(moved.values())


def review(
    connection: Connection,
    state: State,
    reason_to_hold: Callable[[str, int, int], str | None],
    reasons: Collection[str] = (),
) -> int:
    """Check held or queued URLs against limits that may have changed.

    Args:
        connection: in a writing transaction.
        state: `State.HELD` releases what may be fetched now, `State.QUEUED` holds what may not.
        reason_to_hold: from the URL, its depth and its hops to the reason to hold it, or None.
        reasons: of the held URLs, check only those with one of these reasons.

    Returns:
        How many URLs changed their state.
    """
    wanted = select(urls.c.id, urls.c.host_id, urls.c.url, urls.c.depth, urls.c.hops, urls.c.reason)
    wanted = wanted.where(urls.c.state == state, urls.c.id > bindparam("after"))
    if reasons:
        wanted = wanted.where(urls.c.reason.in_(reasons))
    wanted = wanted.order_by(urls.c.id).limit(_REVIEWED)
    changed, after = 0, 0
    if reasons and not any(counts.total_of(connection, counts.url(state, r)) for r in reasons):
        return 0  # else all URLs would be read for nothing
    while rows := connection.execute(wanted, {"after": after}).all():
        moved: dict[int, Transition] = {}
        for row in rows:
            reason = reason_to_hold(row.url, row.depth, row.hops)
            if (reason is None) == (state is State.HELD):
                before = standing(state, row.reason)
                then = QUEUED if reason is None else (State.HELD, reason)
                moved[row.id] = Transition(row.host_id, row.depth, before, then)
        transitions.move(connection, moved)
        changed += len(moved)
        after = rows[-1].id
    return changed


def spellings(connection: Connection, rows: Iterable[int]) -> dict[int, str]:
    """Return the first spelling of each URL."""
    question = "SELECT id, coalesce(spelling, url) FROM urls WHERE id"
    return dict(rows_of(connection, question, list(rows)))


def seed_targets(connection: Connection) -> list[str]:
    """Return the URLs that seeds redirected to; they count as seeds, too."""
    query = select(urls.c.url).where(urls.c.depth == 0, urls.c.hops > 0)
    return list(connection.scalars(query))
