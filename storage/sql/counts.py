"""Counts by state and kind, kept as rows change: status answers at once, however many there are."""

from collections.abc import Iterator, Mapping
from functools import cache
from typing import NamedTuple

from sqlalchemy import Connection, select

from canonry.storage.sql.bulk import Upsert, upsert
from canonry.storage.sql.schema import State, counts


class Counted(NamedTuple):
    """What is counted together."""

    kind: str  # "urls", "levels", "pages", "aliases" or "bodies"
    name: str
    reason: str = ""


REPEATED = Counted("bodies", "repeated")  # pages whose body another page had before


def url(state: State, reason: str | None) -> Counted:
    """Return under what a URL row is counted."""
    return Counted("urls", state.name.lower(), reason or "")


def level(depth: int) -> Counted:
    """Return under what a queued URL is counted besides: its depth."""
    return Counted("levels", str(depth))


def page(status: int) -> Counted:
    """Return under what a page is counted."""
    return Counted("pages", str(status))


def alias(kind: str, status: int) -> Counted:
    """Return under what an alias is counted."""
    return Counted("aliases", f"{kind} {status}")


def add(connection: Connection, changes: Mapping[Counted, int]) -> None:
    """Add to counts, in the transaction that changes the rows; negative numbers take away."""
    rows = [{**key._asdict(), "count": more} for key, more in sorted(changes.items()) if more]
    if rows:
        connection.execute(_adding(connection.dialect.name), rows)


@cache
def _adding(dialect: str) -> Upsert:
    """Return the statement that adds to counts; to build it takes longer than to run it."""
    new = upsert(dialect, counts)
    more = counts.c.count + new.excluded.count
    return new.on_conflict_do_update(
        index_elements=["kind", "name", "reason"], set_={"count": more}
    )


def read(connection: Connection, kind: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, reason and count of a kind, where there are any, in order of name and reason."""
    query = select(counts.c.name, counts.c.reason, counts.c.count)
    rows = connection.execute(query.where(counts.c.kind == kind, counts.c.count != 0))
    yield from sorted((name, reason, count) for name, reason, count in rows)


def total(connection: Connection, kind: str) -> int:
    """Return how many there are of a kind."""
    return sum(count for _name, _reason, count in read(connection, kind))


def total_of(connection: Connection, counted: Counted) -> int:
    """Return how many are counted together."""
    here = [counts.c[name] == value for name, value in counted._asdict().items()]
    return connection.scalar(select(counts.c.count).where(*here)) or 0
