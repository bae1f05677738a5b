"""Move a store to another database: all rows, in the order of their keys, and then the facts.

The new store is one only when it has everything. Until then its table ``meta`` has no facts, so
that nothing else opens it, but says how far the move has come: a killed one goes on from there.
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Table, delete, func, insert, inspect, select, update

from canonry.storage.facts import check_schema, check_unserved, read_facts
from canonry.storage.frontier.frontier_tables import tables as frontier_tables
from canonry.storage.learned import host_urls
from canonry.storage.recrawls.revisit_rows import tables as revisit_tables
from canonry.storage.requests.request_tables import tables as request_tables
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.row_ids import align
from canonry.storage.sql.schema import hosts, meta, metadata
from canonry.storage.sql.store_errors import StoreError

_ROWS = 10_000  # in a transaction
_MOVING = "moving"  # the name of the row in meta


class Moved(NamedTuple):
    """What a move did."""

    rows: int  # in all
    before: int  # of these, by runs that were interrupted


class _Progress(NamedTuple):
    """How far a move has come."""

    source: list[Any]  # the id of the store, and for each table its rows and its last key
    table: str = ""  # the one that was written last
    key: list[Any] = []  # noqa: RUF012 - never changed; the last key that was written
    done: int = 0  # rows


def move(
    source: str,
    target: str,
    advance: Callable[[int, int], None],
    notify: Callable[[str], None],
) -> Moved:
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
        _opened(source, read_only=True) as old,
        _opened(target, read_only=False) as new,
        naming(old),
        old.begin() as reading,
    ):
        facts = read_facts(reading)
        check_schema(facts)
        _check_unused(reading)
        kept = set(inspect(reading).get_table_names())
        todo = [table for table in _tables() if table.name in kept]
        state = _state_of(reading, facts, todo)
        total = sum(rows for rows, _key in state[1:])
        with naming(new):
            progress = _begun(new, todo, state, notify)
            advance(progress.done, total)
            for rows in _copied(reading, new, todo, progress):
                advance(rows, total)
            _finish(new, todo, facts, by_host=host_urls.has_index(reading))
    return Moved(total, progress.done)


@contextmanager
def _opened(url: str, *, read_only: bool) -> Iterator[Engine]:
    """Open a database, and close it at the end."""
    engine = open_engine(url, read_only=read_only)
    try:
        with explaining(engine):
            yield engine
    finally:
        engine.dispose()


def _tables() -> list[Table]:
    """Return all tables but that of facts; a table comes after those that it refers to."""
    own = [table for table in metadata.sorted_tables if table.primary_key and table is not meta]
    return own + _on_demand()


def _on_demand() -> list[Table]:
    """Return the tables that not every store has."""
    return request_tables() + frontier_tables() + revisit_tables()


def _check_unused(reading: Connection) -> None:
    """Refuse a store that a crawl or a frontier uses.

    Raises:
        StoreError: a worker has leased hosts, or a frontier serves it.
    """
    check_unserved(reading)
    used = select(func.count()).where(
        hosts.c.lease_owner.is_not(None), hosts.c.lease_until > time.time()
    )
    if number := reading.execute(used).scalar_one():
        raise StoreError(
            f"a crawl uses it, or was killed less than a minute ago ({number:,} hosts are leased); "
            "stop it, and run the command again"
        )


def _state_of(reading: Connection, facts: dict[str, str], todo: Sequence[Table]) -> list[Any]:
    """Return what tells whether a store is as it was: its id, and of each table rows and key."""
    found: list[Any] = [facts["id"]]
    for table in todo:
        keys = list(table.primary_key)
        number = reading.execute(select(func.count()).select_from(table)).scalar_one()
        # PostgreSQL has a max() of bytea since release 18.
        last = select(*keys).order_by(*(key.desc() for key in keys)).limit(1)
        row = reading.execute(last).one_or_none()
        found.append([number, [_as_json(value) for value in row or ()]])
    return found


def _begun(
    new: Engine, todo: Sequence[Table], state: list[Any], notify: Callable[[str], None]
) -> _Progress:
    """Create the tables, or return how far an interrupted move has come.

    Raises:
        StoreError: the database is not empty.
    """
    with new.begin() as connection:
        if inspect(connection).get_table_names():
            known = select(meta.c.value).where(meta.c.name == _MOVING)
            text = _has_meta(connection) and connection.execute(known).scalar()
            if not text:
                raise StoreError(
                    "it is not empty; name an empty database, or a file that is not there"
                )
            progress = _Progress(*json.loads(str(text)))
            if progress.source == state:
                notify(f"going on after {progress.done:,} rows that were moved before")
                return progress
            notify("the store has changed since the move was interrupted, so it begins anew")
            for table in reversed(todo):
                connection.execute(delete(table))
            connection.execute(delete(meta))
        else:
            metadata.create_all(connection)
            for table in _on_demand():
                if table in todo:
                    table.create(connection)
            for table in todo:
                for index in table.indexes:
                    index.drop(connection, checkfirst=True)
        progress = _Progress(state)
        connection.execute(insert(meta), {"name": _MOVING, "value": json.dumps(progress)})
    return progress


def _has_meta(connection: Connection) -> bool:
    return "meta" in inspect(connection).get_table_names()


def _copied(
    reading: Connection, new: Engine, todo: Sequence[Table], progress: _Progress
) -> Iterator[int]:
    """Copy the rows that are left; yield how many were written, each time."""
    names = [table.name for table in todo]
    begin = names.index(progress.table) if progress.table else 0
    key: tuple[Any, ...] | None = tuple(map(_from_json, progress.key)) if progress.table else None
    done = progress.done
    for table in todo[begin:]:
        while rows := _rows_after(reading, table, key):
            done += len(rows)
            places = [list(table.columns).index(column) for column in table.primary_key]
            key = tuple(rows[-1][place] for place in places)
            now = progress._replace(table=table.name, key=list(map(_as_json, key)), done=done)
            with new.begin() as connection:
                columns = [column.name for column in table.columns]
                insert_rows(connection, table, columns, _for_dialect(connection, rows))
                here = meta.c.name == _MOVING
                connection.execute(update(meta).where(here).values(value=json.dumps(now)))
            yield len(rows)
        key = None


def _rows_after(
    reading: Connection, table: Table, key: tuple[Any, ...] | None
) -> list[tuple[Any, ...]]:
    """Return the next rows of a table, after a key if one is given."""
    names = ", ".join(column.name for column in table.columns)
    order = ", ".join(column.name for column in table.primary_key)
    mark = "?" if reading.dialect.name == "sqlite" else "%s"
    where = "" if key is None else f"WHERE ({order}) > ({', '.join([mark] * len(key))})"
    text = f"SELECT {names} FROM {table.name} {where} ORDER BY {order} LIMIT {_ROWS}"  # noqa: S608 - our names
    return [tuple(row) for row in reading.exec_driver_sql(text, key or ())]


def _for_dialect(connection: Connection, rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return rows as a database can hold them: PostgreSQL has no texts with zero characters."""
    if connection.dialect.name != "postgresql":
        return rows
    return [
        tuple(
            [v.replace("\0", "\N{REPLACEMENT CHARACTER}") if isinstance(v, str) else v for v in row]
        )
        if any(isinstance(value, str) and "\0" in value for value in row)
        else row
        for row in rows
    ]


