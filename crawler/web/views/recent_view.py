"""The last pages that were fetched."""

import msgspec
from sqlalchemy import Connection, func, select

from canonry.canon import redact
from canonry.crawler.web.panel import Asked
from canonry.storage.records import UNREAD
from canonry.storage.sql.schema import pages, urls
from canonry.storage.timestamps import iso

_SHOWN = 30
_LONGEST_TITLE = 300  # characters


class RecentPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that was fetched, or found unchanged."""

    url: str
    status: int
    fetched_at: str  # RFC 3339
    seconds: float  # from the request to the end of the body
    size: int | None  # bytes of the decoded body; null: it was not read
    content_type: str | None
    title: str | None  # its first 300 characters
    depth: int  # links from a seed


class RecentPages(msgspec.Struct, frozen=True, kw_only=True):
    """The last pages, the latest first."""

    pages: list[RecentPage]


def view(connection: Connection, _asked: Asked) -> RecentPages:
    """Return the last pages."""
    newest = pages.c.fetched_at.desc(), pages.c.url_id.desc()
    latest = select(pages.c.url_id).order_by(*newest).limit(_SHOWN).subquery()
    query = (
        select(
            *(urls.c.url, pages.c.status, pages.c.fetched_at, pages.c.elapsed, pages.c.size),
            *(pages.c.links, pages.c.content_type, urls.c.depth),
            func.substr(pages.c.title, 1, _LONGEST_TITLE).label("title"),
        )
        .select_from(latest)
        .join(pages, pages.c.url_id == latest.c.url_id)
        .join(urls, urls.c.id == latest.c.url_id)
        .order_by(*newest)
    )
    return RecentPages(
        pages=[
            RecentPage(
                url=redact(row.url),
                status=row.status,
                fetched_at=iso(row.fetched_at) or "",
                seconds=round(row.elapsed, 3),
                size=None if row.links == UNREAD else row.size,
                content_type=row.content_type,
                title=row.title,
                depth=row.depth,
            )
            for row in connection.execute(query)
        ],
    )
