"""Directives for crawlers (nofollow), and the links in ``Link`` headers."""

from collections.abc import Iterable, Iterator

from canonry.canon.syntax import compile_pattern

# A link in a Link header, and its parameters: tokens or quoted strings (RFC 8288 section 3).
_NAME = r"[!#$&+\-.^_`|~0-9A-Za-z]++"
_ASSIGNED = rf""";\s*+({_NAME})\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?\s*+"""
_PARAMETER = compile_pattern(_ASSIGNED)
_LINK = compile_pattern(rf"<([^<>]*+)>\s*+((?:{_ASSIGNED})*+)")
# Directives that take a value. Any other "word:" names the crawler that is addressed.
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_FORBIDS = frozenset({"nofollow", "none"})


def header_forbids_following(values: Iterable[str], token: str) -> bool:
    """Return True if ``X-Robots-Tag`` headers ask us not to follow any link of the response.

    Args:
        values: the values of all such headers. ``name: directive, ...`` addresses one crawler only.
        token: our own product token.
    """
    return any(
        directive in _FORBIDS
        for value in values
        for name, directive in _directives(value)
        if name in {"", token.lower()}
    )


def _directives(value: str) -> Iterator[tuple[str, str]]:
    """Yield pairs of a crawler's name ("" for all crawlers) and a directive."""
    name = ""
    for item in value.lower().split(","):
        head, colon, rest = item.partition(":")
        directive = item.strip()
        if colon and head.strip() not in _WITH_VALUE:
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
