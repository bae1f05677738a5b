"""The URLs of a host that rules hold, found by an index that is made for the first rule."""

from collections.abc import Iterator
from typing import NamedTuple

from sqlalchemy import Connection, and_, bindparam, func, inspect, literal_column, select

from canonry.storage.learned.classes import LEARNED
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, aliases, hosts, urls

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


def index(connection: Connection) -> None:
    """Make the index that finds the URLs of a host, unless it is there."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS urls_by_host ON url_rows (host_id, id)")


def has_index(connection: Connection) -> bool:
    """Return True if the index that finds the URLs of a host is there; it is made when needed."""
    return any(
        found["name"] == "urls_by_host" for found in inspect(connection).get_indexes("url_rows")
    )


class HeldName(NamedTuple):
    """A URL that rules hold, and the one that represents it."""

    url_id: int
    url: str
    represented_by: str


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

    It looks at a few URLs only, by the index that was made when the first rule was published.

    Args:
        connection: of the store.
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
