"""HTML: which responses are pages, and what a page says about other URLs."""

import re
from collections.abc import Callable

from canonry.canon.syntax import compile_pattern
from canonry.crawler.documents.document import Document, absolute
from canonry.crawler.documents.elements import EMBEDDING, LINKING, Elements
from canonry.crawler.documents.encodings import decode, encoded_in_utf8
from canonry.crawler.documents.tags import VERSION, in_attribute, read_tags, title_of

_read_compiled: Callable[..., None] | None = None
try:
    from canonry.crawler.documents import _tags
except ImportError:  # Canonry was installed without a C compiler: the same links, but slower
    pass
else:
    # A kernel compiled from another version of the source is ignored.
    _read_compiled = _tags.read_tags if _tags.VERSION == VERSION else None

_HTML_START = compile_pattern(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<!--(?>.*?-->)\s*+)*+"
    rb"<(?:!doctype html|html|head|body|title|meta|a|p|div)\b",
    re.IGNORECASE | re.DOTALL,
)


def is_html(content_type: str | None, body: bytes) -> bool:
    """Return True if the content type is HTML, or is missing and the body begins with a tag."""
    if content_type is None:
        return body.lstrip()[:1] == b"<"
    return content_type.partition(";")[0].strip().lower() == "text/html"


def looks_like_html(body: bytes) -> bool:
    """Return True if a file of unknown type begins like HTML (MIME Sniffing section 7.1)."""
    return _HTML_START.match(body) is not None


def absolute_links(body: bytes, base: str | None) -> tuple[list[str], int]:
    """Return a page's links, resolved as browsers do, and the number that cannot be resolved."""
    document = read(body, None, base or "")
    written = (*document.links, *document.unfollowed)
    links = [absolute(link, document.base) for link in written]
    return [url for url in links if url], links.count(None)


def read(
    body: bytes,
    content_type: str | None,
    url: str,
    own_name: str = "",
    *,
    embeds: bool = False,
    xml: bool = False,
) -> Document:
    """Read a page.

    Args:
        body: the decoded body, however broken.
        content_type: the ``Content-Type`` header, as sent.
        url: the URL of the response; the base if the page sets none (RFC 3986 section 5.1.3).
        own_name: the crawler's name, which a ``<meta>`` may address instead of "robots".
        embeds: True if images, media, style sheets and scripts count as links.
        xml: True if it is meant as XHTML: a tag that ends with "/>" is empty.
    """
    page = Elements(url, own_name, embeds=embeds)
    if _read_compiled is None:
        text, encoding = decode(body, content_type)
        read_tags(text, page, EMBEDDING if embeds else LINKING, xml=xml)
        return page.document(encoding)
    markup, encoding = encoded_in_utf8(body, content_type)
    add_title = _adding_title(page)
    _read_compiled(markup, embeds, xml, page.add_link, add_title, page.add, in_attribute)
    return page.document(encoding)


def _adding_title(page: Elements) -> Callable[[str], None]:
    """Return a function that takes the text of a title as it is written."""
    return lambda text: page.add_title(title_of(text))
