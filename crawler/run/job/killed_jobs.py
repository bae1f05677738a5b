"""Jobs whose process was killed: it could not write that they ended."""

from collections.abc import Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, select, update

from canonry.crawler.run.job.lease_owners import is_dead
from canonry.storage.sql.schema import jobs
from canonry.storage.sql.stored_json import stored_json

_RUNNING, _ENDED = "running", "interrupted"


def signed(job: str, worker: str) -> str:
    """Return what a job is to do, as JSON, with the name of the worker that does it."""
    return msgspec.json.encode({**msgspec.json.decode(job), "worker": worker}).decode()


def unsigned(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a job is to do, without the name of the worker."""
    return {key: value for key, value in job.items() if key != "worker"}


def state_now(job: Mapping[str, Any]) -> str:
    """Return the state of a job whose settings are read already; a killed one is interrupted."""
    is_killed = job["state"] == _RUNNING and is_dead(job["settings"].get("worker", ""))
    return _ENDED if is_killed else str(job["state"])


def corrected(job: dict[str, Any]) -> dict[str, Any]:
    """Return a row of the table of jobs; one that was killed is "interrupted"."""
    if job["state"] != _RUNNING:
        return job
    settings = stored_json(job["settings"], "jobs", job["id"])
    return {**job, "state": state_now({**job, "settings": settings})}


def close_in(connection: Connection) -> None:
    """Write of all killed jobs that they are interrupted; when they ended is not known."""
    running = connection.execute(select(jobs).where(jobs.c.state == _RUNNING)).mappings()
    for job in running.all():
        if corrected(dict(job))["state"] != _RUNNING:
            connection.execute(update(jobs).where(jobs.c.id == job["id"]).values(state=_ENDED))
