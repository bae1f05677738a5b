"""Reference resolution in every dialect: from a reference and a base to one URL."""

import re
from collections.abc import Callable

from canonry.canon.arguments import check_choice, check_text
from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.references import whatwg
from canonry.canon.references.drafts import (
    EXCESS,
    resolve_partial_form,
    resolve_rfc2396bis,
    resolve_url_syntax,
    split_1993,
    split_1997,
    without_scheme_of,
)
from canonry.canon.references.rfc3986 import resolve_rfc3986
from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.uri import URI, split


def resolve(
    reference: str | bytes,
    base: str | bytes,
    *,
    dialect: str = "rfc3986",
    strict: bool = True,
    document: str | None = None,
    excess: str = "keep",
) -> str:
    """Resolve a URI reference against a base URI.

    Args:
        reference: absolute or relative, possibly empty.
        base: an absolute URI; its fragment is ignored. In ``url-syntax-05``, an empty text means
            that there is none: then only absolute references resolve (section 5.1.4).
        dialect: ``"rfc3986"`` changes only what section 5.2 requires; ``"whatwg"`` resolves and
            serializes as browsers do. The ancestors follow their own documents:
            ``"rfc2396bis-01"`` (2003), ``"url-syntax-05"`` (1997) and ``"url-1993"``;
            docs/reference/disagreements.md shows where they differ.
        strict: False ignores a scheme that equals the base's, so that ``http:g`` means ``g``
            (section 5.2.2). ``whatwg`` and ``url-1993`` have their own rule and ignore this.
        document: the URL of the document that holds the reference, if the base is another URL.
            In the ancestors, an empty or fragment-only reference means this document. If it
            starts a new request, they differ: a FORM's or an IMG's means the document, too, in
            ``url-syntax-05`` (section 3), and a FORM's means the base in ``rfc2396bis-01``
            (section 4.2): there, leave ``document`` out.
        excess: what ``rfc2396bis-01`` does with ``..`` segments that lead above the root (section
            5.2, step 6e): ``"keep"`` them, ``"drop"`` them, or ``"refuse"`` the reference. Every
            other dialect has one answer and ignores this.

    Returns:
        The target, with its fragment.

    Raises:
        InvalidURL: the base is relative; in ``whatwg``, also where a browser fails.
        ValueError: the dialect or ``excess`` is unknown.
        TypeError: an argument has a wrong type; None is no base.

    Source: RFC 3986 section 5.2; URL Standard section 4.4; the drafts that the dialects are
    named after.

    >>> canonry.resolve("../g", "http://a/b/c/d;p?q")
    'http://a/b/g'
    >>> canonry.resolve("?y", "http://a/b/c/d;p?q", dialect="url-syntax-05")
    'http://a/b/c/?y'
    """
    check_choice("dialect", dialect, DIALECTS)
    check_choice("excess", excess, EXCESS)
    text, from_base = to_text(reference, "the reference"), to_text(base, "the base")
    if document is not None:
        own = to_text(document, "the document").partition("#")[0]
        if dialect in ANCESTORS and _means_the_document(text, from_base, dialect, strict=strict):
            _, mark, fragment = text.partition("#")
            return own + ("" if not fragment and dialect == "url-1993" else mark + fragment)
    if dialect == "rfc2396bis-01":
        return resolve_rfc2396bis(text, from_base, strict, excess)
    return DIALECTS[dialect](text, from_base, strict)


def same_document(
    reference: str | bytes, base: str | bytes, *, dialect: str = "rfc3986", strict: bool = True
) -> bool:
    """Return True if a reference points into the document that the base names.

    Such a reference needs no request. RFC 3986 resolves it and compares (section 4.4); for its
    ancestors, only references that are empty or only a fragment are meant. In the drafts of 1997
    and 2003, ``strict=False`` ignores the base's scheme before that, so ``http:`` is empty.

    Raises:
        InvalidURL, ValueError, TypeError: as `resolve` does.

    >>> canonry.same_document("#top", "http://a/b"), canonry.same_document("c", "http://a/b")
    (True, False)
    """
    check_choice("dialect", dialect, DIALECTS)
    text, base = to_text(reference, "the reference"), to_text(base, "the base")
    if dialect in ANCESTORS:
        return _means_the_document(text, base, dialect, strict=strict)
    target = resolve(text, base, dialect=dialect, strict=strict)
    own = resolve("", base, dialect=dialect)
    return target.partition("#")[0] == own.partition("#")[0]


def _means_the_document(reference: str, base: str, dialect: str, *, strict: bool) -> bool:
    """Return True if an ancestor takes a reference as empty or as only a fragment."""
    if reference[:1] in {"", "#"}:
        return True
    if strict or dialect == "url-1993":
        return False
    read = ANCESTORS[dialect]
    return without_scheme_of(read(reference), read(base))[:4] == (None, None, "", None)


_SUFFIX = re.compile(
    r"(?:[^/?#@:]+@)?(?:[^/?#@:]+\.[^/?#@:]+|localhost|\[[^\]]*\])(?::[0-9]*)?([/?#]|\Z)"
)
_LABEL = re.compile(r"\AURL:", re.IGNORECASE)


def from_suffix(text: str | bytes, scheme: str = "http") -> str:
    """Return the URL that a suffix reference such as ``www.example.com/a`` means.

    Use it only for addresses that people type: in a document, the same text is a relative
    reference. A text that has a scheme is returned as it is. Delimiters are removed: ``<>``,
    double quotes, ``URL:``, and white space, also inside (appendix C).

    Args:
        text: begins with a host: a name that holds a dot, ``localhost``, or an address.
        scheme: to put before it.

    Raises:
        InvalidURL: the text begins with no such host.
        TypeError: an argument has a wrong type.

    Source: RFC 3986 section 4.5.

    >>> canonry.from_suffix("www.example.com/a")
    'http://www.example.com/a'
    """
    address = to_text(text, "the text")
    check_text("scheme", scheme)
    bare = "".join(address.split())
    if bare[:1] + bare[-1:] in {"<>", '""'}:
        bare = bare[1:-1]
    bare = _LABEL.sub("", bare)
    if _SUFFIX.match(bare):
        return f"{scheme}://{bare}"
    if split(bare).scheme is not None:
        return bare
    raise InvalidURL(Reason.NO_ADDRESS if address else Reason.EMPTY, address)


DIALECTS: dict[str, Callable[[str, str, bool], str]] = {
    "rfc3986": resolve_rfc3986,
    "rfc2396bis-01": resolve_rfc2396bis,
    "url-syntax-05": resolve_url_syntax,
    "url-1993": resolve_partial_form,
    "whatwg": lambda reference, base, _strict: whatwg.join(base, reference),
}

# The dialects before RFC 3986, and how each splits a reference.
ANCESTORS: dict[str, Callable[[str], URI]] = {
    "rfc2396bis-01": split,
    "url-syntax-05": split_1997,
    "url-1993": split_1993,
}