def _finish(new: Engine, todo: Sequence[Table], facts: dict[str, str], *, by_host: bool) -> None:
    """Make the indexes, and write the facts, which make it a store."""
    with new.begin() as connection:
        for table in todo:
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                index.create(connection, checkfirst=True)
        if by_host:
            host_urls.index(connection)
        connection.execute(update(hosts).values(lease_owner=None, lease_until=0.0))
        connection.execute(delete(meta))
        rows = [{"name": name, "value": value} for name, value in facts.items()]
        connection.execute(insert(meta), rows)
        align(connection)
        if connection.dialect.name == "postgresql":
            _align_ids(connection, todo)
    with new.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")


def _align_ids(connection: Connection, todo: Sequence[Table]) -> None:
    """Let the sequences of PostgreSQL go on after the largest ids."""
    for table in todo:
        if table.autoincrement_column is not None:
            name = table.autoincrement_column.name
            connection.exec_driver_sql(
                f"SELECT setval(pg_get_serial_sequence('{table.name}', '{name}'), "  # noqa: S608 - our names
                f"coalesce(max({name}), 0) + 1, false) FROM {table.name}"
            )


def _as_json(value: Any) -> Any:  # noqa: ANN401 - a key of any table
    """Return a value of a key for JSON."""
    return {"hex": bytes(value).hex()} if isinstance(value, bytes | memoryview) else value


def _from_json(value: Any) -> Any:  # noqa: ANN401 - as above
    """Return a value of a key from JSON."""
    return bytes.fromhex(value["hex"]) if isinstance(value, dict) else value
