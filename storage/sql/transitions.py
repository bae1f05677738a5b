"""Transitions: every change of a URL's state, with the counts that follow from it."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection, bindparam, literal_column, update

from canonry.storage.sql import counts
from canonry.storage.sql.bulk import change_rows, rows_of
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


_STATES = "SELECT id, host_id, depth, state, reason FROM url_rows WHERE id"
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


def from_states(
    connection: Connection,
    url_ids: Collection[int],
    after: StateReason,
    before: StateReason | State | None = None,
) -> dict[int, Transition]:
    """Return the transitions to a state, by id, of those of some URLs that are in another.

    Args:
        connection: in a writing transaction.
        url_ids: of the URLs.
        after: the new state and reason.
        before: the state of those that move, with its reason or with any; None: any but queued.
    """
    return {
        url_id: Transition(host_id, depth, now, after)
        for url_id, host_id, depth, state, reason in rows_of(connection, _STATES, list(url_ids))
        if ((now := state_reason(state, reason)) != QUEUED and before is None)
        or before in (now, now[0])
    }


def move_ids(
    connection: Connection,
    url_ids: Collection[int],
    after: StateReason,
    before: StateReason | State | None = None,
    *,
    due: float | None = None,
) -> list[int]:
    """Move those of some URLs that are in one state to another; return their ids.

    Args:
        connection: as for `move`.
        url_ids: of the URLs.
        after: the new state and reason, one of ours: letters and hyphens.
        before: as for `from_states`.
        due: as for `move`.
    """
    moved = from_states(connection, url_ids, after, before)
    _write_one(connection, list(moved), after, due)
    count(connection, Counter(moved.values()))
    return list(moved)


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
    to = State.HELD, reason
    _write_one(connection, url_ids, to)
    count(connection, {Transition(*at, QUEUED, to): len(some) for at, some in queued.items()})


def _write_one(
    connection: Connection, url_ids: Sequence[int], after: StateReason, due: float | None = None
) -> None:
    """Write one new state of known URLs: in half the time of one for each."""
    state, reason = after
    why = "NULL" if reason is None else f"'{reason}'"
    when = "" if due is None else f", due = {due!r}"
    change = f"UPDATE url_rows SET state = {state:d}, reason = {why}{when} WHERE id"  # noqa: S608 - ours
    change_rows(connection, change, url_ids)


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
