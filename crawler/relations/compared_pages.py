"""The facts that a store holds of pages: those that live, and the last ones of those that went."""

from collections.abc import Collection, Iterator
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection

from canonry.storage.http_status import GONE, OK
from canonry.storage.records import Page
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State

_DIRECTORIES = 6  # of a path, that are looked at
_LIVING = f"""
SELECT pages.url_id, urls.url, title, pages.digest, size, canonical, fetched_at, urls.found_at
FROM pages JOIN urls ON urls.id = pages.url_id WHERE pages.status = {OK} AND pages.url_id
"""  # noqa: S608 - our own number
_WENT = f"""
SELECT absences.url_id, urls.url, urls.state, absences.page
FROM absences JOIN urls ON urls.id = absences.url_id
LEFT JOIN pages ON pages.url_id = absences.url_id
WHERE absences.page IS NOT NULL
    AND (pages.status IN ({", ".join(map(str, sorted(GONE)))}) OR urls.state = {State.REDIRECTED:d})
ORDER BY absences.url_id
"""  # noqa: S608 - our own numbers


class ComparedPage(NamedTuple):
    """A page with status 200, by its last good answer."""

    url_id: int
    url: str
    title: str | None
    digest: bytes
    size: int  # bytes of the decoded body
    canonical: str | None
    fetched_at: float  # seconds since 1970
    found_at: float

    @property
    def host(self) -> str:
        """The host, with its port."""
        return self.name.partition("/")[0]

    @property
    def path(self) -> str:
        """The path without its first slash, with the query."""
        return self.name.partition("/")[2]

    @property
    def name(self) -> str:
        """The URL without its scheme."""
        return self.url.partition("://")[2]

    def directories(self) -> Iterator[tuple[str, str, str]]:
        """Yield each directory of its path as what stands before it, its name, and what follows."""
        before, rest = f"{self.host}/", self.path
        for _depth in range(_DIRECTORIES):
            name, slash, rest = rest.partition("/")
            if not slash or "?" in name:
                return
            yield before, name, rest
            before += f"{name}/"


def living(connection: Connection, url_ids: Collection[int]) -> list[ComparedPage]:
    """Return the pages of URLs that answer 200, in their order."""
    found = rows_of(connection, _LIVING, sorted(url_ids))
    return sorted(ComparedPage(u, url, t, bytes(d), *rest) for u, url, t, d, *rest in found)


def went(connection: Connection) -> tuple[list[ComparedPage], int]:
    """Return the pages that recrawls have lost, as they were, and how many others redirect now."""
    pages, redirected = [], 0
    for url_id, url, state, last in connection.exec_driver_sql(_WENT):
        at, *fields = msgspec.msgpack.decode(last)
        page = Page(*fields)
        if page.status != OK:
            continue
        if state == State.REDIRECTED:
            redirected += 1
            continue
        facts = (page.title, bytes(page.digest), page.size, page.canonical, at, 0.0)
        pages.append(ComparedPage(url_id, url, *facts))
    return pages, redirected
