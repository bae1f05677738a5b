"""The base URI of a document: which source decides it (RFC 3986 section 5.1)."""

import re
from collections.abc import Iterable

from canonry.canon.arguments import check_several
from canonry.canon.errors import InvalidURL
from canonry.canon.references import whatwg
from canonry.canon.syntax.percent import to_text

_SPACE = re.compile(r"[\t-\r ]+")


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
            section 5 has only the latter). A single text means a list of one. White space is
            ignored, also inside: these are values of headers (1997, section 5.1.1).
        retrieval: the URL that answered, after all redirects.
        default: the base of a document that was not retrieved. In the draft of 1997 (section
            5.1.4) it is the empty text, which `resolve` understands in that dialect.

    Returns:
        An absolute URL as browsers serialize it, without a fragment (section 5.1). If no source
        gives one, the empty text if that is the default, and None otherwise.

    Raises:
        TypeError: a source is neither text nor None.

    >>> canonry.establish_base(embedded="/docs/", retrieval="http://example.com/a")
    'http://example.com/docs/'
    """
    if encapsulating is None or isinstance(encapsulating, (str, bytes)):
        headers: tuple[str | bytes | None, ...] = (encapsulating,)
    else:
        check_several("encapsulating", encapsulating, "texts")
        headers = tuple(encapsulating)
    base = _against(_against(None, default), retrieval)
    for value in reversed(headers):
        base = _against(base, value, header=True)
    base = _against(base, embedded)
    if base is None:
        return "" if default == "" else None
    return base.partition("#")[0]


def _against(base: str | None, source: str | bytes | None, *, header: bool = False) -> str | None:
    """Resolve a source against the outer base; return that base if the source gives none."""
    if source is None:
        return base
    try:
        text = to_text(source, "a base")
        if header:
            text = _SPACE.sub("", text)
        return whatwg.serialize(text) if base is None else whatwg.join(base, text)
    except InvalidURL:
        return base
