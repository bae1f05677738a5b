"""The references of a document to other URLs, and the directives not to follow them."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

from canonry.canon import InvalidURL, resolve
from canonry.canon.references import serialize
from canonry.canon.syntax import compile_pattern

# Link relations that lead to other documents of the site (HTML Standard section 4.6.7).
FOLLOWED = frozenset({"next", "prev", "alternate"})
# A link in a Link header, and its parameters: tokens or quoted strings (RFC 8288 section 3).
_NAME = r"[!#$&+\-.^_`|~0-9A-Za-z]++"
_ASSIGNED = rf""";\s*+({_NAME})\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?\s*+"""
_PARAMETER = compile_pattern(_ASSIGNED)
_LINK = compile_pattern(rf"<([^<>]*+)>\s*+((?:{_ASSIGNED})*+)")
# Directives that take a value. Any other "word:" is the name of a crawler.
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_FORBIDS = frozenset({"nofollow", "none"})
_NO_DATES: Mapping[str, float] = MappingProxyType({})


class Document(NamedTuple):
    """The references of a document to other URLs, and the base URL for resolving them."""

    base: str
    links: tuple[str, ...]  # as written, in document order, each spelling once
    unfollowed: tuple[str, ...]  # links that the page marks nofollow at every occurrence
    canonical: str | None  # from <link rel=canonical>, resolved
    title: str | None
    charset: str | None = None  # the Encoding Standard's name
    unreadable: tuple[str, ...] = ()  # links with an unknown entity
    # Names and contents of the <meta> elements that say how the page may be used.
    use: tuple[tuple[str, str], ...] = ()
    dates: Mapping[str, float] = _NO_DATES  # of links, when they have changed; since 1970
    is_sitemap: bool = False  # or an index of sitemaps
    blocks: bytes | None = None  # of its text, if they were asked for and read with its links


def absolute(reference: str | None, base: str) -> str | None:
    """Resolve a reference as browsers do; None if it is not a URL. An empty base means none."""
    if reference is None:
        return None
    try:
        return resolve(reference, base, dialect="whatwg") if base else serialize(reference)
    except InvalidURL:
        return None


def header_forbids_following(values: Iterable[str], token: str) -> bool:
    """Return True if ``X-Robots-Tag`` headers ask us not to follow any link of the response.

    Args:
        values: the values of all such headers. ``name: directive, ...`` addresses one crawler only.
        token: our own product token.
    """
    return not _FORBIDS.isdisjoint(directives_for(values, token))


def directives_for(values: Iterable[str], token: str) -> Iterator[str]:
    """Yield the directives of ``X-Robots-Tag`` headers that are for us, in lower case.

    Args:
        values: the values of all such headers. ``name: directive, ...`` addresses one crawler only.
        token: our own product token.
    """
    for value in values:
        for name, directive in _directives(value):
            if directive and name in {"", token.lower()}:
                yield directive


def _directives(value: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a crawler's name ("" for all crawlers) and a directive."""
    name = ""
    for item in value.lower().split(","):
        head, colon, rest = item.partition(":")
        directive = item.strip()
        is_time = head[-1:].isdecimal() and rest[:1].isdecimal()  # of a date, after its comma
        if colon and not is_time and head.strip() not in _WITH_VALUE:
            name, directive = head.strip(), rest.strip()
        yield name, directive


def meta_forbids_following(content: str) -> bool:
    """Return True if a ``<meta name="robots">`` with this content forbids following links."""
    return not _FORBIDS.isdisjoint(word.strip() for word in content.lower().split(","))


def link_headers(values: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the target of each link in ``Link`` headers, as written, and its relations.

    Source: RFC 8288 section 3. Links with another context ("anchor") are skipped.
    """
    for value in values:
        for link in _LINK.finditer(value):
            given: dict[str, str] = {}
            for name, quoted, plain in _PARAMETER.findall(link[2]):
                given.setdefault(name.lower(), quoted or plain)
            if "anchor" not in given:
                yield link[1], frozenset(given.get("rel", "").lower().split())
