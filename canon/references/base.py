"""The base URI of a document: whose word counts (RFC 3986 section 5.1)."""

from collections.abc import Iterable

from canonry.canon.errors import InvalidURL
from canonry.canon.references import whatwg
from canonry.canon.syntax.percent import to_text


def establish_base(
    embedded: str | None = None,
    encapsulating: str | Iterable[str | None] | None = None,
    retrieval: str | None = None,
    default: str | None = None,
) -> str | None:
    """Return the base URI for the references in a document.

    The four sources stand in the order of RFC 3986 section 5.1, innermost first: what the document
    says of itself (``<base href>``), the entity that encloses it, the URL that answered after all
    redirects, the application's default. A source that is relative is resolved against the sources
    outside it; one that no browser could read is passed over, as a browser does.

    Args:
        embedded: from within the document.
        encapsulating: from the MIME parts around it, innermost first, and of each part its
            ``Content-Base`` before its ``Content-Location`` (draft-fielding-url-syntax-05; RFC 2557
            section 5 knows the latter alone). One text stands for a list of one.
        retrieval: the URL that answered.
        default: for a document that came from nowhere.

    Returns:
        An absolute URL as browsers serialize it, or None when no source gives one.
    """
    parts = (encapsulating,) if isinstance(encapsulating, str) else tuple(encapsulating or ())
    base: str | None = None
    for source in (default, retrieval, *reversed(parts), embedded):
        if source is None:
            continue
        try:
            text = to_text(source)
            base = whatwg.serialize(text) if base is None else whatwg.join(base, text)
        except InvalidURL:
            continue
    return base
