"""What a document says about other URLs, and how its references become absolute."""

from typing import NamedTuple

from canonry.canon import InvalidURL, resolve
from canonry.canon.references import serialize

# Link relations that lead to other documents of the site (HTML Standard section 4.6.7).
FOLLOWED = frozenset({"next", "prev", "alternate"})


class Document(NamedTuple):
    """What a document says about other URLs: its references, and what they are relative to."""

    base: str
    links: tuple[str, ...]  # as written, in document order, each spelling once
    unfollowed: tuple[str, ...]  # links that the page marks nofollow at every occurrence
    canonical: str | None  # from <link rel=canonical>, resolved
    title: str | None
    charset: str | None = None  # the Encoding Standard's name
    unreadable: tuple[str, ...] = ()  # links with an entity that is not known


def absolute(reference: str | None, base: str) -> str | None:
    """Resolve a reference as browsers do; None if it is not a URL. An empty base means none."""
    if reference is None:
        return None
    try:
        return resolve(reference, base, dialect="whatwg") if base else serialize(reference)
    except InvalidURL:
        return None
