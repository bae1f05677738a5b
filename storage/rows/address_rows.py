"""Addresses that belong to workers: all hosts on one address are crawled by one worker.

So the pace of an address holds for all processes on a store.
"""

from collections.abc import Collection, Iterable

from sqlalchemy import Connection, bindparam, exists, update

from canonry.storage.sql.bulk import change_rows, put, rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import addresses, hosts

_OWNERS = "SELECT address, owner FROM addresses WHERE address"
# A worker without a host can have nothing under way.
_is_alive = exists().where(
    hosts.c.holder == addresses.c.owner, hosts.c.held_until > bindparam("now")
)
_TAKE_OVER = Prepared(
    update(addresses)
    .where(addresses.c.address == bindparam("one"), ~_is_alive)
    .values(owner=bindparam("to"))
)


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
    _TAKE_OVER.run_many(connection, [{"one": r["address"], "to": worker, "now": now} for r in rows])
    return dict(rows_of(connection, _OWNERS, list(wanted)))


def give(connection: Connection, given: Iterable[str], owner: str, to: str) -> None:
    """Give addresses to another worker, where they still belong to their owner."""
    rows = [{"one": address} for address in given]
    if rows:
        here = (addresses.c.address == bindparam("one"), addresses.c.owner == owner)
        connection.execute(update(addresses).where(*here).values(owner=to), rows)


def release(connection: Connection, workers: Collection[str]) -> None:
    """Forget what belongs to some workers."""
    change_rows(connection, "DELETE FROM addresses WHERE owner", list(workers))
