"""What a page or its server asks of crawlers: nofollow, and the links of headers."""

import re
from collections.abc import Iterable, Iterator

# A link of a Link header and its parameters, with tokens or quoted values (RFC 8288 section 3).
_NAME = r"[!#$&+\-.^_`|~0-9A-Za-z]++"
_PARAMETER = re.compile(
    rf""";\s*+({_NAME})\s*+(?:=\s*+(?:"((?:[^"\\]|\\.)*+)"|([^\s;,"]*+)))?\s*+"""
)
_LINK = re.compile(rf"<([^>]*+)>\s*+((?:{_PARAMETER.pattern})*+)")
# Directives with a value of their own; any other "word:" names the crawler that is meant.
_WITH_VALUE = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)
_FORBIDS = frozenset({"nofollow", "none"})


def forbids_following(values: Iterable[str], token: str) -> bool:
    """Say whether ``X-Robots-Tag`` headers ask that no link of the answer be followed.

    Args:
        values: of all such headers. ``name: directive, ...`` is meant for that crawler alone.
        token: our own name.
    """
    return any(
        directive in _FORBIDS
        for value in values
        for name, directive in _directives(value)
        if name in {"", token.lower()}
    )


def _directives(value: str) -> Iterator[tuple[str, str]]:
    """Yield the crawler that is meant, "" for all, and what it is told."""
    name = ""
    for item in value.lower().split(","):
        head, colon, rest = item.partition(":")
        directive = item.strip()
        if colon and head.strip() not in _WITH_VALUE:
            name, directive = head.strip(), rest.strip()
        yield name, directive


def content_forbids_following(content: str) -> bool:
    """Say whether the content of a ``<meta name="robots">`` asks that no link be followed."""
    return not _FORBIDS.isdisjoint(word.strip() for word in content.lower().split(","))


def related(values: Iterable[str]) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the targets of ``Link`` headers, as written, and their relations.

    Source: RFC 8288 section 3. One that speaks of another context ("anchor") is passed over.
    """
    for value in values:
        for link in _LINK.finditer(value):
            given: dict[str, str] = {}
            for name, quoted, plain in _PARAMETER.findall(link[2]):
                given.setdefault(name.lower(), quoted or plain)
            if "anchor" not in given:
                yield link[1], frozenset(given.get("rel", "").lower().split())
