"""Hosts that workers ask for and hand over, and cached robots.txt files."""

from collections.abc import Collection, Mapping

from sqlalchemy import Connection, delete, insert, select

from canonry.storage.facts import drop_fact, put_fact
from canonry.storage.records import CachedRobots
from canonry.storage.rows import leases
from canonry.storage.sql.schema import meta, robots

_PREFIX = "wants hosts: "
_FRESH = 10.0  # seconds; a worker without hosts asks again sooner
_WISHES = select(meta.c.name, meta.c.value).where(
    meta.c.name >= _PREFIX, meta.c.name < _PREFIX + "\uffff"
)


def want(connection: Connection, worker: str, now: float) -> None:
    """Ask the other workers for hosts.

    Args:
        connection: in a transaction that changes nothing else; `Store.leasing` is enough.
        worker: the one that has none.
        now: seconds since 1970.
    """
    put_fact(connection, _PREFIX + worker, str(now))


def wanting(connection: Connection, worker: str, now: float) -> list[str]:
    """Return the other workers that have asked for hosts lately, in the order of their names."""
    return sorted(
        name.removeprefix(_PREFIX)
        for name, at in connection.execute(_WISHES)
        if name != _PREFIX + worker and abs(now - float(at)) < _FRESH
    )


def withdraw(connection: Connection, worker: str) -> None:
    """Forget that a worker has asked for hosts."""
    drop_fact(connection, _PREFIX + worker)


def grant(
    connection: Connection,
    owner: str,
    to: str,
    names: Collection[str],
    ready: Mapping[str, float],
    delays: Mapping[str, float | None],
    until: float,
) -> set[str]:
    """Hand hosts over to a worker that has asked for some.

    Args:
        connection: in a transaction; `Store.leasing` is enough.
        owner: the worker that leases them, and has no requests to them in flight.
        to: the worker that gets them.
        names: the hosts. Those whose rows are locked by another transaction stay.
        ready: when each may get its next request; a host without an entry keeps its stored time.
        delays: for each of these the delay that it asks for.
        until: the end of the new leases.

    Returns:
        The hosts that were handed over, or had been lost before.
    """
    ids_by_name = leases.free_host_ids(connection, names, owner)
    leases.pace(
        connection, {name: ready[name] for name in ids_by_name if name in ready}, delays, owner
    )
    if ids_by_name:
        leases.HOSTS.keep(connection, ids_by_name.values(), until, to)
        withdraw(connection, to)
    return leases.not_of(connection, owner, names)


def cached_robots(connection: Connection, origin: str) -> CachedRobots | None:
    """Return what is cached for an origin."""
    columns = (robots.c.rules, robots.c.expires_at, robots.c.unreachable_since)
    row = connection.execute(select(*columns).where(robots.c.origin == origin)).first()
    return None if row is None else CachedRobots(*row)


def cache_robots(connection: Connection, origin: str, kept: CachedRobots) -> None:
    """Cache an origin's robots.txt; it replaces what was cached before."""
    connection.execute(delete(robots).where(robots.c.origin == origin))
    connection.execute(insert(robots).values(origin=origin, **kept._asdict()))
