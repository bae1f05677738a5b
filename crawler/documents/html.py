"""HTML: the links of a page, their base, its title and its canonical link."""

import re
from collections.abc import Callable, Iterator, Mapping

from selectolax.lexbor import LexborHTMLParser

from canonry.canon import establish_base
from canonry.crawler.documents.directives import meta_forbids_following
from canonry.crawler.documents.document import FOLLOWED, Document, absolute
from canonry.crawler.documents.encodings import decode, encode_query

_LINKS = (
    "a[href], area[href], iframe[src], frame[src], form, link[rel][href], base[href], meta[content]"
)
# What a page embeds, and the attributes that name it (HTML Standard section 4.8).
_EMBEDS = {
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
_WITH_EMBEDS = ", ".join((_LINKS, *_EMBEDS))
_EMBEDDED = frozenset({"stylesheet", "icon", "preload", "modulepreload", "manifest"})
# A candidate of srcset: a URL, which may hold commas but not end in one, and its descriptors.
_CANDIDATE = re.compile(r"[\s,]*([^\s,]\S*)((?:\([^)]*+\)?|[^,(]++)*+)")
_FRAMES = frozenset({"iframe", "frame"})
_WITHOUT_URL = frozenset({"post", "dialog"})  # methods of forms that request no URL
# The value of <meta http-equiv=refresh> (HTML Standard section 4.2.5.3).
_REFRESH = re.compile(
    r"""\s*+(?:[0-9]++|[0-9]*+\.)[0-9.]*+\s*+[;,\s]\s*+(?:url\s*+=\s*+)?("[^"]*+|'[^']*+|[^\s].*+)""",
    re.IGNORECASE | re.DOTALL,
)
_MAX_TITLE = 1000
_Attributes = Mapping[str, str | None]
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*"
    rb"<(?:!doctype html|html|head|body|title|meta|a|p|div)\b",
    re.IGNORECASE | re.DOTALL,
)


def is_html(content_type: str | None, body: bytes) -> bool:
    """Return True if the content type is HTML, or is missing and the body begins with a tag."""
    if content_type is None:
        return body.lstrip()[:1] == b"<"
    return content_type.partition(";")[0].strip().lower() in {"text/html", "application/xhtml+xml"}


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
) -> Document:
    """Read a page.

    Args:
        body: the decoded body, however broken.
        content_type: the ``Content-Type`` header, as sent.
        url: the URL of the response; the base if the page sets none (RFC 3986 section 5.1.3).
        own_name: the crawler's name, which a ``<meta>`` may address instead of "robots".
        embeds: True if images, media, style sheets and scripts count as links.
    """
    text, encoding = decode(body, content_type)
    tree = LexborHTMLParser(text)
    page = _Page(url, own_name, embeds=embeds)
    for node in tree.css(_WITH_EMBEDS if embeds else _LINKS):
        tag = node.tag or ""
        _COLLECT.get(tag, _Page.anchor)(page, tag, node.attributes)
    links = page.links
    if encoding != "utf-8":
        links = {encode_query(link, encoding): forbidden for link, forbidden in links.items()}
    followed = tuple(link for link, no in links.items() if not (no or page.nofollow))
    unfollowed = tuple(link for link, no in links.items() if no or page.nofollow)
    canonical = page.canonical and encode_query(page.canonical, encoding)
    named = absolute(canonical, page.base)
    return Document(page.base, followed, unfollowed, named, _title(tree), encoding)


class _Page:
    """Collects the links and directives of a page, element by element."""

    def __init__(self, url: str, own_name: str, *, embeds: bool) -> None:
        self.base = self._url = url
        self.links: dict[str, bool] = {}  # link: True if every occurrence is nofollow
        self.nofollow = False
        self.canonical: str | None = None
        self._based = False
        self._names = {"robots", own_name.lower()} - {""}
        self._embeds = embeds

    def anchor(self, tag: str, attributes: _Attributes) -> None:
        """Collect a link, area or frame."""
        reference = attributes.get("src" if tag in _FRAMES else "href") or ""
        relations = (attributes.get("rel") or "").lower().split()
        self.links[reference] = self.links.get(reference, True) and "nofollow" in relations

    def set_base(self, _tag: str, attributes: _Attributes) -> None:
        """Set the base; only the first ``<base href>`` counts (HTML Standard section 4.2.3)."""
        if not self._based:
            self._based = True
            self.base = _base(attributes.get("href") or "", self._url)

    def meta(self, _tag: str, attributes: _Attributes) -> None:
        """Collect directives for crawlers, and the target of a refresh."""
        content = attributes.get("content") or ""
        if (attributes.get("name") or "").strip().lower() in self._names:
            self.nofollow |= meta_forbids_following(content)
        elif (refresh := _refresh(attributes.get("http-equiv") or "", content)) is not None:
            self.links[refresh] = False

    def link(self, tag: str, attributes: _Attributes) -> None:
        """Collect a link to a related document."""
        relations = (attributes.get("rel") or "").lower().split()
        if not FOLLOWED.isdisjoint(relations):
            self.anchor(tag, attributes)
        elif self._embeds and not _EMBEDDED.isdisjoint(relations):
            self.links[attributes.get("href") or ""] = False
        elif self.canonical is None and "canonical" in relations:
            self.canonical = attributes.get("href") or None

    def form(self, _tag: str, attributes: _Attributes) -> None:
        """Collect the action of a form that is sent with GET; no field is filled in."""
        action = attributes.get("action") or ""
        if action and (attributes.get("method") or "get").strip().lower() not in _WITHOUT_URL:
            self.links[action] = False

    def embed(self, tag: str, attributes: _Attributes) -> None:
        """Collect the URLs of an embedded thing."""
        if tag == "input" and (attributes.get("type") or "").strip().lower() != "image":
            return
        for name in _EMBEDS[tag]:
            value = attributes.get(name) or ""
            for url in srcset_urls(value) if name == "srcset" else (value,):
                if url and not url.startswith("data:"):
                    self.links[url] = False


_COLLECT: dict[str, Callable[[_Page, str, _Attributes], None]] = {
    "base": _Page.set_base,
    "meta": _Page.meta,
    "link": _Page.link,
    "form": _Page.form,
    **dict.fromkeys(_EMBEDS, _Page.embed),
}


def srcset_urls(srcset: str) -> Iterator[str]:
    """Yield the URLs of a ``srcset`` (HTML Standard section 4.8.4.2.2)."""
    at = 0
    while (found := _CANDIDATE.match(srcset, at)) is not None:
        url = found[1].rstrip(",")
        yield url
        # A comma right after the URL ends the candidate: it has no descriptors.
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


def _title(tree: LexborHTMLParser) -> str | None:
    """Return the title with its white space collapsed, cut to its maximum length."""
    node = tree.css_first("title")
    text = " ".join(node.text().split()) if node is not None else ""
    return text[:_MAX_TITLE] or None
