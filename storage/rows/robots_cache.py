"""Cached robots.txt files, so that a resumed crawl need not fetch them again."""

from sqlalchemy import Connection, delete, insert, select

from canonry.storage.records import CachedRobots
from canonry.storage.sql.schema import robots


def get(connection: Connection, origin: str) -> CachedRobots | None:
    """Return what is cached for an origin."""
    columns = (robots.c.rules, robots.c.expires_at, robots.c.unreachable_since)
    row = connection.execute(select(*columns).where(robots.c.origin == origin)).first()
    return None if row is None else CachedRobots(*row)


def put(connection: Connection, origin: str, kept: CachedRobots) -> None:
    """Cache an origin's robots.txt; it replaces what was cached before."""
    connection.execute(delete(robots).where(robots.c.origin == origin))
    connection.execute(insert(robots).values(origin=origin, **kept._asdict()))
