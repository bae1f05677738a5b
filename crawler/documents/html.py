"""HTML: the links of a page, the base they are relative to, its title and canonical link."""

import codecs
import re
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from canon import establish_base, resolve, whatwg
from canon.errors import InvalidURL
from crawler.documents.directives import content_forbids_following

_CHARSET = re.compile(
    rb"""<meta[^>]{0,512}?charset\s*=\s*["']?\s*([A-Za-z0-9_:.\-]+)""", re.IGNORECASE
)
_HEADER_CHARSET = re.compile(r"""charset\s*=\s*["']?([^\s"';]+)""", re.IGNORECASE)
_PRESCAN = 1024  # bytes in which a <meta charset> counts (HTML Standard section 13.2.3.2)
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_LINKS = "a[href], area[href], iframe[src], frame[src], link[rel][href], base[href], meta[content]"
# Relations of <link> that lead to other documents of the site (HTML Standard section 4.6.7).
_FOLLOWED = frozenset({"next", "prev", "alternate"})
# The value of <meta http-equiv=refresh> (HTML Standard section 4.2.5.3).
_REFRESH = re.compile(
    r"""\s*+(?:[0-9]++|[0-9]*+\.)[0-9.]*+\s*+[;,\s]\s*+(?:url\s*+=\s*+)?("[^"]*+|'[^']*+|[^\s].*+)""",
    re.IGNORECASE | re.DOTALL,
)
_MAX_TITLE = 1000
_BEGINNING = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*"
    rb"<(?:!doctype html|html|head|body|title|meta|a|p|div)\b",
    re.IGNORECASE | re.DOTALL,
)
# Labels that stand for a wider encoding on the web (Encoding Standard section 4.2).
_WIDER = {
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "latin1": "cp1252",
    "ascii": "cp1252",
    "us-ascii": "cp1252",
}


class Document(NamedTuple):
    """What a page says of other URLs: references as written, and what they are relative to."""

    base: str
    links: tuple[str, ...]  # as written, in document order, each spelling once
    unfollowed: tuple[str, ...]  # those that the page asks not to follow, everywhere they stand
    canonical: str | None  # of <link rel=canonical>, resolved
    title: str | None


def is_html(content_type: str | None, body: bytes) -> bool:
    """Say whether an answer is to be read as HTML; one without a type when it begins like it."""
    if content_type is None:
        return body.lstrip()[:1] == b"<"
    return content_type.partition(";")[0].strip().lower() in {"text/html", "application/xhtml+xml"}


def looks_like(body: bytes) -> bool:
    """Say whether a file of unknown type begins as HTML does (MIME Sniffing section 7.1)."""
    return _BEGINNING.match(body) is not None


def absolute_links(body: bytes, base: str | None) -> tuple[list[str], int]:
    """Return a page's links as browsers resolve them, and how many stay relative without a base."""
    document = read(body, None, base or "")
    written = (*document.links, *document.unfollowed)
    links = [(link, _resolved(link, document.base)) for link in written]
    return [url for _link, url in links if url], sum(url is None for _link, url in links)


def read(body: bytes, content_type: str | None, url: str, own_name: str = "") -> Document:
    """Read a page.

    Args:
        body: the decoded body, however broken.
        content_type: the header, as sent.
        url: the URL that answered: the base where the page names none (RFC 3986 section 5.1.3).
        own_name: of the crawler, which a ``<meta>`` may speak to instead of to all "robots".
    """
    tree = LexborHTMLParser(decode(body, content_type))
    base = url
    based = False
    links: dict[str, bool] = {}  # whether it is asked not to be followed
    nofollow = False
    canonical: str | None = None
    for node in tree.css(_LINKS):
        attributes = node.attributes
        tag = node.tag
        reference = attributes.get("src" if tag in {"iframe", "frame"} else "href") or ""
        if tag == "base":
            if not based:  # the first one counts (HTML Standard section 4.2.3)
                based = True
                base = _base(reference, url)
        elif tag == "meta":
            content = attributes.get("content") or ""
            name = (attributes.get("name") or "").strip().lower()
            if name and name in {"robots", own_name.lower()}:
                nofollow |= content_forbids_following(content)
            elif (refresh := _refresh(attributes.get("http-equiv") or "", content)) is not None:
                links[refresh] = False
        else:
            relations = (attributes.get("rel") or "").lower().split()
            if tag != "link" or not _FOLLOWED.isdisjoint(relations):
                links[reference] = links.get(reference, True) and "nofollow" in relations
            elif canonical is None and "canonical" in relations:
                canonical = reference or None
    followed = tuple(link for link, forbidden in links.items() if not (forbidden or nofollow))
    unfollowed = tuple(link for link, forbidden in links.items() if forbidden or nofollow)
    return Document(base, followed, unfollowed, _resolved(canonical, base), _title(tree))


def _refresh(name: str, content: str) -> str | None:
    """Return where a ``<meta http-equiv=refresh>`` leads, as written."""
    if name.strip().lower() != "refresh" or (found := _REFRESH.match(content)) is None:
        return None
    return found[1].lstrip("\"'").rstrip()


def _base(reference: str, url: str) -> str:
    """Return the base that a ``<base href>`` sets; ``data:`` and ``javascript:`` set none."""
    base = establish_base(embedded=reference, retrieval=url or None) or url
    return url if base.startswith(("data:", "javascript:")) else base


def _resolved(reference: str | None, base: str) -> str | None:
    """Return a reference's target as browsers read it, or None."""
    if reference is None:
        return None
    try:
        return resolve(reference, base, dialect="whatwg") if base else whatwg.serialize(reference)
    except InvalidURL:
        return None


def _title(tree: LexborHTMLParser) -> str | None:
    """Return the title with its white space folded."""
    node = tree.css_first("title")
    text = " ".join(node.text().split()) if node is not None else ""
    return text[:_MAX_TITLE] or None


def decode(body: bytes, content_type: str | None) -> str:
    """Decode a page: by its byte order mark, its header, its <meta>, as UTF-8, as windows-1252.

    Source: HTML Standard section 13.2.3.
    """
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(encoding, "replace")
    header = _HEADER_CHARSET.search(content_type or "")
    meta = _CHARSET.search(body[:_PRESCAN])
    named = header[1] if header else meta[1].decode("ascii") if meta else None
    if named is not None:
        try:
            name = codecs.lookup(named).name
            return body.decode(_WIDER.get(name, name), "replace")
        except (LookupError, ValueError):
            pass  # a name of no text encoding counts as none
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body.decode("cp1252", "replace")
