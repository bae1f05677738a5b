"""History: what the store knows of a host's URLs, for those who learn from it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import Connection, bindparam, inspect, select

from canonry.storage.http_status import GONE, OK, PERMANENT_REDIRECTS
from canonry.storage.records import ALIAS
from canonry.storage.sql import url_tails
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, aliases, hosts, pages, url_rows, urls

_AT_ONCE = 10_000  # rows
_ANSWER = (
    pages.c.fetched_at,
    pages.c.status,
    pages.c.digest,
    pages.c.sketch,
    pages.c.canonical,
)
_MAX_HOPS = 5  # of a chain that are followed to its end
_QUEUED = Prepared(
    select(url_rows.c.id, url_rows.c.tail)
    .join_from(url_rows, hosts, hosts.c.id == url_rows.c.host_id)
    .where(hosts.c.name == bindparam("host"), url_rows.c.state == State.QUEUED)
    .where(url_rows.c.priority < ALIAS)
    .order_by(url_rows.c.priority, url_rows.c.depth, url_rows.c.id)
    .limit(bindparam("most"))
    .offset(bindparam("after"))
)


class PastAnswer(NamedTuple):
    """A URL that answered with a page, or with 404 or 410."""

    url: str
    at: float  # seconds since 1970
    status: int
    digest: bytes
    sketch: bytes | None
    canonical: str | None  # the URL that it names


class PastHop(NamedTuple):
    """A URL that named another: by a permanent redirect, or by a canonical link."""

    url: str
    target: str
    kind: str  # redirect or canonical
    at: float  # seconds since 1970


def index(connection: Connection) -> None:
    """Make the index that finds the URLs of a host, unless it is there."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS urls_by_host ON url_rows (host_id, id)")


def has_index(connection: Connection) -> bool:
    """Return True if the index that finds the URLs of a host is there; it is made when needed."""
    return any(
        found["name"] == "urls_by_host" for found in inspect(connection).get_indexes("url_rows")
    )


def answers_of(connection: Connection, host: str, most: int) -> Iterator[PastAnswer]:
    """Yield what the latest so many URLs of a host answered."""
    index(connection)
    query = (
        select(urls.c.url, *_ANSWER)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .join(pages, pages.c.url_id == urls.c.id)
        .where(hosts.c.name == host, pages.c.status.in_((OK, *GONE)))
        .where(urls.c.state == State.FETCHED)
        .order_by(urls.c.id.desc())
        .limit(most)
    )
    for row in connection.execute(query):
        yield _answer(*row)


def answers_at(connection: Connection, rows: Sequence[int]) -> Iterator[PastAnswer]:
    """Yield what some rows answered, as far as they did."""
    question = (
        "SELECT urls.state, urls.url, pages.fetched_at, pages.status, pages.digest, pages.sketch, "
        "pages.canonical FROM urls JOIN pages ON pages.url_id = urls.id WHERE urls.id"
    )
    for state, *answer in rows_of(connection, question, rows):
        if state == State.FETCHED and (found := _answer(*answer)).status in {OK, *GONE}:
            yield found


def _answer(
    url: str, at: float, status: int, digest: bytes, sketch: bytes | None, canonical: str | None
) -> PastAnswer:
    """Return an answer; some drivers give other types of bytes."""
    text = None if sketch is None else bytes(sketch)
    return PastAnswer(url, at, status, bytes(digest), text, canonical)


def answered_of(connection: Connection, host: str) -> Iterator[list[str]]:
    """Yield the URLs of a host that have answered, or led elsewhere, some at a time."""
    index(connection)
    query = (
        select(urls.c.url)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .where(hosts.c.name == host, urls.c.state.in_((State.FETCHED, State.REDIRECTED)))
        .execution_options(yield_per=_AT_ONCE)
    )
    yield from (list(some) for some in connection.scalars(query).partitions(_AT_ONCE))


def gone_of(connection: Connection, host: str, most: int = 2_000) -> Iterator[str]:
    """Yield the URLs of a host, the latest ones, that answered 404 or 410.

    The index must be there.
    """
    query = (
        select(urls.c.url)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .join(pages, pages.c.url_id == urls.c.id)
        .where(hosts.c.name == host, pages.c.status.in_(GONE))
        .order_by(urls.c.id.desc())
        .limit(most)
    )
    yield from connection.scalars(query)


def hops_of(connection: Connection, host: str, most: int) -> Iterator[PastHop]:
    """Yield the permanent redirects and canonical links of a host whose ends answered with 200.

    A canonical link counts if its target names itself or nothing.

    Args:
        connection: to the store.
        host: its name.
        most: how many of them are looked at, from the latest URLs.
    """
    index(connection)
    query = (
        select(urls.c.url, aliases.c.kind, aliases.c.status, aliases.c.to_id, aliases.c.last_seen)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .join(aliases, aliases.c.from_id == urls.c.id)
        .where(hosts.c.name == host, aliases.c.kind.in_(("redirect", "canonical")))
        .order_by(urls.c.id.desc())
        .limit(most)
    )
    yield from _alive(connection, [tuple(row) for row in connection.execute(query)])


