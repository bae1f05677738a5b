"""Upgrading a store: all steps from its schema to the current one, in one transaction."""

from collections.abc import Callable

from alembic.migration import MigrationContext
from alembic.operations import Operations
from sqlalchemy import Connection, update

from canonry.storage.facts import read_facts, schema_of
from canonry.storage.migrations import (
    from_1,
    from_2,
    from_3,
    from_6,
    from_7,
    from_10,
    from_11,
    small_steps,
)
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import VERSION, meta
from canonry.storage.sql.store_errors import StoreError

# The step from each schema to the next.
_STEPS: dict[int, Callable[[Connection, Operations], None]] = {
    1: from_1.upgrade,
    2: from_2.upgrade,
    3: from_3.upgrade,
    4: small_steps.from_4,
    5: small_steps.from_5,
    6: from_6.upgrade,
    7: from_7.upgrade,
    8: small_steps.from_8,
    9: small_steps.from_9,
    10: from_10.upgrade,
    11: from_11.upgrade,
    12: small_steps.from_12,
}


def upgrade(url: str, notify: Callable[[str], None]) -> int:
    """Upgrade a store to the schema that this program reads.

    Keys, URLs and queue stay as they are. If the process is killed, the store stays as it was.

    Args:
        url: a SQLAlchemy URL.
        notify: receives one sentence for people before each step.

    Returns:
        The schema that the store had.

    Raises:
        StoreError: if there is no store, or it has a later schema.
    """
    engine = open_engine(url, create=False)
    try:
        with explaining(engine), engine.begin() as connection, naming(engine):
            return _upgrade(connection, notify)
    finally:
        engine.dispose()


def _upgrade(connection: Connection, notify: Callable[[str], None]) -> int:
    """Run every step from the store's schema to the current one; return the schema it had."""
    before = schema_of(read_facts(connection))
    if before > VERSION:
        raise StoreError(f"it has schema {before}, and this program reads up to {VERSION}")
    operations = Operations(MigrationContext.configure(connection))
    for schema in range(before, VERSION):
        notify(f"from schema {schema} to schema {schema + 1}")
        _STEPS[schema](connection, operations)
    fact = update(meta).where(meta.c.name == "schema")
    connection.execute(fact.values(value=str(VERSION)))
    return before
