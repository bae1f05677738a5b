"""XML that lists URLs: sitemaps (sitemaps.org), Atom (RFC 4287) and RSS. No entity is expanded."""

import re
from typing import NamedTuple
from xml.parsers import expat

from canonry.crawler.documents.document import Document, absolute
from canonry.crawler.documents.encodings import decode

_HEAD = 4096  # the root element must appear within so many bytes
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.\-]*:)?(?:urlset|sitemapindex|feed|rss|RDF)[\s>/:]")
_TYPE = re.compile(r"(?:text|application)/(?:[\w.\-]+\+)?xml")
_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.\-]*)""")
_XML_BASE = "http://www.w3.org/XML/1998/namespace base"
# Relations of Atom links that lead to other documents (RFC 4287 section 4.2.7.2, RFC 5005).
_FOLLOWED = frozenset({"alternate", "next", "previous", "prev", "first", "last"})
_LOC_PARENTS = frozenset({"url", "sitemap"})


class ListedURL(NamedTuple):
    """A reference, and what it is relative to."""

    reference: str
    base: str


class FeedReader:
    """Reads a sitemap or feed piece by piece."""

    def __init__(self, url: str = "", encoding: str | None = None) -> None:
        """Prepare to read.

        Args:
            url: the document's URL; ``xml:base`` is relative to it.
            encoding: the encoding of the bytes; None means that the document declares it.
        """
        self._bases = [url]
        self._path: list[str] = []
        self._text: list[str] = []
        self._found: list[ListedURL] = []
        self._parser = parser = expat.ParserCreate(encoding, " ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.EntityDeclHandler = self._text.append, self._entity

    def feed(self, part: bytes, *, last: bool = False) -> list[ListedURL]:
        """Read a piece and return the URLs found in it; after an error, `take` has the rest.

        Raises:
            OSError: if it is not XML, or declares entities.
        """
        try:
            self._parser.Parse(part, last)
        except expat.ExpatError as error:
            raise OSError(str(error)) from None
        return self.take()

    def take(self) -> list[ListedURL]:
        """Return the URLs found since the last call."""
        found, self._found = self._found, []
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        base = self._bases[-1]
        if _XML_BASE in attributes:
            base = _resolved(attributes[_XML_BASE], base)
        self._path.append(name)
        self._bases.append(base)
        reference = attributes.get("href")
        if name.rpartition(" ")[2] == "link" and reference is not None:
            if not _FOLLOWED.isdisjoint(attributes.get("rel", "alternate").lower().split()):
                self._found.append(ListedURL(reference.strip(), base))
            self._text.append("\0")  # mark it: an RSS <link> has its URL as text, this one has not

    def _end(self, name: str) -> None:
        self._path.pop()
        base = self._bases.pop()
        text = "".join(self._text).strip()
        self._text.clear()
        around, _, own = name.rpartition(" ")
        parent_around, _, parent = self._path[-1].rpartition(" ") if self._path else ("", "", "")
        is_loc = own == "loc" and parent in _LOC_PARENTS and around == parent_around
        if is_loc or (
            own == "link" and parent in {"item", "channel"} and text and "\0" not in text
        ):
            self._found.append(ListedURL(text, base))

    @staticmethod
    def _entity(*_declared: object) -> None:
        raise OSError("the document declares entities, which a list of URLs does not need")


def is_feed(content_type: str | None, body: bytes) -> bool:
    """Return True if the content type and the root element are those of a sitemap or feed."""
    kind = (content_type or "text/xml").partition(";")[0].strip().lower()
    return _TYPE.fullmatch(kind) is not None and _ROOT.search(body[:_HEAD]) is not None


def read(body: bytes, content_type: str | None, url: str) -> Document:
    """Read a sitemap or feed; a broken one up to the first error.

    Args:
        body: the decoded body.
        content_type: the ``Content-Type`` header, as sent.
        url: the URL of the response.
    """
    declared = _ENCODING.match(body.removeprefix(b"\xef\xbb\xbf"))
    named = content_type or ""
    if declared and "charset" not in named.lower():
        named = f"{named};charset={declared[1].decode('ascii')}"
    reader = FeedReader(url, "utf-8")
    try:
        listed = reader.feed(decode(body, named).text.encode(), last=True)
    except OSError:
        listed = reader.take()
    links = dict.fromkeys(_resolved(one.reference, one.base) for one in listed)
    return Document(url, tuple(links), (), None, None)


def _resolved(reference: str, base: str) -> str:
    """Resolve a reference; one that is not a URL stays as written, so that it can be reported."""
    return (absolute(reference, base) if base else None) or reference
