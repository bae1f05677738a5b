"""What robots.txt files said, kept so that a resumed crawl need not ask again."""

from sqlalchemy import Connection, delete, insert, select

from canonry.storage.records import Robots
from canonry.storage.sql.schema import robots


def get(connection: Connection, origin: str) -> Robots | None:
    """Return what is kept of an origin."""
    columns = (robots.c.rules, robots.c.expires_at, robots.c.unreachable_since)
    row = connection.execute(select(*columns).where(robots.c.origin == origin)).first()
    return None if row is None else Robots(*row)


def put(connection: Connection, origin: str, kept: Robots) -> None:
    """Keep what is known of an origin, in the place of what was kept."""
    connection.execute(delete(robots).where(robots.c.origin == origin))
    connection.execute(insert(robots).values(origin=origin, **kept._asdict()))
