"""Reading an answer of any kind: HTML, sitemaps and feeds, parts of parts, plain text."""

import io
from collections.abc import Mapping

from canonry.canon import establish_base, extract
from canonry.crawler.compression import unpacked
from canonry.crawler.documents import feeds, html, mime
from canonry.crawler.documents.encodings import decode
from canonry.crawler.documents.html import Document

_GZIP = b"\x1f\x8b\x08"


def read(
    body: bytes,
    headers: Mapping[str, str],
    url: str,
    *,
    own_name: str = "",
    embeds: bool = False,
    longest: int = 1 << 30,
) -> Document | None:
    """Return what an answer says of other URLs; None for what says nothing.

    Args:
        body: decoded from its content-encoding.
        headers: of the answer.
        url: that answered.
        own_name: of the crawler, which a ``<meta>`` may speak to.
        embeds: whether what pages embed counts as links: images, media, style sheets, scripts.
        longest: bytes that are unpacked of a packed body.
    """
    kind = headers.get("Content-Type")
    if mime.is_one(kind):
        return _of_parts(body, kind or "", url, own_name, embeds=embeds)
    return _plain(body, kind, url, url, own_name, embeds=embeds, longest=longest)


def _plain(
    body: bytes,
    kind: str | None,
    url: str,
    base: str,
    own_name: str,
    *,
    embeds: bool,
    longest: int,
) -> Document | None:
    """Read what has no parts."""
    if html.is_html(kind, body) and not (kind is None and feeds.is_one(kind, body)):
        return html.read(body, kind, base, own_name, embeds=embeds)
    if body.startswith(_GZIP):  # as sitemaps are served
        kind, body = None, _unpacked(body, longest)
    if feeds.is_one(kind, body):
        return feeds.read(body, kind, base)
    if (kind or "").partition(";")[0].strip().lower() == "text/plain":
        text, encoding = decode(body, kind)
        found = dict.fromkeys(one.url for one in extract(text))
        return Document(url, tuple(found), (), None, None, encoding)
    return None


def _of_parts(body: bytes, kind: str, url: str, own_name: str, *, embeds: bool) -> Document:
    """Read a document of parts; references come resolved, each against its own part's base.

    A part's base is, innermost first: its own ``<base>``, its Content-Base and Content-Location,
    those of the parts around it, the URL that answered (RFC 3986 section 5.1, RFC 2557 section 5).
    """
    links: dict[str, None] = {}
    unfollowed: dict[str, None] = {}
    title = charset = None
    for part in mime.parts(body, kind):
        base = establish_base(encapsulating=part.bases, retrieval=url) or url
        found = _plain(
            part.body, part.content_type, base, base, own_name, embeds=embeds, longest=len(body)
        )
        if found is None:
            continue
        for kept, of_part in ((links, found.links), (unfollowed, found.unfollowed)):
            kept.update((html.resolved(link, found.base) or link, None) for link in of_part)
        title, charset = title or found.title, charset or found.charset
    return Document(url, tuple(links), tuple(unfollowed), None, title, charset)


def _unpacked(body: bytes, longest: int) -> bytes:
    """Return what a gzip file holds, up to a length."""
    stream = unpacked(io.BufferedReader(io.BytesIO(body)))
    return stream.head(longest)[:longest]
