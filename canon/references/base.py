"""The base URI of a document: which source decides it (RFC 3986 section 5.1)."""

from collections.abc import Iterable

from canonry.canon.arguments import check_several
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

    The four sources have the order of RFC 3986 section 5.1, innermost first: the document's own
    base (``<base href>``), the entity that encloses it, the URL that it was retrieved from, the
    application's default. A relative source is resolved against the sources outside it. A source
    that browsers cannot parse is ignored, as browsers do.

    Args:
        embedded: the base that the document itself states.
        encapsulating: the bases of the MIME parts around it, innermost first; for each part,
            ``Content-Base`` before ``Content-Location`` (draft-fielding-url-syntax-05; RFC 2557
            section 5 has only the latter). A single text means a list of one.
        retrieval: the URL that answered, after all redirects.
        default: the base of a document that was not retrieved.

    Returns:
        An absolute URL as browsers serialize it, or None if no source gives one.

    Raises:
        TypeError: a source is neither text nor None.
    """
    if encapsulating is None or isinstance(encapsulating, (str, bytes)):
        parts: tuple[str | bytes | None, ...] = (encapsulating,)
    else:
        check_several("encapsulating", encapsulating, "texts")
        parts = tuple(encapsulating)
    base: str | None = None
    for source in (default, retrieval, *reversed(parts), embedded):
        if source is None:
            continue
        try:
            text = to_text(source, "a base")
            base = whatwg.serialize(text) if base is None else whatwg.join(base, text)
        except InvalidURL:
            continue
    return base
