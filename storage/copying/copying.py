"""Copy a store, table by table in the order of their keys, and the facts at the end.

The new database is a store only when it has everything. Until then its table ``meta`` has no facts,
so that nothing else opens it, but says how far the copy has come: a killed one goes on from there.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Engine, Table, delete, func, insert, inspect, select, update

from canonry.storage.copying.row_rewriting import Rewriting
from canonry.storage.facts import COPYING, check_schema, fact, read_facts
from canonry.storage.learned import host_urls
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.database_faults import naming
from canonry.storage.sql.schema import hosts, meta, metadata
from canonry.storage.sql.store_errors import StoreError

_ROWS = 10_000  # in a transaction
# Tables whose rows change in place: their content tells whether a store is as it was.
_CHANGING = frozenset({"budgets", "counts", "frontier_queues", "hosts", "jobs", "rules"})


class CopiedRows(NamedTuple):
    """What a copy did."""

    rows: int  # that it has read
    before: int  # of these, by runs that were interrupted


class _Progress(NamedTuple):
    """How far a copy has come."""

    source: list[Any]  # the state of the store that is copied
    table: str = ""  # the one that was written last
    again: bool = False  # True: for the second time, for the rows of URLs that were merged away
    key: list[Any] = []  # noqa: RUF012 - never changed; the last key that was read
    done: int = 0  # rows


def copy(
    reading: Connection,
    new: Engine,
    advance: Callable[[int, int], None],
    notify: Callable[[str], None],
    rewriting: Rewriting | None = None,
) -> CopiedRows:
    """Copy a store into an empty database, or go on with a copy that was interrupted.

    Args:
        reading: to the store; in a transaction in which it stays as it is.
        new: the other database.
        advance: called with numbers of rows: done since the last call, and in all.
        notify: receives sentences for people.
        rewriting: the change of policy; None keeps all rows as they are. With it, the database is
            nobody else's: what it holds of another copy is deleted.

    Raises:
        StoreError: the store has another schema, or the database is not empty.
    """
    facts = read_facts(reading)
    check_schema(facts)
    tables = [
        table
        for table in metadata.sorted_tables
        if table.primary_key
        and table is not meta
        and not (rewriting and table.info.get("one_policy"))
    ]
    state, sizes = _state_of(reading, facts["id"], tables)
    steps = [(table, False) for table in tables]
    if rewriting is not None:
        state.append(rewriting.label)
        steps = [(table, again) for table in tables for again in rewriting.passes(table)]
    total = sum(sizes[table.name] for table, _again in steps)
    total += 0 if rewriting is None else sizes["url_rows"]
    with naming(new):
        progress, is_continued = _begun(new, tables, state, notify, is_ours=rewriting is not None)
        before = progress.done
        if rewriting is not None:
            for number, known in rewriting.prepare(new):
                before += known
                advance(number + known, total)
        if is_continued:
            notify(f"going on after {before:,} rows that were copied before")
        advance(progress.done, total)
        for number in _copied(reading, new, steps, progress, rewriting):
            advance(number, total)
        _finish(new, tables, facts, rewriting, by_host=host_urls.has_index(reading))
    return CopiedRows(total, before)


def _state_of(
    reading: Connection, store_id: str, tables: Sequence[Table]
) -> tuple[list[Any], dict[str, int]]:
    """Return what tells whether a store is as it was; and by table the number of its rows."""
    found: list[Any] = [store_id]
    sizes = {}
    for table in tables:
        keys = list(table.primary_key)
        number = reading.execute(select(func.count()).select_from(table)).scalar_one()
        # PostgreSQL has a max() of bytea since release 18.
        last = select(*keys).order_by(*(key.desc() for key in keys)).limit(1)
        row = reading.execute(last).one_or_none()
        found.append([number, [_as_json(value) for value in row or ()]])
        if table.name in _CHANGING:
            content = hashlib.blake2b(digest_size=8)
            for values in reading.execute(select(table).order_by(*keys)):
                content.update(repr(tuple(values)).encode())
            found.append(content.hexdigest())
        sizes[table.name] = number
    return found, sizes


def _begun(
    new: Engine,
    tables: Sequence[Table],
    state: list[Any],
    notify: Callable[[str], None],
    *,
    is_ours: bool,
) -> tuple[_Progress, bool]:
    """Create the tables, or return how far an interrupted copy has come, and True.

    Raises:
        StoreError: the database is not empty.
    """
    with new.begin() as connection:
        if names := inspect(connection).get_table_names():
            text = fact(connection, COPYING) if "meta" in names else None
            if not text and not is_ours:
                raise StoreError(
                    "it is not empty; name an empty database, or a file that is not there"
                )
            progress = _Progress(*json.loads(text)) if text else _Progress([])
            if progress.source == state:
                return progress, True
            if text:
                notify("the store has changed since the copy was interrupted, so it begins anew")
            Rewriting.drop_work(connection)
            for table in reversed(metadata.sorted_tables):
                if table.primary_key:
                    connection.execute(delete(table))
        else:
            metadata.create_all(connection)
            for table in tables:
                for index in table.indexes if table is not hosts else ():
                    index.drop(connection, checkfirst=True)
        progress = _Progress(state)
        connection.execute(insert(meta), {"name": COPYING, "value": json.dumps(progress)})
    return progress, False


def _copied(
    reading: Connection,
    new: Engine,
    steps: Sequence[tuple[Table, bool]],
    progress: _Progress,
    rewriting: Rewriting | None,
) -> Iterator[int]:
    """Copy the rows that are left; yield how many were read, each time."""
    names = [(table.name, again) for table, again in steps]
    begin = names.index((progress.table, progress.again)) if progress.table else 0
    key: tuple[Any, ...] | None = tuple(map(_from_json, progress.key)) if progress.table else None
    done = progress.done
    for table, again in steps[begin:]:
        columns = [column.name for column in table.columns]
        places = [columns.index(column.name) for column in table.primary_key]
        while rows := _rows_after(reading, table, key):
            done += len(rows)
            key = tuple(rows[-1][place] for place in places)
            at = list(map(_as_json, key))
            now = progress._replace(table=table.name, again=again, key=at, done=done)
            with new.begin() as connection:
                given = _for_dialect(connection, rows)
                if rewriting is None:
                    insert_rows(connection, table, columns, given)
                else:
                    rewriting.put(connection, table, given, again=again)
                here = meta.c.name == COPYING
                connection.execute(update(meta).where(here).values(value=json.dumps(now)))
            yield len(rows)
        key = None


def _rows_after(
    reading: Connection, table: Table, key: tuple[Any, ...] | None
) -> list[tuple[Any, ...]]:
    """Return the next rows of a table, after a key if one is given."""
    names = ", ".join(column.name for column in table.columns)
    order = ", ".join(column.name for column in table.primary_key)
    placeholder = "?" if reading.dialect.name == "sqlite" else "%s"
    where = "" if key is None else f"WHERE ({order}) > ({', '.join([placeholder] * len(key))})"
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


def _finish(
    new: Engine,
    tables: Sequence[Table],
    facts: dict[str, str],
    rewriting: Rewriting | None,
    *,
    by_host: bool,
) -> None:
    """Make the indexes, and write the facts, which make it a store."""
    with new.begin() as connection:
        for table in tables:
            for index in sorted(table.indexes, key=lambda index: str(index.name)):
                index.create(connection, checkfirst=True)
        if by_host:
            host_urls.index(connection)
        connection.execute(update(hosts).values(holder=None, held_until=hosts.c.ready_at))
        connection.execute(delete(meta))
        rows = [{"name": name, "value": value} for name, value in facts.items()]
        connection.execute(insert(meta), rows)
        if connection.dialect.name == "postgresql":
            _align_ids(connection, tables)
        if rewriting is not None:
            rewriting.finish(connection)
    with new.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.exec_driver_sql("ANALYZE")


def _align_ids(connection: Connection, tables: Sequence[Table]) -> None:
    """Let the sequences of PostgreSQL go on after the largest ids."""
    for table in tables:
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
