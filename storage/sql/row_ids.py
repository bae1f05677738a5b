"""Ids of new URLs: no two writers are ever given the same one.

On SQLite the next ids follow the largest. On PostgreSQL several writers may insert rows at once: a
sequence counts, and a rollback leaves a gap.
"""

from collections.abc import Sequence

from sqlalchemy import Connection

from canonry.storage.sql import write_locks
from canonry.storage.sql.bulk import next_id
from canonry.storage.sql.schema import url_rows

_SEQUENCE = "url_rows_id_seq"


def take_url_ids(connection: Connection, number: int) -> Sequence[int]:
    """Return ids for new rows of ``url_rows``, in rising order.

    Args:
        connection: in a writing transaction.
        number: how many, at least one.
    """
    if connection.dialect.name != "postgresql":
        first = next_id(connection, url_rows)
        return range(first, first + number)
    if not write_locks.is_shared(connection):
        last = connection.exec_driver_sql(
            f"SELECT setval('{_SEQUENCE}', nextval('{_SEQUENCE}') + {number - 1})"
        ).scalar_one()
        return range(last - number + 1, last + 1)
    many = f"SELECT nextval('{_SEQUENCE}') FROM generate_series(1, {number})"  # noqa: S608 - our names
    return list(connection.exec_driver_sql(many).scalars())
