"""XML that lists URLs: sitemaps (sitemaps.org), Atom (RFC 4287) and RSS; and its entities."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from html.entities import html5
from typing import NamedTuple
from xml.parsers import expat

from canonry.canon.syntax import compile_pattern
from canonry.crawler.documents.document import Document, absolute
from canonry.crawler.documents.encodings import DecodedText, decode
from canonry.crawler.media_types import media_type

_DAY = re.compile(r"([0-9]{4})(-[0-9]{2})?(-[0-9]{2})?")
_LONGEST = 64  # characters


def seconds_of(text: str) -> float | None:
    """Return a date as seconds since 1970, UTC; None if it is none.

    A date without a time zone is in UTC, one without a time is the beginning of its day.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        if (found := _DAY.fullmatch(text)) is not None:
            year, month, day = found[1], found[2] or "-01", found[3] or "-01"
            moment = datetime.fromisoformat(f"{year}{month}{day}")
        elif text[0].isdigit() and text[4:5] == "-":
            moment = datetime.fromisoformat(text)
        else:
            moment = parsedate_to_datetime(text)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()
    except (ValueError, OverflowError):
        return None


_HEAD = 4096  # the root element must appear within this many bytes
_ROOT = re.compile(rb"<(?:[A-Za-z_][\w.\-]*:)?(?:urlset|sitemapindex|feed|rss|RDF)[\s>/:]")
_TYPE = re.compile(r"(?:text|application)/(?:[\w.\-]+\+)?xml")
_ENCODING = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z][\w.\-]*)""")
_XML_BASE = "http://www.w3.org/XML/1998/namespace base"
# Relations of Atom links that lead to other documents (RFC 4287 section 4.2.7.2, RFC 5005).
_FOLLOWED = frozenset({"alternate", "next", "previous", "prev", "first", "last"})
_MAX_ENTITY = 1000  # characters
_MAX_ENTITIES = 1000
_LOC_PARENTS = frozenset({"url", "sitemap"})
# Elements that tell when their URL has changed, by the entry that they stand in.
_DATES = {"url": "lastmod", "sitemap": "lastmod", "entry": "updated", "item": "pubDate"}
_SITEMAPS = frozenset({"urlset", "sitemapindex"})
_LISTS = frozenset({"urlset", "sitemapindex", "feed", "channel", "RDF"})
UNKNOWN = "\ufdd0"  # replaces the "&" of an unknown entity; no text contains it
_PREDEFINED = frozenset({"amp", "apos", "gt", "lt", "quot"})
# XML 1.0, productions 22 and 28: what may come before the root element.
_PROLOG = compile_pattern(
    r"(?:\s|<\?(?:[^?]|\?(?!>))*+\?>|<!--(?:[^-]|-(?!->))*+-->)*+"
    r"""(<!DOCTYPE(?:[^\["'>]|"[^"]*+"|'[^']*+')*+"""
    r"""(?:\[((?:[^\]"'<]|"[^"]*+"|'[^']*+'|<!--(?:[^-]|-(?!->))*+(?:-->|\Z)|<)*+)\]\s*+)?>)"""
)
# A declaration whose value has no markup and refers to no other entity.
_DECLARED = compile_pattern(
    r"""<!ENTITY\s++([A-Za-z_][\w.\-]*+)\s++(?:"((?:[^"&%<]|&\#\w++;)*+)"|'((?:[^'&%<]|&\#\w++;)*+)')"""
)
_REFERENCE = compile_pattern(
    r"<!\[CDATA\[(?:[^\]]|\](?!\]>))*+(?:\]\]>|\Z)|<!--(?:[^-]|-(?!->))*+|&([A-Za-z_][\w.\-]*+);"
)
_MAX_VALUE = 1000
_GROWTH = 1_000_000  # characters, beyond the length of the text


class ListedURL(NamedTuple):
    """A reference, and the base URL to resolve it against."""

    reference: str
    base: str
    changed_at: float | None = None  # as the entry says; seconds since 1970

    @property
    def is_whole(self) -> bool:
        """Return True if the reference has no unknown entity."""
        return UNKNOWN not in self.reference


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
        self._entry = 0  # how many were found before the current entry
        self._date: float | None = None  # of the current entry
        self.is_sitemap = False  # or an index of sitemaps; known once the root was read
        self._parser = parser = expat.ParserCreate(encoding, " ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler, parser.EntityDeclHandler = self._text.append, self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.ExternalEntityRefHandler = self._external
        parser.DefaultHandler = _ignored  # with it, expat expands no entity in text
        # With a foreign DTD, an undeclared entity is skipped instead of being an error.
        parser.UseForeignDTD(True)  # noqa: FBT003 - expat's
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_UNLESS_STANDALONE)
        self._entities: dict[str, str] = {}

    def feed(self, part: bytes, *, last: bool = False) -> list[ListedURL]:
        """Read a piece and return the URLs found in it; after an error, `take` has the rest.

        Raises:
            OSError: if it is not XML, or declares entities.
        """
        try:
            self._parser.Parse(part, last)
        except expat.ExpatError as error:
            raise OSError(str(error)) from None
        finally:
            if last:
                del self._parser  # breaks a reference cycle with this object
        return self.take()

    def take(self) -> list[ListedURL]:
        """Return the URLs found since the last call."""
        found, self._found, self._entry = self._found, [], 0
        return found

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._text.clear()
        self.is_sitemap |= not self._path and name.rpartition(" ")[2] in _SITEMAPS
        if name.rpartition(" ")[2] in _DATES and self._is_in_list():
            self._entry, self._date = len(self._found), None
        base = self._bases[-1]
        if _XML_BASE in attributes:
            base = _resolved(attributes[_XML_BASE], base)
        self._path.append(name)
        self._bases.append(base)
        reference = attributes.get("href")
        if name.rpartition(" ")[2] == "link" and reference is not None:
            if not _FOLLOWED.isdisjoint(attributes.get("rel", "alternate").lower().split()):
                self._found.append(ListedURL(reference.strip(), base))
            self._text.append("\0")  # mark it: its text is not a URL, as it is in RSS

    def _is_in_list(self) -> bool:
        """Return True if the current element is that of a list, whose elements are entries."""
        return bool(self._path) and self._path[-1].rpartition(" ")[2] in _LISTS

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
        elif _DATES.get(parent) == own:
            self._date = seconds_of(text)
        elif own in _DATES and parent in _LISTS and self._date is not None:
            in_entry = self._found[self._entry :]
            self._found[self._entry :] = [u._replace(changed_at=self._date) for u in in_entry]

    def _entity(self, name: str, _parameter: bool, value: str | None, *_: object) -> None:  # noqa: FBT001 - expat's
        """Store an entity declaration, or fail if it is long or refers to other entities."""
        if value is None:
            return
        if len(value) > _MAX_ENTITY or "&" in value or len(self._entities) >= _MAX_ENTITIES:
            raise OSError("the document declares entities that a list of URLs does not need")
        self._entities[name] = value

    def _skipped(self, name: str, _parameter: bool) -> None:  # noqa: FBT001 - expat's
        """Replace a reference to an entity of the document or HTML; mark an unknown one."""
        value = self._entities.get(name, html5.get(f"{name};"))
        self._text.append(f"{UNKNOWN}{name};" if value is None else value)

    def _external(self, name: str | None, *_: object) -> int:
        """Skip a reference to an external entity or DTD, neither of which is ever read."""
        if name is None:
            self._parser.ExternalEntityParserCreate(None).Parse(b"", True)  # noqa: FBT003 - expat's
        else:
            self._text.append(f"{UNKNOWN}{name};")
        return 1


def _ignored(_markup: str) -> None:
    """Ignore markup that no other handler takes."""


def is_xml_type(content_type: str) -> bool:
    """Return True for the content types of XML (MIME Sniffing section 4.6)."""
    return _TYPE.fullmatch(media_type(content_type)) is not None


def is_feed(content_type: str | None, body: bytes) -> bool:
    """Return True if the content type and the root element are those of a sitemap or feed."""
    return is_xml_type(content_type or "text/xml") and _ROOT.search(body[:_HEAD]) is not None


def decode_xml(body: bytes, content_type: str | None) -> DecodedText:
    """Decode an XML document by its byte order mark, header or declaration."""
    declared = _ENCODING.match(body.removeprefix(b"\xef\xbb\xbf"))
    named = content_type or ""
    if declared and "charset" not in named.lower():
        named = f"{named};charset={declared[1].decode('ascii')}"
    return decode(body, named)


def read(body: bytes, content_type: str | None, url: str) -> Document:
    """Read a sitemap or feed; a broken one is read up to its first error.

    Args:
        body: the decoded body.
        content_type: the ``Content-Type`` header, as sent.
        url: the URL of the response.
    """
    reader = FeedReader(url, "utf-8")
    try:
        text = without_entities(decode_xml(body, content_type).text)
        listed = reader.feed(text.encode("utf-8", "replace"), last=True)
    except OSError:
        listed = reader.take()
    links: dict[str, float | None] = {}  # with their dates
    for one in listed:
        if one.is_whole:
            link = _resolved(one.reference, one.base)
            links[link] = links.get(link) if one.changed_at is None else one.changed_at
    unreadable = tuple(one.reference.replace(UNKNOWN, "&") for one in listed if not one.is_whole)
    dates = {link: at for link, at in links.items() if at is not None}
    return Document(
        *(url, tuple(links), (), None, None),
        unreadable=unreadable,
        dates=dates,
        is_sitemap=reader.is_sitemap,
    )


def _resolved(reference: str, base: str) -> str:
    """Resolve a reference; one that is not a URL stays as written, so that it can be reported."""
    return (absolute(reference, base) if base else None) or reference


def without_entities(text: str) -> str:
    """Return an XML document without its DTD, and with its entities replaced.

    Entities of HTML and those that the document declares are replaced. In others, `UNKNOWN`
    replaces the "&"; external entities and those that refer to others are unknown, too.

    Raises:
        OSError: if the entities expand to far more text than the document has.
    """
    declared: dict[str, str] = {}
    if (found := _PROLOG.match(text)) is not None:
        for name, double, single in _DECLARED.findall(found[2] or ""):
            value = double or single
            if len(value) <= _MAX_VALUE:
                declared.setdefault(name, value)
        text = text[: found.start(1)] + text[found.end(1) :]
    if "&" not in text:
        return text
    left = len(text) + _GROWTH

    def replaced(reference: re.Match[str]) -> str:
        nonlocal left
        name = reference[1]
        if name is None or name in _PREDEFINED:
            return reference[0]
        value = declared.get(name)
        if value is None:
            known = html5.get(f"{name};")
            if known is None:
                return f"{UNKNOWN}{name};"
            value = "".join(f"&#{ord(character)};" for character in known)
        left -= len(value)
        if left < 0:
            raise OSError("the document's entities stand for too much text")
        return value

    return _REFERENCE.sub(replaced, text)
