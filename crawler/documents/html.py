"""HTML: recognize pages, and collect their links and directives."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import ClassVar

from canonry.canon import establish_base
from canonry.canon.syntax import compile_pattern
from canonry.crawler.documents.document import FOLLOWED, Document, absolute, meta_forbids_following
from canonry.crawler.documents.encodings import encode_query, encoded_in_utf8
from canonry.crawler.documents.page_scan import EMBEDS, scan
from canonry.crawler.media_types import media_type

_EMBEDDED = frozenset({"stylesheet", "icon", "preload", "modulepreload", "manifest"})
# A candidate of srcset: a URL, which may hold commas but not end in one, and its descriptors.
_CANDIDATE = compile_pattern(r"[\s,]*([^\s,]\S*)((?:\([^)]*+\)?|[^,(]++)*+)")
_FRAMES = frozenset({"iframe", "frame"})
_WITHOUT_URL = frozenset({"post", "dialog"})  # methods of forms that request no URL
# The value of <meta http-equiv=refresh> (HTML Standard section 4.2.5.3).
_REFRESH = re.compile(
    r"""\s*+(?:[0-9]++|[0-9]*+\.)[0-9.]*+\s*+[;,\s]\s*+(?:url\s*+=\s*+)?("[^"]*+|'[^']*+|[^\s].*+)""",
    re.IGNORECASE | re.DOTALL,
)
_MAX_TITLE = 1000
# The other names of <meta> elements about the use of a page (TDM Reservation Protocol).
_ABOUT_USE = frozenset({"tdm-reservation", "tdm-policy"})
_MOST_USES = 16
Attributes = Mapping[str, str]


_HTML_START = compile_pattern(
    rb"(?:\xef\xbb\xbf)?\s*+(?:<!--(?>.*?-->)\s*+)*+"
    rb"<(?:!doctype html|html|head|body|title|meta|a|p|div)\b",
    re.IGNORECASE | re.DOTALL,
)


class Elements:
    """Collects the links and directives of a page, element by element."""

    def __init__(self, url: str, own_name: str, *, embeds: bool) -> None:
        """Begin a page.

        Args:
            url: the URL of the response; the base if the page sets none (RFC 3986 section 5.1.3).
            own_name: the crawler's name, which a ``<meta>`` may address instead of "robots".
            embeds: True if images, media, style sheets and scripts count as links.
        """
        self._base = self._url = url
        self._links: dict[str, bool] = {}  # link: True if every occurrence is nofollow
        self._nofollow = False
        self._canonical: str | None = None
        self._title: str | None = None
        self._based = False
        self._names = {"robots", own_name.lower()} - {""}
        self._use: list[tuple[str, str]] = []
        self._embeds = embeds

    def add(self, name: str, attributes: Attributes) -> None:
        """Collect the links and directives of an element; others are ignored."""
        if (collect := self._collected.get(name)) is not None:
            collect(self, name, attributes)
        elif self._embeds and name in EMBEDS:
            self._embed(name, attributes)

    def add_link(self, reference: str) -> None:
        """Collect a link without ``rel``."""
        self._links[reference] = False

    def add_title(self, text: str) -> None:
        """Collect a title; the first one counts."""
        if self._title is None:
            self._title = " ".join(text.split())[:_MAX_TITLE]

    def document(self, encoding: str, blocks: bytes | None = None) -> Document:
        """Return the document; queries of its links are encoded in the page's encoding."""
        links = self._links
        if encoding != "utf-8":
            links = {encode_query(link, encoding): forbidden for link, forbidden in links.items()}
        followed = tuple(link for link, no in links.items() if not (no or self._nofollow))
        unfollowed = tuple(link for link, no in links.items() if no or self._nofollow)
        canonical = self._canonical and encode_query(self._canonical, encoding)
        named = absolute(canonical, self._base)
        return Document(
            self._base,
            followed,
            unfollowed,
            named,
            self._title or None,
            encoding,
            use=tuple(self._use[:_MOST_USES]),
            blocks=blocks,
        )

    def _anchor(self, name: str, attributes: Attributes) -> None:
        """Collect a link, area or frame."""
        reference = attributes.get("src" if name in _FRAMES else "href")
        if reference is not None:
            relations = attributes.get("rel", "").lower().split()
            forbidden = "nofollow" in relations
            self._links[reference] = self._links.get(reference, True) and forbidden

    def _set_base(self, _name: str, attributes: Attributes) -> None:
        """Set the base; only the first ``<base href>`` counts (HTML Standard section 4.2.3)."""
        if not self._based and "href" in attributes:
            self._based = True
            self._base = _base(attributes["href"], self._url)

    def _meta(self, _element: str, attributes: Attributes) -> None:
        """Collect directives for crawlers, and the target of a refresh."""
        content = attributes.get("content", "")
        name = attributes.get("name", "").strip().lower()
        if name in self._names:
            self._nofollow |= meta_forbids_following(content)
            self._use.append(("robots", content))
        elif name in _ABOUT_USE:
            self._use.append((name, content))
        elif (refresh := _refresh(attributes.get("http-equiv", ""), content)) is not None:
            self._links[refresh] = False

    def _link(self, name: str, attributes: Attributes) -> None:
        """Collect a link to a related document."""
        relations = attributes.get("rel", "").lower().split()
        if "href" not in attributes:
            return
        if not FOLLOWED.isdisjoint(relations):
            self._anchor(name, attributes)
        elif self._embeds and not _EMBEDDED.isdisjoint(relations):
            self._links[attributes["href"]] = False
        elif self._canonical is None and "canonical" in relations:
            self._canonical = attributes["href"] or None

    def _form(self, _name: str, attributes: Attributes) -> None:
        """Collect the action of a form that is sent with GET, without any fields."""
        action = attributes.get("action", "")
        if action and (attributes.get("method") or "get").strip().lower() not in _WITHOUT_URL:
            self._links[action] = False

    def _embed(self, name: str, attributes: Attributes) -> None:
        """Collect the URLs of an embedded resource."""
        if name == "input" and attributes.get("type", "").strip().lower() != "image":
            return
        for source in EMBEDS[name]:
            value = attributes.get(source, "")
            for url in srcset_urls(value) if source == "srcset" else (value,):
                if url and not url.startswith("data:"):
                    self._links[url] = False

    # Functions, since bound methods would refer to their page and keep it in memory.
    _collected: ClassVar[dict[str, Callable[["Elements", str, Attributes], None]]] = {
        **dict.fromkeys(("a", "area", "frame", "iframe"), _anchor),
        "base": _set_base,
        "meta": _meta,
        "link": _link,
        "form": _form,
    }


