"""Lease owners: the names under which workers lease hosts, and the reclaiming from dead ones."""

import os
import socket
import time
import uuid

from sqlalchemy import Connection

from canonry.storage.rows import leases
from canonry.storage.sql.database_faults import explaining
from canonry.storage.sql.engine import open_engine


def own_name() -> str:
    """Return a unique name for this run: machine, process and a random part."""
    return f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"


def is_dead(name: str) -> bool:
    """Return True if an owner has ended, for a run that has leased nothing yet itself."""
    process = _process(name)
    return process == os.getpid() or has_ended(name)  # an earlier process had our number


def has_ended(name: str) -> bool:
    """Return True if an owner was a process of this machine that has ended.

    Owners on other machines are never known to have ended: their leases expire.
    """
    process = _process(name)
    if process is None:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except PermissionError:  # it lives, and belongs to somebody else
        pass
    return False


def is_alive_here(name: str) -> bool:
    """Return True if an owner is another process of this machine, and lives."""
    return _process(name) not in {None, os.getpid()} and not has_ended(name)


def _process(name: str) -> int | None:
    """Return the process of an owner on this machine; None for others."""
    machine, _, rest = name.partition(":")
    process = rest.partition(":")[0]
    return int(process) if machine == socket.gethostname() and process.isdecimal() else None


def reclaim(store_url: str, delay: float) -> None:
    """Reclaim the hosts that dead processes of this machine had leased.

    Args:
        store_url: a SQLAlchemy URL.
        delay: seconds until the hosts may get a request: the time of the last one is not known.

    Raises:
        StoreError: when the store cannot be written.
    """
    engine = open_engine(store_url)
    try:
        with explaining(engine), engine.begin() as connection:
            reclaim_in(connection, time.time(), delay)
    finally:
        engine.dispose()


def reclaim_in(connection: Connection, now: float, delay: float) -> None:
    """Reclaim hosts as `reclaim` does, inside the caller's transaction."""
    dead = [name for name in leases.owners(connection) if is_dead(name)]
    leases.reclaim(connection, dead, now, delay)
