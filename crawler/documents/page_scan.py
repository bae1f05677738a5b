"""The scan of a page: one pass gives its links with their attributes, and the blocks of its text.

`tokenizer` reads the page. What links is given to the caller, and `text_blocks` says what a block
is. The compiled `_page_scan` does the same.
"""

from collections.abc import Callable
from typing import Literal, Protocol

from canonry.crawler.documents.encodings import encoded_in_utf8
from canonry.crawler.documents.text_blocks import BlockWriter, Visible, plain_text_blocks
from canonry.crawler.documents.tokenizer import (
    END,
    START,
    Token,
    attributes_in,
    in_attribute,
    text_of,
    title_of,
    tokens,
)
from canonry.crawler.media_types import media_type

VERSION = 1  # as in _page_scan.c; raise both when the output changes
try:
    from canonry.crawler.documents import _page_scan
except ImportError:  # installed without a C compiler: same answers, slower
    _scan_page: Callable[..., bytes | None] | None = None
    _scan_text: Callable[[bytes], bytes] = plain_text_blocks
else:
    # A kernel compiled from another version of the source is ignored.
    _is_current = _page_scan.VERSION == VERSION
    _scan_page = _page_scan.scan_page if _is_current else None
    _scan_text = _page_scan.scan_text if _is_current else plain_text_blocks

_LINKING = frozenset(b"a area base form frame iframe link meta title".split())
# Elements that embed resources, and the attributes with their URLs (HTML Standard section 4.8).
EMBEDS = {
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "video": ("src", "poster"),
    "audio": ("src",),
    "track": ("src",),
    "embed": ("src",),
    "object": ("data",),
    "script": ("src",),
    "input": ("src",),
}
_EMBEDDING = _LINKING.union(name.encode() for name in EMBEDS)
_MAX_TITLE = 64_000  # bytes
_ANCHORS = frozenset({b"a", b"area"})
_PLAIN = {"application/json", "application/javascript", "application/x-ndjson"}
_SNIFFED = 1024  # bytes of an answer without a content type


class LinkTags(Protocol):
    """Takes the tags of a page that link. The names are in lower case."""

    def add_link(self, reference: str, /) -> None:
        """Take the ``href`` of a link without ``rel``."""

    def add_title(self, text: str, /) -> None:
        """Take the text of a title."""

    def add(self, name: str, attributes: dict[str, str], /) -> None:
        """Take any other start tag that may link."""


def scan(
    markup: bytes, page: LinkTags | None, *, xml: bool, blocks: bool, embeds: bool = False
) -> bytes | None:
    """Pass the tags of a page that link to what takes them; return the blocks of its text.

    Args:
        markup: the page in UTF-8, or in any encoding that extends ASCII.
        page: takes the tags; None if they are not needed.
        xml: True if every tag that ends with "/>" is empty, as in XHTML.
        blocks: False if the blocks are not needed; then None is returned.
        embeds: True to pass the tags that embed resources, too.
    """
    if _scan_page is None:
        return scan_plainly(markup, page, xml=xml, blocks=blocks, embeds=embeds)
    if page is None:
        return _scan_page(markup, xml, blocks, embeds)
    add_title = _adding_title(page)
    return _scan_page(markup, xml, blocks, embeds, page.add_link, add_title, page.add, in_attribute)


def scan_plainly(
    markup: bytes, page: LinkTags | None, *, xml: bool, blocks: bool, embeds: bool = False
) -> bytes | None:
    """Do what `scan` does, in Python."""
    writer, names = BlockWriter(), None
    readers: list[Callable[[Token], None]] = [Visible(writer).read] if blocks else []
    if page is not None:
        names = _EMBEDDING if embeds else _LINKING
        readers.append(_Links(page, names).read)
    for token in tokens(markup, xml=xml, names=None if blocks else names):
        for read in readers:
            read(token)
    return writer.encoded() if blocks else None


def _adding_title(page: LinkTags) -> Callable[[str], None]:
    """Return a function that adds a title to a page, given its markup."""
    return lambda text: page.add_title(title_of(text))


class _Links:
    """Passes the tags that link to a page."""

    def __init__(self, page: LinkTags, names: frozenset[bytes]) -> None:
        self._page = page
        self._names = names
        self._in_form = self._in_title = False

    def read(self, token: Token) -> None:
        """Read a token."""
        name, content, mark = token
        if not name:
            if self._in_title:
                self._page.add_title(title_of(text_of(content[:_MAX_TITLE])))
            self._in_title = False
        elif mark == END:
            self._in_form = self._in_form and name != b"form"
        elif name == b"title":
            self._in_title = mark == START
        elif name in self._names and not (name == b"form" and self._in_form):
            self._in_form = self._in_form or name == b"form"  # a form in a form is ignored
            attributes = attributes_in(content)
            if name not in _ANCHORS or ("href" in attributes and "rel" in attributes):
                self._page.add(name.decode(), attributes)
            elif "href" in attributes:
                self._page.add_link(attributes["href"])


def blocks_of(body: bytes, content_type: str | None) -> bytes | None:
    """Return the blocks of a body, encoded; None if it is not text.

    Args:
        body: the body, decoded from its content encoding.
        content_type: the ``Content-Type`` header, as sent.
    """
    form = text_format(body, content_type)
    if form is None:
        return None
    if form == "plain":
        return _scan_text(body)
    return scan(encoded_in_utf8(body, content_type)[0], None, xml=form == "xml", blocks=True)


def text_format(body: bytes, content_type: str | None) -> Literal["html", "xml", "plain"] | None:
    """Return what a body is by its type, or by its first bytes; None if it is not text."""
    kind = media_type(content_type)
    if not kind:
        if not body or b"\0" in body[:_SNIFFED]:
            return None
        if body.lstrip()[:1] != b"<":
            return "plain"
        return "xml" if body.startswith(b"<?xml") else "html"
    if kind == "text/html":
        return "html"
    if kind in {"text/xml", "application/xml"} or kind.endswith("+xml"):
        return "xml"
    return "plain" if kind.startswith("text/") or kind in _PLAIN or kind.endswith("+json") else None
