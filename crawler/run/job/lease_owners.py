"""Lease owners: the names under which workers lease hosts, and the clean-up after killed ones."""

import os
import socket
import time
import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec
from sqlalchemy import Connection, select, update

from canonry.storage import samples
from canonry.storage.rows import leases
from canonry.storage.sql.database_faults import begun
from canonry.storage.sql.schema import jobs
from canonry.storage.sql.stored_json import stored_json

LEASE_SECONDS = 60.0  # unless it is extended
_SILENT = 6 * 3_600.0  # seconds; a crawl that waits for long writes nothing
_RUNNING, _ENDED = "running", "interrupted"
_named: set[str] = set()  # names of this process


def own_name() -> str:
    """Return a unique name for this run: machine, process and a random part."""
    name = f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:8]}"
    _named.add(name)
    return name


def is_dead(name: str) -> bool:
    """Return True if an owner has ended; this process must not have leased anything yet."""
    process = _process(name)
    return process == os.getpid() or has_ended(name)  # an earlier process had our id


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
    """Return True if an owner is another process of this machine that is alive."""
    return _process(name) not in {None, os.getpid()} and not has_ended(name)


def _process(name: str) -> int | None:
    """Return the process id of an owner on this machine; None for owners elsewhere."""
    machine, _, rest = name.partition(":")
    process = rest.partition(":")[0]
    return int(process) if machine == socket.gethostname() and process.isdecimal() else None


def reclaim(store_url: str, delay: float) -> None:
    """Reclaim the hosts that dead processes of this machine had leased.

    Args:
        store_url: a SQLAlchemy URL.
        delay: seconds until the hosts may get a request: the time of their last one is not known.

    Raises:
        StoreError: when the store cannot be written.
    """
    with begun(store_url) as connection:
        reclaim_in(connection, delay)


def reclaim_in(connection: Connection, delay: float) -> None:
    """Reclaim hosts as `reclaim` does, inside the caller's transaction."""
    dead = [name for name in leases.HOSTS.holders(connection) if is_dead(name)]
    leases.reclaim(connection, dead, time.time(), delay)


def signed(job: str, worker: str, options: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Return what a job is to do, as JSON, with the worker that does it and the options for it."""
    more = {"worker": worker, **({"options": options} if options else {})}
    return msgspec.json.encode({**msgspec.json.decode(job), **more}).decode()


def unsigned(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job is to do, without what `signed` adds."""
    return {key: value for key, value in job.items() if key not in {"worker", "options"}}


def state_now(job: Mapping[str, Any]) -> str:
    """Return the state of a job with decoded settings; a killed one counts as interrupted."""
    worker = job["settings"].get("worker", "")
    is_killed = job["state"] == _RUNNING and worker not in _named and is_dead(worker)
    return _ENDED if is_killed else str(job["state"])


def corrected(job: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the jobs table; the state of a killed job becomes "interrupted"."""
    if job["state"] != _RUNNING:
        return job
    settings = stored_json(job["settings"], "jobs", job["id"])
    return {**job, "state": state_now({**job, "settings": settings})}


def are_running(connection: Connection) -> bool:
    """Return True if a job runs, after `close_in`."""
    running = select(jobs.c.id).where(jobs.c.state == _RUNNING)
    return connection.execute(running.limit(1)).first() is not None


def close_in(connection: Connection, now: float) -> None:
    """Mark all killed jobs as interrupted, without a time: it is not known when they ended.

    Of other machines, where none has written to the store for hours.
    """
    newest = samples.latest(connection, now)
    is_silent = newest is None or now - newest.at > _SILENT
    running = connection.execute(select(jobs).where(jobs.c.state == _RUNNING)).mappings()
    for job in running.all():
        settings = stored_json(job["settings"], "jobs", job["id"])
        is_lost = is_silent and _process(settings.get("worker", "")) is None
        if is_lost or state_now({**job, "settings": settings}) != _RUNNING:
            connection.execute(update(jobs).where(jobs.c.id == job["id"]).values(state=_ENDED))