def is_html(content_type: str | None, body: bytes) -> bool:
    """Return True if the content type is HTML, or is missing and the body begins with a tag."""
    if content_type is None:
        return body.lstrip()[:1] == b"<"
    return media_type(content_type) == "text/html"


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
    blocks: bool = False,
) -> Document:
    """Read a page.

    Args:
        body: the decoded body, however broken.
        content_type: the ``Content-Type`` header, as sent.
        url: the URL of the response; the base if the page sets none (RFC 3986 section 5.1.3).
        own_name: the crawler's name, which a ``<meta>`` may address instead of "robots".
        embeds: True if images, media, style sheets and scripts count as links.
        xml: True if it is meant as XHTML, where a tag that ends with "/>" is empty.
        blocks: True to read the blocks of its text, too.
    """
    page = Elements(url, own_name, embeds=embeds)
    markup, encoding = encoded_in_utf8(body, content_type)
    text = scan(markup, page, xml=xml, blocks=blocks, embeds=embeds)
    return page.document(encoding, text)


def srcset_urls(srcset: str) -> Iterator[str]:
    """Yield the URLs of a ``srcset`` (HTML Standard section 4.8.4.2.2)."""
    at = 0
    while (found := _CANDIDATE.match(srcset, at)) is not None:
        url = found[1].rstrip(",")
        yield url
        # A comma right after the URL ends the candidate, which has no descriptors.
        at = found.end(1) if url != found[1] else found.end()


def _refresh(name: str, content: str) -> str | None:
    """Return the target of a ``<meta http-equiv=refresh>``, as written; None if there is none."""
    if name.strip().lower() != "refresh" or (found := _REFRESH.match(content)) is None:
        return None
    return found[1].lstrip("\"'").rstrip()


def _base(reference: str, url: str) -> str:
    """Return the base that a ``<base href>`` sets; ``data:`` and ``javascript:`` are ignored."""
    base = establish_base(embedded=reference, retrieval=url or None) or url
    return url if base.startswith(("data:", "javascript:")) else base
