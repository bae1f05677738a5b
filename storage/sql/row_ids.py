"""Ids of new rows: no two writers are ever given the same one.

On SQLite the next ids follow the largest. On PostgreSQL several writers may make rows at once:
there a sequence counts, and what is rolled back leaves a gap.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, Table

from canonry.storage.sql import write_locks
from canonry.storage.sql.bulk import next_id
from canonry.storage.sql.schema import keys, urls

_COUNTED = (urls, keys)  # the tables that have rows made by several writers at once


def take_ids(connection: Connection, table: Table, number: int) -> Sequence[int]:
    """Return ids for new rows of ``urls`` or ``keys``, in rising order.

    Args:
        connection: in a writing transaction.
        table: one of these two.
        number: how many, at least one.
    """
    if connection.dialect.name != "postgresql":
        first = next_id(connection, table)
        return range(first, first + number)
    sequence = f"'{table.name}_id_seq'"
    if not write_locks.is_beside(connection):
        last = connection.exec_driver_sql(
            f"SELECT setval({sequence}, nextval({sequence}) + {number - 1})"
        ).scalar_one()
        return range(last - number + 1, last + 1)
    many = f"SELECT nextval({sequence}) FROM generate_series(1, {number})"  # noqa: S608 - our names
    return list(connection.exec_driver_sql(many).scalars())


def align(connection: Connection) -> None:
    """Set PostgreSQL's sequences to the largest ids; rows may have come from elsewhere.

    A store that an early version has made may lack them.

    Args:
        connection: in a transaction that has the write lock alone.
    """
    if connection.dialect.name != "postgresql":
        return
    for table in _COUNTED:
        sequence = f"{table.name}_id_seq"
        known = connection.exec_driver_sql(f"SELECT to_regclass('{sequence}')").scalar()
        if known is None:
            connection.exec_driver_sql(f"CREATE SEQUENCE {sequence}")
        upcoming = next_id(connection, table)
        connection.exec_driver_sql(f"SELECT setval('{sequence}', {upcoming}, false)")
