"""All that a store knows of one URL, read by keys and indexes: as fast in a store of any size."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, Integer, Row, case, func, select

from canonry.storage.http_status import GONE
from canonry.storage.records import UNREAD
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.schema import State, aliases, budgets, classes, hosts, jobs, pages, urls
from canonry.storage.sql.tables.figure_tables import refusals

_FARTHEST = 30  # URLs on the way from a seed
_NAMING = 5  # URLs that name one
# What is known of a page only if its body was read.
OF_BODY = {
    "size": case((pages.c.links != UNREAD, pages.c.size)).label("size"),
    "digest": case((pages.c.links != UNREAD, pages.c.digest)).label("digest"),
    "links": func.nullif(pages.c.links, UNREAD, type_=Integer).label("links"),
}
_PAGE = select(
    *(pages.c[name] for name in ("status", "fetched_at", "content_type", "title", "canonical")),
    *OF_BODY.values(),
)


class KnownURL(NamedTuple):
    """The row of a URL, and the state of its host; times are seconds since 1970."""

    id: int
    url: str
    raw_url: str | None  # as first written, if different
    state: State
    reason: str | None
    depth: int
    hops: int
    source_id: int | None
    attempts: int
    due: float  # queued: not before; else when the state was reached
    found_at: float
    host: str
    host_queued: int  # URLs of the host that are queued
    host_ready_at: float


_KNOWN = select(
    *(urls.c[name] for name in KnownURL._fields[:-3]),
    *(hosts.c.name, hosts.c.pending, hosts.c.ready_at),
).join_from(urls, hosts, urls.c.host_id == hosts.c.id)


def find(connection: Connection, key: bytes) -> KnownURL | None:
    """Return the URL that has a key; None if the store has never seen that key."""
    return _of_id(connection, url_ids_of_keys(connection, [key]).get(key))


def find_class(connection: Connection, key: bytes) -> KnownURL | None:
    """Return the URL that represents an identity under learned rules; None if none does."""
    here = select(classes.c.url_id).where(classes.c.key == key)
    return _of_id(connection, connection.scalar(here))


def _of_id(connection: Connection, url_id: int | None) -> KnownURL | None:
    if url_id is None:
        return None
    known = KnownURL._make(connection.execute(_KNOWN.where(urls.c.id == url_id)).one())
    return known._replace(state=State(known.state))


def url_of(connection: Connection, url_id: int) -> str | None:
    """Return the URL with an id; None if there is none."""
    return connection.scalar(select(urls.c.url).where(urls.c.id == url_id))


def page_of(connection: Connection, url_id: int) -> Row[Any] | None:
    """Return the page of a URL, with the columns of `_PAGE`; None if it has none."""
    return connection.execute(_PAGE.where(pages.c.url_id == url_id)).first()


def way_to(connection: Connection, known: KnownURL) -> list[str]:
    """Return the path from a URL back to its seed: the page where it was first found, and so on.

    A path longer than `_FARTHEST` is cut off before the seed.
    """
    way: list[str] = []
    source = known.source_id
    while source is not None and len(way) < _FARTHEST:
        query = select(urls.c.url, urls.c.source_id).where(urls.c.id == source)
        found = connection.execute(query).first()
        if found is None:
            break
        url, source = found
        way.append(url)
    return way


def gone_of(connection: Connection, host: str, most: int = 2_000) -> Iterator[str]:
    """Yield the latest URLs of a host that answered 404 or 410; they need `host_urls.index`."""
    query = (
        select(urls.c.url)
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .join(pages, pages.c.url_id == urls.c.id)
        .where(hosts.c.name == host, pages.c.status.in_(GONE))
        .order_by(urls.c.id.desc())
        .limit(most)
    )
    yield from connection.scalars(query)


def naming(connection: Connection, url_id: int) -> list[str]:
    """Return some URLs that lead to one: by a redirect, a canonical link or a rule."""
    query = select(urls.c.url).join_from(aliases, urls, aliases.c.from_id == urls.c.id)
    return list(connection.scalars(query.where(aliases.c.to_id == url_id).limit(_NAMING)))


def links_refused(connection: Connection, reason: str) -> int:
    """Return how many links of pages were refused for a reason."""
    return connection.scalar(select(refusals.c.count).where(refusals.c.reason == reason)) or 0


def spent(connection: Connection, key: bytes) -> int:
    """Return how many URLs were queued on a budget."""
    return connection.scalar(select(budgets.c.count).where(budgets.c.key == key)) or 0


def last_crawl(connection: Connection) -> dict[str, Any] | None:
    """Return the row of the last job that was a crawl; None if there was none."""
    query = select(jobs).where(jobs.c.command == "crawl").order_by(jobs.c.id.desc()).limit(1)
    found = connection.execute(query).mappings().first()
    return None if found is None else dict(found)
