"""The base URI of a document: whose word counts (RFC 3986 section 5.1)."""

from canon import whatwg
from canon.errors import InvalidURL
from canon.percent import to_text


def establish_base(
    embedded: str | None = None,
    encapsulating: str | None = None,
    retrieval: str | None = None,
    default: str | None = None,
) -> str | None:
    """Return the base URI for the references in a document.

    The four sources stand in the order of RFC 3986 section 5.1, innermost first: what the document
    says of itself (``<base href>``), the entity that encloses it, the URL that answered after all
    redirects, the application's default. A source that is relative is resolved against the sources
    outside it; one that no browser could read is passed over, as a browser does.

    Returns:
        An absolute URL as browsers serialize it, or None when no source gives one.
    """
    base: str | None = None
    for source in (default, retrieval, encapsulating, embedded):
        if source is None:
            continue
        try:
            text = to_text(source)
            base = whatwg.serialize(text) if base is None else whatwg.join(base, text)
        except InvalidURL:
            continue
    return base
