"""Addresses that belong to workers: all hosts on one address are crawled by one worker.

So the pace of an address holds for all processes on a store.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, and_, bindparam, delete, exists, select, update

from canonry.storage.sql.bulk import chunks, put, rows_of
from canonry.storage.sql.schema import addresses, hosts

_OWNERS = "SELECT address, owner FROM addresses WHERE address"


def claim(
    connection: Connection, worker: str, wanted: Collection[str], now: float
) -> dict[str, str]:
    """Return the owners of addresses; those that nobody owns, or a dead worker, become ours.

    Args:
        connection: in a transaction; `Store.leasing` is enough.
        worker: ours.
        wanted: the addresses.
        now: seconds since 1970.
    """
    rows = [{"address": address, "owner": worker} for address in sorted(wanted)]
    put(connection, addresses, rows, change=())
    owners = dict(rows_of(connection, _OWNERS, list(wanted)))
    dead = [
        owner for owner in set(owners.values()) - {worker} if not _is_alive(connection, owner, now)
    ]
    for owner in dead:
        theirs = sorted(address for address, name in owners.items() if name == owner)
        give(connection, theirs, owner, worker)
    return dict(rows_of(connection, _OWNERS, list(wanted))) if dead else owners


def _is_alive(connection: Connection, worker: str, now: float) -> bool:
    """Return True if a worker holds a host; one without any can have nothing under way."""
    holds = and_(hosts.c.held_until > now, hosts.c.holder == worker)
    return bool(connection.scalar(select(exists().where(holds))))


def give(connection: Connection, given: Iterable[str], owner: str, to: str) -> None:
    """Give addresses to another worker, where they still belong to their owner."""
    rows = [{"one": address} for address in given]
    if rows:
        here = (addresses.c.address == bindparam("one"), addresses.c.owner == owner)
        connection.execute(update(addresses).where(*here).values(owner=to), rows)


def release(connection: Connection, workers: Collection[str]) -> None:
    """Forget what belongs to some workers."""
    for part in chunks(list(workers)):
        connection.execute(delete(addresses).where(addresses.c.owner.in_(part)))