def hops_at(connection: Connection, rows: Sequence[int]) -> Iterator[PastHop]:
    """Yield where some rows led, as `hops_of` does."""
    question = (
        "SELECT urls.url, aliases.kind, aliases.status, aliases.to_id, aliases.last_seen "
        "FROM aliases JOIN urls ON urls.id = aliases.from_id WHERE aliases.from_id"
    )
    yield from _alive(connection, list(rows_of(connection, question, rows)))


def _alive(connection: Connection, hops: Iterable[tuple[Any, ...]]) -> Iterator[PastHop]:
    """Yield those permanent redirects and canonical links whose ends answered with 200.

    Args:
        connection: to the store.
        hops: the URL, the kind, the HTTP status, the target's row, and when it was seen.
    """
    found = [
        hop
        for hop in hops
        if hop[1] == "canonical" or (hop[1] == "redirect" and hop[2] in PERMANENT_REDIRECTS)
    ]
    ends = _targets(connection, {hop[3] for hop in found})
    for url, kind, _status, to_id, at in found:
        target = ends.get(to_id)
        if target is not None and (kind == "redirect" or target.names_itself):
            yield PastHop(url, target.url, kind, at)


class Reached(NamedTuple):
    """A URL to which others lead."""

    url: str
    state: int
    status: int | None  # of its page, if it has one
    canonical: str | None

    @property
    def is_page(self) -> bool:
        """Return True if it answered 200."""
        return self.state == State.FETCHED and self.status == OK

    @property
    def names_itself(self) -> bool:
        """Return True if its canonical link names itself, or it has none."""
        return self.canonical in {None, self.url}


def reached(connection: Connection, rows: Iterable[int]) -> dict[int, Reached]:
    """Return what became of some rows, to which others lead."""
    question = (
        "SELECT urls.id, urls.url, urls.state, pages.status, pages.canonical FROM urls "
        "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
    )
    return {row: Reached(*rest) for row, *rest in rows_of(connection, question, list(rows))}


def last_redirects(connection: Connection, rows: Iterable[int]) -> dict[int, tuple[int, int]]:
    """Return by row where it redirected when it was last fetched: the row, and the HTTP status."""
    question = "SELECT from_id, to_id, kind, status, last_seen FROM aliases WHERE from_id"
    last: dict[int, tuple[float, int, int]] = {}
    for row, to_id, kind, status, seen in rows_of(connection, question, list(rows)):
        if kind == "redirect" and (row not in last or seen > last[row][0]):
            last[row] = seen, to_id, status
    return {row: (to_id, status) for row, (_seen, to_id, status) in last.items()}


def redirect_targets(connection: Connection, rows: Iterable[int]) -> dict[int, int]:
    """Return by row the target of its last redirect, if that is permanent."""
    last = last_redirects(connection, rows)
    return {row: to_id for row, (to_id, status) in last.items() if status in PERMANENT_REDIRECTS}


def _targets(connection: Connection, rows: Iterable[int]) -> dict[int, Reached]:
    """Return the rows from which permanent redirects lead to an answer of 200."""
    first = set(rows)
    known: dict[int, Reached] = {}
    after: dict[int, int] = {}
    new = first
    for _ in range(_MAX_HOPS):
        found = reached(connection, new)
        known |= found
        leading = [row for row, one in found.items() if one.state == State.REDIRECTED]
        after |= redirect_targets(connection, leading)
        new = set(after.values()) - known.keys()
    good: dict[int, Reached] = {}
    for row in first & known.keys():
        end = row
        for _ in range(_MAX_HOPS):
            end = after.get(end, end)
        if end in known and known[end].is_page:
            good[row] = known[row]
    return good


def url_with_key(connection: Connection, key: bytes) -> str | None:
    """Return the URL that has a key, as it is requested."""
    question = "SELECT urls.url FROM keys JOIN urls ON urls.id = keys.url_id WHERE keys.key"
    return next((url for (url,) in rows_of(connection, question, [key])), None)


def source_of(connection: Connection, key: bytes) -> str | None:
    """Return the URL of the page on which a link to the URL that has a key was found first."""
    question = (
        "SELECT urls.url FROM keys JOIN url_rows AS linked ON linked.id = keys.url_id "
        "JOIN urls ON urls.id = linked.source_id WHERE keys.key"
    )
    return next((url for (url,) in rows_of(connection, question, [key])), None)


def queued_of(
    connection: Connection, host: str, most: int, after: int, at_once: int = 100
) -> Iterator[list[tuple[int, str]]]:
    """Yield the rows and URLs of a host that are fetched next, in their order; no deferred ones.

    What is not asked for is not read.

    Args:
        connection: of the store.
        host: its name.
        most: how many.
        after: without so many before them.
        at_once: how many are yielded together.
    """
    found = _QUEUED.stream(connection, {"host": host, "most": most, "after": after})
    while some := list(islice(found, at_once)):
        urls_there = url_tails.urls_of([tail for _row, tail in some], host)
        yield [(row, url) for (row, _tail), url in zip(some, urls_there, strict=True)]
