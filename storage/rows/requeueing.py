"""Requeueing: known URLs that go back to the queue, and reviews of what limits hold."""

from collections import Counter
from collections.abc import Callable, Collection
from typing import TypeAlias

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, or_, select, update

from canonry.storage.rows.urls import GIVEN
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows
from canonry.storage.sql.schema import State, url_rows, urls
from canonry.storage.sql.transitions import QUEUED, StateReason, Transition, state_reason

Requeue: TypeAlias = Callable[[Connection], int]  # returns how many URLs it queues
_REVIEWED = 20_000  # URLs in memory at once while all are checked
_AGAIN = (  # with the priority before any promotion
    f"UPDATE url_rows SET state = {State.QUEUED:d}, reason = NULL, attempts = 0, due = 0, "  # noqa: S608 - ours
    "priority = -(abs(priority) & 1) WHERE id"
)
# What a recrawl asks again: pages, redirects and failures, and what a robots.txt held.
ANSWERED = or_(
    urls.c.state.in_([State.FETCHED, State.REDIRECTED, State.FAILED]),
    and_(urls.c.state == State.HELD, urls.c.reason.in_(("robots", "use-reserved"))),
)


def requeue(connection: Connection, before: float, *which: ColumnElement[bool]) -> int:
    """Put URLs that were fetched before a time back in the queue: pages, redirects and failures.

    URLs that a robots.txt held go back, too: by now, it may allow them.

    Args:
        connection: in a writing transaction.
        before: seconds since 1970.
        which: further conditions on `urls`.

    Returns:
        How many URLs.
    """
    return queue_again(connection, and_(ANSWERED, urls.c.due <= before, *which))


def queue_again(connection: Connection, which: ColumnElement[bool]) -> int:
    """Put URLs back in the queue as if they had never been fetched; return how many.

    Args:
        connection: in a writing transaction.
        which: a condition on `urls` that no queued URL meets.
    """
    by = (urls.c.host_id, urls.c.depth, urls.c.state, urls.c.reason)
    found = connection.execute(select(*by, func.count()).where(which).group_by(*by))
    moved = {
        Transition(host_id, depth, (State(state), reason), QUEUED): number
        for host_id, depth, state, reason, number in found
    }
    connection.execute(
        update(url_rows)
        .where(url_rows.c.id.in_(select(urls.c.id).where(which)))
        .values(state=State.QUEUED, reason=None, attempts=0, due=0.0, priority=GIVEN)
    )
    transitions.count(connection, moved)
    return sum(moved.values())


def queue_ids_again(
    connection: Connection,
    url_ids: Collection[int],
    before: StateReason | State | None = None,
) -> int:
    """Put those of some URLs back in the queue that are in a state; return how many.

    Args:
        connection: in a writing transaction.
        url_ids: of any number of URLs.
        before: their state, with its reason or with any; None: any but queued.
    """
    moved = transitions.from_states(connection, url_ids, QUEUED, before)
    change_rows(connection, _AGAIN, list(moved))
    transitions.count(connection, Counter(moved.values()))
    return len(moved)


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
                before = state_reason(state, row.reason)
                then = QUEUED if reason is None else (State.HELD, reason)
                moved[row.id] = Transition(row.host_id, row.depth, before, then)
        transitions.move(connection, moved)
        changed += len(moved)
        after = rows[-1].id
    return changed
