"""Read a response by its type: HTML, XHTML, a sitemap or feed, MIME multipart, plain text."""

import asyncio
import io
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from canonry.canon import establish_base, extract
from canonry.crawler.compression import decompressed
from canonry.crawler.documents import feeds, html, mime, xml_pages
from canonry.crawler.documents.document import Document, absolute
from canonry.crawler.documents.encodings import decode
from canonry.crawler.media_types import media_type

_GZIP = b"\x1f\x8b\x08"
_P = ParamSpec("_P")
_T = TypeVar("_T")
_LARGE = 1 << 17  # bytes; the worst markup of this length takes some 50 ms
_THREAD = ThreadPoolExecutor(1, "canonry-large-bodies")  # one thread limits memory


def read_document(
    body: bytes,
    headers: Mapping[str, str],
    url: str,
    *,
    own_name: str = "",
    embeds: bool = False,
    max_unpacked: int = 1 << 30,
) -> Document | None:
    """Read the links and other references of a response; None for a type without links.

    Args:
        body: the body, decoded from its content encoding.
        headers: the response's headers.
        url: the URL of the response.
        own_name: the crawler's name, which a ``<meta>`` may address.
        embeds: True if embedded resources count as links: images, media, style sheets, scripts.
        max_unpacked: the most bytes to unpack from a gzip file.
    """
    kind = headers.get("Content-Type")
    if mime.is_multipart(kind):
        return _read_multipart(body, kind or "", url, own_name, embeds=embeds)
    return _read_single(body, kind, url, url, own_name, embeds=embeds, max_unpacked=max_unpacked)


def _read_single(
    body: bytes,
    kind: str | None,
    url: str,
    base: str,
    own_name: str,
    *,
    embeds: bool,
    max_unpacked: int,
) -> Document | None:
    """Read a body without parts."""
    if body.startswith(_GZIP) and not html.is_html(kind, body):  # as sitemaps often are
        kind, body = None, _unpacked(body, max_unpacked)
    if feeds.is_feed(kind, body):
        return feeds.read(body, kind, base)
    if xml_pages.is_xml(kind, body):
        return xml_pages.read(body, kind, base, own_name, embeds=embeds)
    if html.is_html(kind, body):
        return html.read(body, kind, base, own_name, embeds=embeds)
    if media_type(kind) == "text/plain":
        text, encoding = decode(body, kind)
        urls = dict.fromkeys(found.url for found in extract(text))
        return Document(url, tuple(urls), (), None, None, encoding)
    return None


def _read_multipart(body: bytes, kind: str, url: str, own_name: str, *, embeds: bool) -> Document:
    """Read a multipart document; each reference is resolved against the base of its part.

    A part's base is the first of: its ``<base>``, its Content-Base and Content-Location, those of
    the enclosing parts, the URL of the response (RFC 3986 section 5.1, RFC 2557 section 5).
    """
    links: dict[str, None] = {}
    unfollowed: dict[str, None] = {}
    title = charset = None
    for part in mime.body_parts(body, kind):
        base = establish_base(encapsulating=part.bases, retrieval=url) or url
        document = _read_single(
            part.body,
            part.content_type,
            base,
            base,
            own_name,
            embeds=embeds,
            max_unpacked=len(body),
        )
        if document is None:
            continue
        for merged, new in ((links, document.links), (unfollowed, document.unfollowed)):
            merged.update((absolute(link, document.base) or link, None) for link in new)
        title, charset = title or document.title, charset or document.charset
    return Document(url, tuple(links), tuple(unfollowed), None, title, charset)


def _unpacked(body: bytes, limit: int) -> bytes:
    """Unpack a gzip file, up to a number of bytes."""
    stream = decompressed(io.BufferedReader(io.BytesIO(body)))
    return stream.head(limit)[:limit]


async def reading(body: bytes, read: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    """Call a function that reads a body: directly, or in a thread if the body is large.

    Args:
        body: the body, which is among the arguments.
        read: the function; it takes linear time, and lets other threads run.
        given: its arguments.
        named: its arguments by name.
    """
    if len(body) <= _LARGE:
        return read(*given, **named)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREAD, lambda: read(*given, **named))
