"""Pages in XML: XHTML, and other XML with links in the namespaces of XHTML or SVG."""

import re
from xml.parsers import expat

from canonry.crawler.documents import html
from canonry.crawler.documents.document import Document
from canonry.crawler.documents.feeds import UNKNOWN, decode_xml, is_xml_type, without_entities
from canonry.crawler.documents.html import Elements

_XHTML = "http://www.w3.org/1999/xhtml"
_SVG = "http://www.w3.org/2000/svg"
_XLINK = "http://www.w3.org/1999/xlink href"
_HREF = re.compile(r"""(?:^|\s)href\s*=\s*["']([^"']*)["']""")
# A tag or text of a million characters; expat would block other threads for a long time.
_TOO_LONG = re.compile(r"<[^<]{1000000}")


def is_xml(content_type: str | None, body: bytes) -> bool:
    """Return True if a response is XML by its type, or by its first bytes if it has no type."""
    if content_type is None:
        return body.removeprefix(b"\xef\xbb\xbf").startswith(b"<?xml")
    return is_xml_type(content_type)


def read(
    body: bytes, content_type: str | None, url: str, own_name: str = "", *, embeds: bool = False
) -> Document:
    """Read a document; one that is not well-formed is read as HTML.

    The arguments are those of `canonry.crawler.documents.html.read`.
    """
    text, encoding = decode_xml(body, content_type)
    page = Elements(url, own_name, embeds=embeds)
    try:
        text = without_entities(text)
        if UNKNOWN not in text and _TOO_LONG.search(text) is None:
            _Reader(page).read(text.lstrip("\ufeff \t\r\n"))
            return page.document(encoding)
    except (OSError, expat.ExpatError, _NoNamespaceError):
        pass
    return html.read(body, content_type, url, own_name, embeds=embeds, xml=True)


class _NoNamespaceError(Exception):
    """The root element is ``html`` in no namespace, so the page is read as HTML."""


class _Reader:
    """Passes the elements of an XML document to a page."""

    def __init__(self, page: Elements) -> None:
        self._page = page
        self._title: list[str] | None = None
        self._rooted = False
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.ProcessingInstructionHandler = self._instruction

    def read(self, text: str) -> None:
        """Read the whole document.

        Raises:
            expat.ExpatError: if it is not well-formed.
        """
        try:
            self._parser.Parse(text.encode("utf-8", "replace"), True)  # noqa: FBT003 - positional only
        finally:
            del self._parser  # breaks a reference cycle with this object, and frees its buffers

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._rooted and name == "html":
            raise _NoNamespaceError
        self._rooted = True
        namespace, _, local_name = name.rpartition(" ")
        if namespace == _XHTML:
            if local_name == "title":
                self._title = []
                self._parser.CharacterDataHandler = self._title.append
            else:
                self._page.add(local_name, attributes)
        elif namespace == _SVG and local_name == "a":
            reference = attributes.get("href", attributes.get(_XLINK))
            if reference is not None:
                self._page.add_link(reference)

    def _end(self, name: str) -> None:
        if self._title is not None and name == f"{_XHTML} title":
            self._page.add_title("".join(self._title))
            self._title = self._parser.CharacterDataHandler = None

    def _instruction(self, target: str, data: str) -> None:
        """Collect the style sheet that a processing instruction names."""
        found = _HREF.search(data) if target == "xml-stylesheet" else None
        if found is not None:
            self._page.add("link", {"rel": "stylesheet", "href": found[1]})
