"""Read a response by its type: HTML, XHTML, a sitemap or feed, MIME multipart, plain text."""

import io
from collections.abc import Mapping

from canonry.canon import establish_base, extract
from canonry.crawler.compression import decompressed
from canonry.crawler.documents import feeds, html, mime, xml_pages
from canonry.crawler.documents.document import Document, absolute
from canonry.crawler.documents.encodings import decode
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.media_types import media_type

_GZIP = b"\x1f\x8b\x08"


def read_document(
    body: bytes,
    headers: Mapping[str, str],
    url: str,
    *,
    own_name: str = "",
    embeds: bool = False,
    blocks: bool = False,
    max_unpacked: int = 1 << 30,
) -> Document | None:
    """Read the links and other references of a response; None for a type without links.

    Args:
        body: the body, decoded from its content encoding.
        headers: the response's headers.
        url: the URL of the response.
        own_name: the crawler's name, which a ``<meta>`` may address.
        embeds: True if embedded resources count as links: images, media, style sheets, scripts.
        blocks: True to read the blocks of the text of HTML, too; see `read_text`.
        max_unpacked: the most bytes to unpack from a gzip file.
    """
    kind = headers.get("Content-Type")
    if mime.is_multipart(kind):
        return _read_multipart(body, kind or "", url, own_name, embeds=embeds)
    return _read_single(body, kind, url, own_name, max_unpacked, embeds=embeds, blocks=blocks)


def read_text(body: bytes, content_type: str | None, document: Document | None) -> bytes | None:
    """Return the blocks of a body's text, encoded; None if it is not text.

    Args:
        body: the body, decoded from its content encoding.
        content_type: the ``Content-Type`` header, as sent.
        document: what was read of it; of HTML, with its blocks.
    """
    if document is not None and document.blocks is not None:
        return document.blocks
    return blocks_of(body, content_type)


def _read_single(
    body: bytes,
    kind: str | None,
    base: str,
    own_name: str,
    max_unpacked: int,
    *,
    embeds: bool,
    blocks: bool = False,
) -> Document | None:
    """Read a body without parts."""
    if body.startswith(_GZIP) and not html.is_html(kind, body):  # as sitemaps often are
        kind, body, blocks = None, _unpacked(body, max_unpacked), False
    if feeds.is_feed(kind, body):
        return feeds.read(body, kind, base)
    if xml_pages.is_xml(kind, body):
        return xml_pages.read(body, kind, base, own_name, embeds=embeds)
    if html.is_html(kind, body):
        return html.read(body, kind, base, own_name, embeds=embeds, blocks=blocks)
    if media_type(kind) == "text/plain":
        text, encoding = decode(body, kind)
        urls = dict.fromkeys(found.url for found in extract(text))
        return Document(base, tuple(urls), (), None, None, encoding)
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
            part.body, part.content_type, base, own_name, len(body), embeds=embeds
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
