"""Blocked hosts: they get no requests, and their queued URLs are held until they are unblocked.

The mark on the host decides: from then on no crawl leases it, and its new URLs are held. Holding
the queued URLs takes several steps. If they are interrupted, a later crawl or command goes on.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, select, text, update

from canonry.storage.records import HOST_BLOCKED
from canonry.storage.rows.requeueing import queue_ids_again
from canonry.storage.sql import transitions
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.sql.transitions import QUEUED, Transition
from canonry.storage.steering.short_steps import STEP, ShortSteps, advance

_BY_WALL = 2  # in the column of the mark
_HELD = (State.HELD, HOST_BLOCKED)
_IS_BLOCKED = text("blocked > 0")
_HELD_HERE = text("state > 2")  # the condition of the index


def block(store: ShortSteps, name: str) -> int:
    """Block a host; return how many queued URLs are held because of it.

    Requests in flight end, and their answers count.

    Args:
        store: open for short steps.
        name: of a host that the store knows.

    Raises:
        StoreError: if it knows none of that name.
    """
    with store.step() as connection:
        host_id = _id_of(connection, name)
        _mark(connection, host_id, blocked=1)
    return store.repeat(lambda connection: _hold(connection, host_id) or None)


def unblock(store: ShortSteps, name: str) -> int:
    """Unblock a host; return how many URLs go back to the queue.

    Raises:
        StoreError: if the store knows no host of that name.
    """
    with store.step() as connection:
        host_id = _id_of(connection, name)
        _mark(connection, host_id, blocked=0)
    return store.repeat(lambda connection: _release(connection, host_id) or None)


def block_for_now(connection: Connection, names: Collection[str]) -> None:
    """Block hosts that answer everything with a wall, until a later run.

    Args:
        connection: in a writing transaction.
        names: of hosts that the store knows.
    """
    for name in names:
        _mark(connection, _id_of(connection, name), blocked=_BY_WALL)
    advance(connection)


def unblock_those_for_now(connection: Connection) -> int:
    """Unblock the hosts that a wall has blocked; return how many URLs go back to the queue."""
    found = connection.scalars(select(hosts.c.id).where(_IS_BLOCKED, hosts.c.blocked == _BY_WALL))
    released = 0
    for host_id in found.all():
        _mark(connection, host_id, blocked=0)
        while some := _release(connection, host_id):
            released += some
    return released


def finish(connection: Connection) -> int:
    """Hold some URLs that are queued on blocked hosts; return how many, 0 if there are none.

    They are there if a block was interrupted, or something else put them in the queue.

    Args:
        connection: in a writing transaction.
    """
    for host_id, pending in unfinished(connection):
        if pending and (held := _hold(connection, host_id)):
            return held
    return 0


def unfinished(connection: Connection) -> Sequence[tuple[int, int]]:
    """Return the blocked hosts that have queued URLs: their ids, and how many."""
    found = connection.execute(select(hosts.c.id, hosts.c.pending).where(_IS_BLOCKED))
    return [(host_id, pending) for host_id, pending in found if pending]


def _id_of(connection: Connection, name: str) -> int:
    """Return the id of a host.

    Raises:
        StoreError: if there is none.
    """
    host_id = connection.scalar(select(hosts.c.id).where(hosts.c.name == name))
    if host_id is None:
        raise StoreError(f"host {name!r}: the store knows no such host; 'canonry hosts list'")
    return int(host_id)


def _mark(connection: Connection, host_id: int, *, blocked: int) -> None:
    """Mark a host; a crawl that has leased it loses it."""
    values = {"blocked": blocked, "holder": None, "held_until": 0.0}
    if not blocked:
        del values["holder"], values["held_until"]
    connection.execute(update(hosts).where(hosts.c.id == host_id).values(**values))


def _hold(connection: Connection, host_id: int) -> int:
    """Hold some of a host's queued URLs."""
    queued = select(urls.c.id, urls.c.depth).where(
        urls.c.host_id == host_id, urls.c.state == State.QUEUED
    )
    found = connection.execute(queued.limit(STEP)).all()
    moved = {one.id: Transition(host_id, one.depth, QUEUED, _HELD) for one in found}
    transitions.move(connection, moved)
    return len(moved)


def _release(connection: Connection, host_id: int) -> int:
    """Put some of a host's held URLs back in the queue."""
    if connection.scalar(select(hosts.c.blocked).where(hosts.c.id == host_id)):
        return 0  # somebody has blocked it again
    held = select(urls.c.id).where(
        _HELD_HERE,
        urls.c.state == State.HELD,
        urls.c.reason == HOST_BLOCKED,
        urls.c.host_id == host_id,
    )
    found = list(connection.scalars(held.limit(STEP)))
    return queue_ids_again(connection, found)
