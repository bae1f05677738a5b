"""Counts by state and kind, updated as rows change: status is fast in a store of any size."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, case, delete, func, insert, select, update

from canonry.storage.http_status import OK
from canonry.storage.sql.bulk import join
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, aliases, hosts, pages, urls
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
_DERIVED = ("urls", "levels", "pages", "aliases", "bodies", "reserved")  # from rows of URLs
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


def hosts_of(domain: str) -> Counted:
    """Return the count of hosts of a registrable domain."""
    return Counted("hosts", domain)


def add(connection: Connection, changes: Mapping[Counted, int]) -> None:
    """Add to counts, in the transaction that changes the rows; numbers may be negative."""
    rows = [{**key._asdict(), "count": more} for key, more in sorted(changes.items()) if more]
    join(connection, counts, rows)


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


def remake(connection: Connection) -> None:
    """Count all URLs, pages and aliases, and the queued URLs of each host.

    Args:
        connection: in a writing transaction.
    """
    numbers: dict[Counted, int] = {}
    reason = case((urls.c.state == State.QUEUED, ""), else_=func.coalesce(urls.c.reason, ""))
    by_state = select(urls.c.state, reason.label("why"), func.count()).group_by("state", "why")
    for state, why, number in connection.execute(by_state):
        numbers[url(State(state), why)] = number
    queued = urls.c.state == State.QUEUED
    by_depth = select(urls.c.depth, func.count()).where(queued).group_by(urls.c.depth)
    numbers |= {level(depth): number for depth, number in connection.execute(by_depth)}
    by_status = select(pages.c.status, func.count()).group_by(pages.c.status)
    numbers |= {page(status): number for status, number in connection.execute(by_status)}
    kind = aliases.c.kind, aliases.c.status
    by_kind = select(*kind, func.count()).group_by(*kind)
    numbers |= {alias(*group): number for *group, number in connection.execute(by_kind)}
    with_body = pages.c.status == OK, pages.c.size > 0
    bodies = select(func.count(), func.count(pages.c.digest.distinct())).where(*with_body)
    number, distinct = connection.execute(bodies).one()
    numbers[REPEATED] = number - distinct
    by_uses = select(pages.c.use_reserved, func.count()).group_by(pages.c.use_reserved)
    for uses, number in connection.execute(by_uses):
        for use in reserved(uses):
            numbers[use] = numbers.get(use, 0) + number
    connection.execute(delete(counts).where(counts.c.kind.in_(_DERIVED)))
    rows = [{**key._asdict(), "count": number} for key, number in numbers.items() if number]
    if rows:
        connection.execute(insert(counts), rows)
    pending = select(func.count()).where(urls.c.host_id == hosts.c.id, queued)
    connection.execute(update(hosts).values(pending=pending.scalar_subquery()))
