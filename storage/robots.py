"""What robots.txt files said, kept so that a resumed crawl need not ask again."""

from sqlalchemy import Connection, delete, insert, select

from storage.schema import robots


def get(connection: Connection, origin: str) -> tuple[str, float] | None:
    """Return the rules of an origin, and when they expire (seconds since 1970)."""
    query = select(robots.c.rules, robots.c.expires_at).where(robots.c.origin == origin)
    row = connection.execute(query).first()
    return None if row is None else (row.rules, row.expires_at)


def put(connection: Connection, origin: str, rules: str, expires_at: float) -> None:
    """Keep the rules of an origin, in the place of what was kept."""
    connection.execute(delete(robots).where(robots.c.origin == origin))
    connection.execute(insert(robots).values(origin=origin, rules=rules, expires_at=expires_at))
