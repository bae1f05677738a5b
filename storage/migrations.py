"""Migrations: a store of an earlier schema becomes one of today's, in one transaction."""

from collections import Counter
from collections.abc import Callable

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Column, Connection, SmallInteger, and_, func, insert, select, update
from sqlalchemy.exc import DatabaseError

from canonry.storage.sql import counts
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import VERSION, State, aliases, hosts, meta, metadata, pages, urls
from canonry.storage.store import read_facts
from canonry.storage.store_errors import StoreError


def upgrade(url: str, notify: Callable[[str], None]) -> int:
    """Bring a store to the schema that this program reads.

    Keys, URLs and queue stay what they are. A process that dies on the way leaves the store as it
    was.

    Args:
        url: a SQLAlchemy URL.
        notify: receives sentences for people, one for each step.

    Returns:
        The schema that the store had.

    Raises:
        StoreError: when it is no store, or one of a later schema.
    """
    engine = open_engine(url)
    name = engine.url.render_as_string()
    try:
        with engine.begin() as connection:
            return _steps(connection, notify)
    except DatabaseError as error:
        raise StoreError(f"store {name}: {error.orig}") from None
    except StoreError as error:
        raise StoreError(f"store {name}: {error}") from None
    finally:
        engine.dispose()


def _steps(connection: Connection, notify: Callable[[str], None]) -> int:
    """Take all steps from the schema that a store has; return that schema."""
    before = int(read_facts(connection)["schema"])
    if before > VERSION:
        raise StoreError(f"it has schema {before}, and this program reads up to {VERSION}")
    operations = Operations(MigrationContext.configure(connection))
    for schema in range(before, VERSION):
        notify(f"from schema {schema} to schema {schema + 1}")
        _STEPS[schema](connection, operations)
    fact = update(meta).where(meta.c.name == "schema")
    connection.execute(fact.values(value=str(VERSION)))
    return before


def _count_as_rows_change(connection: Connection, operations: Operations) -> None:
    """Keep counts in a table of their own; the index that only answered for the depth may go."""
    table = metadata.tables["counts"]
    table.create(connection)
    operations.drop_index("urls_level", table_name="urls")
    operations.create_index("hosts_by_name", "hosts", [hosts.c.name.name], unique=True)
    queued = urls.c.state == State.QUEUED
    names = {int(state): state.name.lower() for state in State}
    reason = func.coalesce(urls.c.reason, "")
    by_state = select(urls.c.state, reason, func.count()).group_by(urls.c.state, reason)
    found = [
        ("urls", names[state], why, count) for state, why, count in connection.execute(by_state)
    ]
    by_depth = select(urls.c.depth, func.count()).where(queued).group_by(urls.c.depth)
    found += [("levels", str(depth), "", count) for depth, count in connection.execute(by_depth)]
    by_status = select(pages.c.status, func.count()).group_by(pages.c.status)
    found += [("pages", str(status), "", count) for status, count in connection.execute(by_status)]
    kind = (aliases.c.kind, aliases.c.status)
    by_kind = select(*kind, func.count()).group_by(*kind)
    found += [
        ("aliases", f"{name} {status}", "", count)
        for name, status, count in connection.execute(by_kind)
    ]
    columns = ("kind", "name", "reason", "count")
    rows = [dict(zip(columns, row, strict=True)) for row in found]
    if rows:
        connection.execute(insert(table), rows)


def _learn(connection: Connection, operations: Operations) -> None:
    """Keep what is learned: rules, their evidence, and the URLs that they make one."""
    for name in ("rules", "evidence", "classes"):
        metadata.tables[name].create(connection)
    operations.create_index("aliases_by_target", "aliases", ["to_id"])


def _ask_again(connection: Connection, operations: Operations) -> None:
    """Keep what asking again needs: when URLs were asked, what pages were; budgets besides."""
    for name in ("charset", "etag", "modified"):
        column = pages.c[name]
        operations.add_column("pages", Column(name, column.type, comment=column.comment))
    operations.create_index("pages_by_digest", "pages", ["digest"])
    operations.add_column(
        "urls", Column("priority", SmallInteger, nullable=False, server_default="0")
    )
    operations.drop_index("urls_queue", table_name="urls")
    queued = urls.c.state == State.QUEUED
    operations.create_index(
        "urls_queue",
        "urls",
        ["host_id", "priority", "depth", "id"],
        sqlite_where=queued,
        postgresql_where=queued,
    )
    led_to = and_(urls.c.depth == 0, urls.c.hops > 0)
    operations.create_index(
        "urls_led_to", "urls", ["id"], sqlite_where=led_to, postgresql_where=led_to
    )
    table = metadata.tables["robots"]
    operations.drop_table(table.name)  # they are asked for once a day anyway
    table.create(connection)
    metadata.tables["budgets"].create(connection)
    asked = select(pages.c.fetched_at).where(pages.c.url_id == urls.c.id).scalar_subquery()
    fetched = urls.c.state == State.FETCHED
    connection.execute(update(urls).where(fetched).values(due=func.coalesce(asked, 0.0)))
    last = select(func.max(aliases.c.last_seen)).where(aliases.c.from_id == urls.c.id)
    redirected = urls.c.state == State.REDIRECTED
    seen = func.coalesce(last.scalar_subquery(), 0.0)
    connection.execute(update(urls).where(redirected).values(due=seen))
    bodies = pages.c.digest
    held = select(func.count(), func.count(bodies.distinct())).where(
        pages.c.status == 200,  # noqa: PLR2004 - HTTP's own
        pages.c.size > 0,
    )
    number, distinct = connection.execute(held).one()
    counts.add(connection, Counter({counts.REPEATED: number - distinct}))


# From each schema to the next.
_STEPS: dict[int, Callable[[Connection, Operations], None]] = {
    1: _count_as_rows_change,
    2: _learn,
    3: _ask_again,
}
