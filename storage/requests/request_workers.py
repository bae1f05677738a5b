"""Workers of other crawlers: when each was last seen alive."""

from collections.abc import Sequence

from sqlalchemy import Connection, delete, select

from canonry.storage.requests.request_tables import request_workers
from canonry.storage.sql.bulk import upsert

_w = request_workers.c


def beat(connection: Connection, name: str, now: float) -> None:
    """Write that a worker is alive."""
    new = upsert(connection.dialect.name, request_workers).values(name=name, seen_at=now)
    connection.execute(new.on_conflict_do_update(index_elements=["name"], set_={"seen_at": now}))


def silent(connection: Connection, names: Sequence[str], since: float) -> set[str]:
    """Return the workers that gave no sign of life since a moment, in seconds since 1970."""
    alive = select(_w.name).where(_w.name.in_(names), _w.seen_at > since)
    return set(names) - set(connection.scalars(alive))


def leave(connection: Connection, names: Sequence[str]) -> None:
    """Forget workers that have ended."""
    connection.execute(delete(request_workers).where(_w.name.in_(names)))
