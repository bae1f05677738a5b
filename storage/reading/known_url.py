"""All that a store knows of one URL, read by keys and indexes: as fast in a store of any size."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import Connection, select

from canonry.canon import redact
from canonry.storage.http_status import GONE
from canonry.storage.reading.export_rows import PageFacts
from canonry.storage.records import UNREAD
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.schema import State, aliases, budgets, classes, hosts, jobs, pages, urls
from canonry.storage.sql.tables.figure_tables import refusals
from canonry.storage.timestamps import iso

_FARTHEST = 30  # URLs on the way from a seed
_NAMING = 5  # URLs that name one


class KnownURL(NamedTuple):
    """The row of a URL, and the state of its host; times are seconds since 1970."""

    url_id: int
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
    *(urls.c.id, urls.c.url, urls.c.raw_url, urls.c.state, urls.c.reason, urls.c.depth),
    *(urls.c.hops, urls.c.source_id, urls.c.attempts, urls.c.due, urls.c.found_at),
    *(hosts.c.name, hosts.c.pending, hosts.c.ready_at),
).join_from(urls, hosts, urls.c.host_id == hosts.c.id)


def find(connection: Connection, key: bytes) -> KnownURL | None:
    """Return the URL that has a key; None if the store has never seen that key."""
    url_id = url_ids_of_keys(connection, [key]).get(key)
    return None if url_id is None else of_id(connection, url_id)


def find_class(connection: Connection, key: bytes) -> KnownURL | None:
    """Return the URL that represents an identity under learned rules; None if none does."""
    url_id = connection.scalar(select(classes.c.url_id).where(classes.c.key == key))
    return None if url_id is None else of_id(connection, url_id)


def of_id(connection: Connection, url_id: int) -> KnownURL:
    """Return the URL with an id that exists."""
    found = connection.execute(_KNOWN.where(urls.c.id == url_id)).one()
    known = KnownURL._make(found)
    return known._replace(state=State(known.state))


def url_of(connection: Connection, url_id: int) -> str | None:
    """Return the URL with an id; None if there is none."""
    return connection.scalar(select(urls.c.url).where(urls.c.id == url_id))


def page_of(connection: Connection, url_id: int) -> PageFacts | None:
    """Return the page of a URL; None if it has none."""
    query = select(*(pages.c[name] for name in PageFacts.__struct_fields__))
    found = connection.execute(query.where(pages.c.url_id == url_id)).first()
    if found is None:
        return None
    is_read = found.links != UNREAD
    return PageFacts(
        status=found.status,
        fetched_at=iso(found.fetched_at),
        content_type=found.content_type,
        size=found.size if is_read else None,
        title=found.title,
        canonical=None if found.canonical is None else redact(found.canonical),
        links=found.links if is_read else None,
    )


def digest_of(connection: Connection, url_id: int) -> bytes | None:
    """Return the digest of a URL's page; None if it has none, or its body was not read."""
    query = select(pages.c.digest).where(
        pages.c.url_id == url_id, pages.c.links != UNREAD, pages.c.size > 0
    )
    found = connection.scalar(query)
    return None if found is None else bytes(found)


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


def naming(connection: Connection, url_id: int) -> list[tuple[str, str]]:
    """Return some URLs that lead to one, each with the kind: redirect, canonical or rule."""
    query = select(urls.c.url, aliases.c.kind).join_from(
        aliases, urls, aliases.c.from_id == urls.c.id
    )
    return [
        (url, kind)
        for url, kind in connection.execute(query.where(aliases.c.to_id == url_id).limit(_NAMING))
    ]


def links_refused(connection: Connection, reason: str) -> int:
    """Return how many links of pages were refused for a reason."""
    found = select(refusals.c.count).where(refusals.c.reason == reason)
    return connection.scalar(found) or 0


def spent(connection: Connection, key: bytes) -> int:
    """Return how many URLs were queued on a budget."""
    return connection.scalar(select(budgets.c.count).where(budgets.c.key == key)) or 0


def last_crawl(connection: Connection) -> dict[str, Any] | None:
    """Return the row of the last job that was a crawl; None if there was none."""
    query = select(jobs).where(jobs.c.command == "crawl").order_by(jobs.c.id.desc()).limit(1)
    found = connection.execute(query).mappings().first()
    return None if found is None else dict(found)
