"""What a site says about the use of a page, in robots.txt, in headers and in ``<meta>``.

Read are ``Content-Signal`` (contentsignals.org), ``Content-Usage`` (draft-ietf-aipref-attach),
``X-Robots-Tag`` and its ``<meta name=robots>``, and ``TDM-Reservation`` (the TDM Reservation
Protocol of W3C's community group). A use is *reserved* if any of them says no.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from canonry.crawler.documents.document import directives_for

USES = ("search", "archive", "snippet", "ai-input", "ai-train", "tdm")
_SIGNALS = ("content-signal", "content-usage")
_TAG, _TDM, _TDM_POLICY = "x-robots-tag", "tdm-reservation", "tdm-policy"
_FIELDS = frozenset({*_SIGNALS, _TAG, _TDM, _TDM_POLICY})
# What the names of either vocabulary mean.
_NAMED = {"train-ai": "ai-train", "ai-training": "ai-train"}
_NO = frozenset({"no", "n"})
# The uses that directives of X-Robots-Tag reserve. Those that are not here are recorded only.
_DIRECTIVES: Mapping[str, tuple[str, ...]] = {
    "noindex": ("search",),
    "none": ("search",),
    "noarchive": ("archive",),
    "nosnippet": ("snippet",),
    "noai": ("ai-train",),
}
_OF_IMAGES = {"noimageindex": "search", "noimageai": "ai-train"}
_LONGEST = 500  # characters of a statement that are kept


class UseStatement(NamedTuple):
    """One statement of a site about the use of a page."""

    place: str  # robots.txt, header or meta
    name: str  # of the field, in lower case
    value: str

    def __str__(self) -> str:
        """Return it as the store keeps it, on one line."""
        value = " ".join(self.value.split())[:_LONGEST]
        return f"{self.place} {self.name}: {value}"


def in_headers(headers: Mapping[str, str], token: str) -> Iterator[UseStatement]:
    """Yield the statements of a response's headers.

    Args:
        headers: of the response.
        token: our product token; what is addressed to other crawlers is left out.
    """
    given: dict[str, list[str]] = {}
    for field, value in headers.items():
        if (name := field.lower()) in _FIELDS:
            given.setdefault(name, []).append(value)
    if own := ", ".join(directives_for(given.pop(_TAG, ()), token)):
        yield UseStatement("header", _TAG, own)
    for name, values in given.items():
        yield UseStatement("header", name, ", ".join(values))


def reserved(
    statements: Iterable[UseStatement], content_type: str | None = None
) -> tuple[str, ...]:
    """Return the uses of a page that its site reserves, in the order of `USES`.

    Args:
        statements: about the page.
        content_type: of the page; some statements are about images alone.
    """
    is_image = (content_type or "").strip().lower().startswith("image/")
    found: set[str] = set()
    for one in statements:
        if one.name in _SIGNALS:
            found.update(_refused_in(one.value))
        elif one.name == _TDM:
            # Text and data mining is any automated analysis, and training a model is one.
            found.update(("tdm", "ai-train") if one.value.strip() == "1" else ())
        elif one.name != _TDM_POLICY:
            for word in one.value.lower().split(","):
                found.update(_DIRECTIVES.get(word.strip(), ()))
                if is_image and word.strip() in _OF_IMAGES:
                    found.add(_OF_IMAGES[word.strip()])
    return tuple(use for use in USES if use in found)


def _refused_in(preferences: str) -> Iterator[str]:
    """Yield the uses to which a list such as ``search=yes, ai-train=no`` says no.

    It is a dictionary of RFC 9651, whose later members win; parameters mean nothing here.
    """
    members: dict[str, str] = {}
    for member in preferences.lower().split(","):
        name, _equals, value = member.partition(";")[0].partition("=")
        members[_NAMED.get(name.strip(), name.strip())] = value.strip()
    return (name for name, value in members.items() if value in _NO)


def as_stored(statements: Sequence[UseStatement]) -> str | None:
    """Return statements as the store keeps them, one a line; None if there are none."""
    return "\n".join(dict.fromkeys(map(str, statements))) or None
