"""Blocked hosts: they get no requests, and their queued URLs are held until they are unblocked.

The column ``blocked`` of the host decides: from then on no crawl leases it, and its new URLs are
held. Holding the queued URLs takes several steps. If they are interrupted, a later crawl or command
goes on.
"""

from collections.abc import Collection, Sequence

from sqlalchemy import Connection, select, text, update

from canonry.storage import facts
from canonry.storage.records import HOST_BLOCKED
from canonry.storage.sql import transitions
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.transitions import QUEUED
from canonry.storage.steering.releases import Refusal, release_of
from canonry.storage.steering.short_steps import (
    STEP,
    QueueChange,
    ShortSteps,
    host_id_of,
    id_of,
    queued_on,
    run_at_once,
)

_BY_WALL = 2  # in that column
_IS_BLOCKED = text("blocked > 0")


def block(store: ShortSteps, name: str) -> int:
    """Block a host; return how many queued URLs are held because of it.

    Requests in flight end, and their answers count.

    Raises:
        StoreError: if the store knows no host of that name.
    """
    return store.run(_change(name, blocked=1))


def unblock(store: ShortSteps, name: str) -> int:
    """Unblock a host; return how many URLs go back to the queue. As for `block`."""
    return store.run(_change(name, blocked=0))


def block_for_now(connection: Connection, names: Collection[str]) -> None:
    """Block hosts that answer everything with a wall, until a later run."""
    for name in names:
        _change(name, blocked=_BY_WALL).mark(connection)
    facts.advance(connection, facts.QUEUE)


def unblock_those_for_now(connection: Connection) -> int:
    """Unblock the hosts that a wall has blocked; return how many URLs go back to the queue."""
    found = connection.scalars(select(hosts.c.name).where(_IS_BLOCKED, hosts.c.blocked == _BY_WALL))
    return sum(run_at_once(connection, _change(name, blocked=0)) for name in found.all())


def finish(connection: Connection) -> int:
    """Hold some URLs that are queued on blocked hosts; return how many, 0 if there are none.

    They are there if a block was interrupted, or something else put them in the queue.
    """
    for name in unfinished(connection):
        url_ids = connection.scalars(queued_on(name).limit(STEP)).all()
        if held := _hold(connection, url_ids):
            return held
    return 0


def unfinished(connection: Connection) -> list[str]:
    """Return the names of blocked hosts that have queued URLs."""
    found = connection.execute(select(hosts.c.name, hosts.c.pending).where(_IS_BLOCKED))
    return [name for name, pending in found if pending]


def _change(name: str, *, blocked: int) -> QueueChange:
    """Return what blocks or unblocks a host; a crawl that has leased it loses it."""
    values = {"blocked": blocked} | ({"holder": None, "held_until": 0.0} if blocked else {})

    def mark(connection: Connection) -> None:
        here = hosts.c.id == host_id_of(connection, name)
        connection.execute(update(hosts).where(here).values(values))

    if blocked:
        return QueueChange(mark, queued_on(name), _hold)
    return release_of(Refusal("held", HOST_BLOCKED), urls.c.host_id == id_of(name), mark=mark)


def _hold(connection: Connection, url_ids: Sequence[int]) -> int:
    """Hold those of some URLs that are queued; return how many."""
    return len(transitions.move_ids(connection, url_ids, (State.HELD, HOST_BLOCKED), QUEUED))
