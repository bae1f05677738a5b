"""Transitions: every change of a URL's state, with the counts that follow from it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, literal_column, update

from canonry.storage.sql import counts
from canonry.storage.sql.bulk import change_rows
from canonry.storage.sql.prepared import Prepared, execute_many
from canonry.storage.sql.schema import State, hosts

StateReason: TypeAlias = tuple[State, str | None]  # a state, and the reason if held or failed
QUEUED: StateReason = (State.QUEUED, None)


def state_reason(state: int, reason: str | None) -> StateReason:
    """Return the state and reason of a row; why a queued URL waits is not counted."""
    return QUEUED if state == State.QUEUED else (State(state), reason)


class Transition(NamedTuple):
    """A change of a URL's state, with everything that its counts depend on."""

    host_id: int
    depth: int
    before: StateReason | None  # None: the URL is new
    after: StateReason


# Without SQLAlchemy's work for each parameter.
_WRITE = "UPDATE url_rows SET state = {0}, reason = {0}, due = coalesce({0}, due) WHERE id = {0}"
_WRITES = {"sqlite": _WRITE.format("?"), "postgresql": _WRITE.format("%s")}
# What holds a host that is nobody's, such as a queue without a URL that is due, ends.
_WOKEN = "CASE WHEN holder IS NULL AND held_until > ready_at THEN ready_at ELSE held_until END"
_ADD_PENDING = Prepared(
    update(hosts)
    .where(hosts.c.id == bindparam("host"))
    .values(pending=hosts.c.pending + bindparam("more"), held_until=literal_column(_WOKEN))
)
_ADD_ALL_PENDING = (
    f"UPDATE hosts SET pending = pending + given.more, held_until = {_WOKEN} "  # noqa: S608 - ours
    "FROM unnest(%s::bigint[], %s::bigint[]) AS given (host, more) WHERE hosts.id = given.host"
)


def move(
    connection: Connection,
    moved: Mapping[int, Transition],
    *,
    due: float | None = None,
    due_of: Mapping[int, float] = MappingProxyType({}),
) -> None:
    """Write new states of known URLs, and count them.

    Args:
        connection: in a writing transaction.
        moved: by the ids of the URLs, their transitions.
        due: the new value of that column; None leaves it as it is.
        due_of: other values of it, by the ids of the URLs.
    """
    if not moved:
        return
    rows = [
        (int(to), why, due_of.get(url_id, due), url_id)
        for url_id, (_host, _depth, _before, (to, why)) in moved.items()
    ]
    execute_many(connection, _WRITES[connection.dialect.name], rows)
    count(connection, Counter(moved.values()))


def hold(
    connection: Connection, queued: Mapping[tuple[int, int], Sequence[int]], reason: str
) -> None:
    """Hold queued URLs for one reason, and count them: as `move` does, in half the time.

    Args:
        connection: in a writing transaction.
        queued: by host and depth the ids of the URLs.
        reason: one of ours, letters and hyphens.
    """
    url_ids = [url_id for some in queued.values() for url_id in some]
    held = f"UPDATE url_rows SET state = {State.HELD:d}, reason = '{reason}' WHERE id"  # noqa: S608 - ours
    change_rows(connection, held, url_ids)
    to = State.HELD, reason
    count(connection, {Transition(*at, QUEUED, to): len(some) for at, some in queued.items()})


def count(connection: Connection, transitions: Mapping[Transition, int]) -> None:
    """Adjust all counts of URLs: by state and reason, by depth of the queue, and by host.

    Hosts whose queue changes are looked at again.

    Args:
        connection: in the transaction that writes the rows.
        transitions: how many URLs made each.
    """
    totals: Counter[StateReason] = Counter()
    depths: Counter[int] = Counter()
    pending: Counter[int] = Counter()
    for (host_id, depth, before, after), number in transitions.items():
        queued = 0
        if before is not None:
            totals[before] -= number
            queued -= number * (before == QUEUED)
        totals[after] += number
        queued += number * (after == QUEUED)
        if queued:
            depths[depth] += queued
            pending[host_id] += queued
    changes: Counter[counts.Counted] = Counter()
    for (state, reason), more in totals.items():
        changes[counts.url(state, reason)] += more
    for depth, more in depths.items():
        changes[counts.level(depth)] += more
    counts.add(connection, changes)
    changed = dict(sorted(pending.items()))
    if not changed:
        return
    if connection.dialect.name == "postgresql":  # it takes half the time of that many statements
        connection.exec_driver_sql(_ADD_ALL_PENDING, (list(changed), list(changed.values())))
        return
    rows = [{"host": host_id, "more": more} for host_id, more in changed.items()]
    _ADD_PENDING.run_many(connection, rows)
