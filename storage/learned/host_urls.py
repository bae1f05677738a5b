"""The URLs of hosts: what was fetched, what is queued, and what learned rules hold.

Most of it is found by an index that is made for the first rule.
"""

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    and_,
    bindparam,
    func,
    inspect,
    literal_column,
    or_,
    select,
)

from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.learned.classes import LEARNED
from canonry.storage.sql.bulk import chunks
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, aliases, hosts, pages, urls

_ANSWERED = (State.FETCHED, State.REDIRECTED)
_NEAR = (16, 200)  # URLs of a host that are looked at: at first, and if none of those will do
_others = urls.alias("others")
_HELD = (
    select(urls.c.id, urls.c.url, _others.c.url)
    .join(aliases, and_(aliases.c.from_id == urls.c.id, aliases.c.kind == "rule"))
    .join(_others, _others.c.id == aliases.c.to_id)
    # Literals: with parameters, SQLite would prepare the statement anew each time, to see whether
    # its partial indexes apply.
    .where(urls.c.state == literal_column(f"{State.HELD:d}"))
    .where(urls.c.reason == literal_column(f"'{LEARNED}'"))
)
# Built once: building a statement takes longer than running it. Each end has a subquery of its own:
# for both at once, SQLite reads the whole index.
_own = urls.c.host_id == hosts.c.id
_FIRST = select(func.min(urls.c.id)).where(_own).scalar_subquery()
_LAST = select(func.max(urls.c.id)).where(_own).scalar_subquery()
_ENDS = Prepared(select(_FIRST, _LAST, hosts.c.id).where(hosts.c.name == bindparam("host")))
_WINDOW = (
    select(urls.c.id)
    .where(urls.c.host_id == bindparam("host"), urls.c.id >= bindparam("start"))
    .order_by(urls.c.id)
    .limit(bindparam("most"))
    .offset(bindparam("after"))
)
_IN_WINDOW = Prepared(select(func.count()).select_from(_WINDOW.subquery()))
_HELD_NEAR = Prepared(_HELD.where(urls.c.id.in_(_WINDOW)).order_by(urls.c.id))


class PastURL(NamedTuple):
    """A URL of a site, and what became of it."""

    url_id: int
    url: str
    state: int
    status: int | None  # of its page
    canonical: str | None  # of its page
    digest: bytes | None  # of its page
    asked: float  # when it was asked last; seconds since 1970


class PastHop(NamedTuple):
    """A permanent redirect or canonical link whose target has not answered yet."""

    url: str
    target: str


class HeldName(NamedTuple):
    """A URL that rules hold, and the one that represents it."""

    url_id: int
    url: str
    represented_by: str


def index(connection: Connection) -> None:
    """Make the index that finds the URLs of a host, unless it is there."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS urls_by_host ON url_rows (host_id, id)")


def has_index(connection: Connection) -> bool:
    """Return True if the index that finds the URLs of a host is there; it is made when needed."""
    return any(
        found["name"] == "urls_by_host" for found in inspect(connection).get_indexes("url_rows")
    )


def _of(
    names: Collection[str], most: int, states: Collection[State], *columns: ColumnElement[Any]
) -> Select[Any]:
    """Return a query for so many URLs, at most, in some states on hosts, given without ports."""
    query = select(*columns).join_from(urls, hosts, hosts.c.id == urls.c.host_id)
    return query.where(hosts.c.name.in_(names), urls.c.state.in_(states)).limit(most)


def latest(connection: Connection, names: Collection[str], most: int) -> list[PastURL]:
    """Return the latest URLs of hosts that are queued or have answered; the latest last.

    Args:
        connection: to a store with the index, as for the next three functions.
        names: of the hosts, without ports.
        most: how many.
    """
    of_page = (pages.c.status, pages.c.canonical, pages.c.digest)
    columns = (urls.c.id, urls.c.url, urls.c.state, *of_page, urls.c.due)
    query = _of(names, most, (State.QUEUED, *_ANSWERED), *columns)
    query = query.outerjoin(pages, pages.c.url_id == urls.c.id).order_by(urls.c.id.desc())
    return [PastURL(*row) for row in connection.execute(query)][::-1]


def first_pages(
    connection: Connection, names: Collection[str], most: int, until: float
) -> list[str]:
    """Return the URLs of pages of hosts that were found first, and that show no wall.

    They were fetched before a time; seconds since 1970.
    """
    query = _of(names, most, (State.FETCHED,), urls.c.url)
    query = query.join(pages, pages.c.url_id == urls.c.id).order_by(urls.c.id)
    is_good = (urls.c.reason.is_(None), pages.c.status == OK, pages.c.fetched_at < until)
    return list(connection.scalars(query.where(*is_good)))


def held(connection: Connection, names: Collection[str], most: int) -> list[int]:
    """Return the ids of URLs that rules hold on hosts."""
    query = _of(names, most, (State.HELD,), urls.c.id).where(urls.c.reason == LEARNED)
    return list(connection.scalars(query.order_by(urls.c.id)))


def number_answered(connection: Connection, names: Collection[str], most: int) -> int:
    """Return how many URLs of hosts were fetched or redirected, counting up to ``most``."""
    some = _of(names, most, _ANSWERED, urls.c.id).subquery()
    return connection.scalar(select(func.count()).select_from(some)) or 0


def open_hops(connection: Connection, url_ids: Sequence[int]) -> Iterator[PastHop]:
    """Yield the permanent redirects and canonical links of URLs whose targets are queued."""
    target = urls.alias("target")
    is_own_word = or_(
        aliases.c.kind == "canonical",
        and_(aliases.c.kind == "redirect", aliases.c.status.in_(PERMANENT_REDIRECTS)),
    )
    query = (
        select(urls.c.url, target.c.url)
        .join_from(aliases, urls, urls.c.id == aliases.c.from_id)
        .join(target, target.c.id == aliases.c.to_id)
        .where(target.c.state == State.QUEUED, is_own_word)
    )
    for part in chunks(url_ids):
        yield from map(PastHop._make, connection.execute(query.where(aliases.c.from_id.in_(part))))


def held_first(connection: Connection, host: str, most: int) -> tuple[int, Iterator[HeldName]]:
    """Return how many URLs of a host were looked at, and those of them that rules hold.

    It looks at the first ``most`` URLs in any state: a search for held ones might read all.
    """
    ends = _ENDS.run(connection, {"host": host})
    window = {"host": ends[0][2] if ends else 0, "start": 0, "after": 0, "most": most}
    [(number,)] = _IN_WINDOW.run(connection, window)
    return number, map(HeldName._make, _HELD_NEAR.stream(connection, window))


def held_near(connection: Connection, host: str, place: float) -> Iterator[HeldName]:
    """Yield URLs of a host that rules hold, starting at a place among its URLs.

    It looks at a few URLs only.

    Args:
        connection: to a store with the index.
        host: the host's name.
        place: from 0, the host's first known URL, to 1, its last.
    """
    ends = _ENDS.run(connection, {"host": host})
    if not ends or ends[0][0] is None:
        return
    first, last, host_id = ends[0]
    start = first + round((last - first) * place)
    after = 0
    for end in _NEAR:
        window = {"host": host_id, "start": start, "after": after, "most": end - after}
        yield from map(HeldName._make, _HELD_NEAR.stream(connection, window))
        after = end
