"""Move a store to another database, where its crawl continues."""

import time
from collections.abc import Callable

from sqlalchemy import Connection, func, select

from canonry.storage.copying.copying import CopiedRows, copy
from canonry.storage.facts import check_unserved
from canonry.storage.sql.database_faults import naming, opened
from canonry.storage.sql.schema import hosts
from canonry.storage.sql.store_errors import StoreError


def move(
    source: str,
    target: str,
    advance: Callable[[int, int], None],
    notify: Callable[[str], None],
) -> CopiedRows:
    """Move a store into an empty database, or go on with a move that was interrupted.

    Args:
        source: names the store; it is only read, and no crawl or frontier may use it.
        target: names the other database.
        advance: called with numbers of rows: written since the last call, and in all.
        notify: receives sentences for people.

    Raises:
        StoreError: the source is used or of another schema, or the target is no empty database.
    """
    with (
        opened(source) as old,
        opened(target, read_only=False) as new,
        naming(old),
        old.begin() as reading,
    ):
        _check_unused(reading)
        return copy(reading, new, advance, notify)


def _check_unused(reading: Connection) -> None:
    """Refuse a store that a crawl or a frontier uses.

    Raises:
        StoreError: a worker has leased hosts, or a frontier serves it.
    """
    check_unserved(reading)
    used = select(func.count()).where(hosts.c.holder.is_not(None), hosts.c.held_until > time.time())
    if number := reading.execute(used).scalar_one():
        raise StoreError(
            f"a crawl uses it, or was killed less than a minute ago ({number:,} hosts are leased); "
            "stop it, and run the command again"
        )
