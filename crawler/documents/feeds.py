"""XML that lists URLs: sitemaps (sitemaps.org), Atom (RFC 4287) and RSS; no entity is expanded."""

import re
from typing import NamedTuple
from xml.parsers import expat

from canonry.crawler.documents import html
from canonry.crawler.documents.encodings import decode

_HEAD = 4096  # bytes in which the root has to stand
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.\-]*:)?(?:urlset|sitemapindex|feed|rss|RDF)[\s>/:]")
_TYPE = re.compile(r"(?:text|application)/(?:[\w.\-]+\+)?xml")
_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.\-]*)""")
_XML_BASE = "http://www.w3.org/XML/1998/namespace base"
# Relations of Atom's links that lead to other documents (RFC 4287 section 4.2.7.2, RFC 5005).
_FOLLOWED = frozenset({"alternate", "next", "previous", "prev", "first", "last"})
_LISTS = frozenset({"url", "sitemap"})


class Listed(NamedTuple):
    """A reference, and what it is relative to."""

    reference: str
    base: str


class Reader:
    """Reads a document piece by piece."""

    def __init__(self, url: str = "", encoding: str | None = None) -> None:
        """Begin.

        Args:
            url: of the document; ``xml:base`` is relative to it.
            encoding: of what is fed; None leaves it to the document.
        """
        self._bases = [url]
        self._path: list[str] = []
        self._text: list[str] = []
        self._found: list[Listed] = []
        self._parser = parser = expat.ParserCreate(encoding, " ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.EntityDeclHandler = self._text.append, self._entity

    def feed(self, part: bytes, *, last: bool = False) -> list[Listed]:
        """Read a piece, and return what was found; a fault leaves what was found before it.

        Raises:
            OSError: where it is no XML, or declares entities.
        """
        try:
            self._parser.Parse(part, last)
        except expat.ExpatError as error:
            raise OSError(str(error)) from None
        return self.take()

    def take(self) -> list[Listed]:
        """Return what was found and is not returned yet."""
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
                self._found.append(Listed(reference.strip(), base))
            self._text.append("\0")  # RSS's own has text, and this is none

    def _end(self, name: str) -> None:
        self._path.pop()
        base = self._bases.pop()
        text = "".join(self._text).strip()
        self._text.clear()
        around, _, own = name.rpartition(" ")
        parent_around, _, parent = self._path[-1].rpartition(" ") if self._path else ("", "", "")
        is_loc = own == "loc" and parent in _LISTS and around == parent_around
        if is_loc or (
            own == "link" and parent in {"item", "channel"} and text and "\0" not in text
        ):
            self._found.append(Listed(text, base))

    @staticmethod
    def _entity(*_declared: object) -> None:
        raise OSError("it declares entities, which no list of URLs needs")


def is_one(content_type: str | None, body: bytes) -> bool:
    """Say whether an answer is to be read as a sitemap or feed: by its type, and by its root."""
    kind = (content_type or "text/xml").partition(";")[0].strip().lower()
    return _TYPE.fullmatch(kind) is not None and _ROOT.search(body[:_HEAD]) is not None


def read(body: bytes, content_type: str | None, url: str) -> html.Document:
    """Read a sitemap or feed; of a broken one what stands before the fault.

    Args:
        body: the decoded body.
        content_type: the header, as sent.
        url: the URL that answered.
    """
    declared = _ENCODING.match(body.removeprefix(b"\xef\xbb\xbf"))
    named = content_type or ""
    if declared and "charset" not in named.lower():
        named = f"{named};charset={declared[1].decode('ascii')}"
    reader = Reader(url, "utf-8")
    try:
        listed = reader.feed(decode(body, named).text.encode(), last=True)
    except OSError:
        listed = reader.take()
    links = dict.fromkeys(_resolved(one.reference, one.base) for one in listed)
    return html.Document(url, tuple(links), (), None, None)


def _resolved(reference: str, base: str) -> str:
    """Return a reference's target; one that is no URL stays, so that it can be told."""
    return (html.resolved(reference, base) if base else None) or reference
