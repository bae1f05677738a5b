"""Counts by state and kind, updated as rows change: status is fast in a store of any size."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from canonry.storage.sql.bulk import add_counts
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State
from canonry.storage.sql.tables.figure_tables import counts


class Counted(NamedTuple):
    """The name of one count."""

    kind: str  # "urls", "levels", "pages", "aliases", "bodies", "hosts" or "reserved"
    name: str
    reason: str = ""


class AliasCount(NamedTuple):
    """How many aliases have a kind and an HTTP status."""

    kind: str
    status: int  # 0 for a rule
    aliases: int


_of_kind = counts.c.kind == bindparam("kind")
_READ = Prepared(
    select(counts.c.name, counts.c.reason, counts.c.count).where(_of_kind, counts.c.count != 0)
)
_here = (counts.c.name == bindparam("name"), counts.c.reason == bindparam("reason"))
_TOTAL_OF = Prepared(select(counts.c.count).where(_of_kind, *_here))
RESERVED = "reserved"  # the kind of pages whose site reserves a use
REPEATED = Counted("bodies", "repeated")  # pages whose body another page has


def url(state: State, reason: str | None) -> Counted:
    """Return the count of URLs with a state and reason."""
    return Counted("urls", state.name.lower(), reason or "")


def level(depth: int) -> Counted:
    """Return the count of queued URLs of a depth."""
    return Counted("levels", str(depth))


def page(status: int) -> Counted:
    """Return the count of pages with an HTTP status."""
    return Counted("pages", str(status))


def reserved(uses: str | None) -> Iterator[Counted]:
    """Yield the count of each use that the site of a page reserves."""
    return (Counted(RESERVED, use) for use in (uses or "").split())


def alias(kind: str, status: int) -> Counted:
    """Return the count of aliases of a kind and HTTP status."""
    return Counted("aliases", f"{kind} {status}")


def alias_counts(connection: Connection) -> list[AliasCount]:
    """Return how many aliases have each kind and HTTP status."""
    found = ((name.split(" "), count) for name, _reason, count in read(connection, "aliases"))
    return [AliasCount(kind, int(status), count) for (kind, status), count in found]


def hosts(domain: str) -> Counted:
    """Return the count of hosts of a registrable domain."""
    return Counted("hosts", domain)


def add(connection: Connection, changes: Mapping[Counted, int]) -> None:
    """Add to counts, in the transaction that changes the rows; numbers may be negative."""
    rows = [{**key._asdict(), "count": more} for key, more in sorted(changes.items()) if more]
    add_counts(connection, counts, rows)


def read(connection: Connection, kind: str) -> Iterator[tuple[str, str, int]]:
    """Yield name, reason and count of a kind in this order, without counts of 0."""
    yield from sorted(_READ.run(connection, {"kind": kind}))


def total(connection: Connection, kind: str) -> int:
    """Return the sum of all counts of a kind."""
    return sum(count for _name, _reason, count in read(connection, kind))


def total_of(connection: Connection, counted: Counted) -> int:
    """Return the value of one count."""
    found = _TOTAL_OF.run(connection, counted._asdict())
    return found[0][0] if found else 0
