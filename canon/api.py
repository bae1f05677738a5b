"""The one-call functions of the library: canonicalize, equivalent, key, surt."""

from functools import lru_cache

from canonry.canon.arguments import check_choice
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.policies.policy import Policy
from canonry.canon.rules.rule import Rung
from canonry.canon.rules.table import EDITION, rows_of
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text

RUNGS = {
    "string": Rung.STRING,
    "syntax": Rung.SYNTAX,
    "scheme": Rung.SCHEME,
    "protocol": Rung.PROTOCOL,
}
# The documents that have a ladder of comparison.
LADDERS = ("rfc3986", "rfc2396bis-01")


@lru_cache(maxsize=32)
def _compiled(policy: str | Policy) -> Canonicalizer:
    """Return the canonicalizer of a policy, compiled once."""
    return Canonicalizer(policy)


def compiled(policy: str | Policy) -> Canonicalizer:
    """Return the canonicalizer of a policy, compiled once.

    Raises:
        PolicyError: the policy does not exist.
        TypeError: it is no policy.
    """
    try:
        return _compiled(policy)
    except TypeError:  # not hashable: the error of this call says what is wanted
        return Canonicalizer(policy)


def canonicalize(url: str | bytes, *, base: str | None = None, policy: str | Policy = "web") -> str:
    """Return a URL's identity as text: what to compare, never what to request.

    Raises:
        InvalidURL: the URL has no canonical form.
        PolicyError: the policy does not exist.
        TypeError: an argument has a wrong type.

    >>> canonry.canonicalize("HTTP://Example.com:80/a/../b?utm_source=x&id=1#top")
    'http://example.com/b?id=1'
    """
    try:
        make = _compiled(policy)
    except TypeError:
        make = compiled(policy)
    if base is None and make.native is not None:  # the same as `identity`, with one call less
        found = make.native.identity(url)
        if found is not None:
            return found
    return make.identity(url, base)


def key(url: str | bytes, *, base: str | None = None, policy: str | Policy = "web") -> bytes:
    """Return the 16-byte key of a URL, made under the policy's name and version.

    Raises:
        InvalidURL: the URL has no canonical form.
        PolicyError: the policy does not exist.
        TypeError: an argument has a wrong type.

    >>> canonry.key("http://example.com/a").hex()
    '35c1bffb311be75af6459390af8b5760'
    >>> canonry.key("HTTP://EXAMPLE.com:80/a#top") == canonry.key("http://example.com/a")
    True
    """
    return compiled(policy)(url, base).key


def surt(url: str | bytes, *, base: str | None = None, policy: str | Policy = "web") -> str:
    """Return the Sort-friendly URI Reordering Transform of a URL's identity.

    Raises:
        InvalidURL: the URL has no canonical form.
        PolicyError: the policy does not exist.
        TypeError: an argument has a wrong type.

    >>> canonry.surt("http://www.example.com/b?a=1")
    'com,example,www)/b?a=1'
    """
    return compiled(policy).surt(url, base)


def equivalent(
    a: str | bytes, b: str | bytes, *, rung: str = "scheme", dialect: str = "rfc3986"
) -> bool:
    """Compare two absolute URLs at a rung of the ladder (RFC 3986 section 6.2).

    Args:
        a: one URL.
        b: the other.
        rung: ``"string"`` (6.2.1), ``"syntax"`` (6.2.2), ``"scheme"`` (6.2.3) or ``"protocol"``
            (6.2.4). The last one needs knowledge from redirects; this function has none, so that
            it answers as for ``"scheme"``.
        dialect: ``"rfc2396bis-01"`` climbs the ladder of the draft of 2003: fewer escapes are
            decoded, and ``..`` segments that lead above the root stay.

    Raises:
        InvalidURL: one of them is not an absolute URL.
        ValueError: the rung or the dialect is unknown.
        TypeError: an argument has a wrong type.

    >>> canonry.equivalent("http://example.com", "HTTP://example.com:80/")
    True
    >>> canonry.equivalent("http://example.com", "HTTP://example.com:80/", rung="syntax")
    False
    """
    check_choice("rung", rung, RUNGS)
    check_choice("dialect", dialect, LADDERS)
    if rung == "string":
        return to_text(a) == to_text(b)
    return _climb(to_text(a), RUNGS[rung], dialect) == _climb(to_text(b), RUNGS[rung], dialect)


def _climb(text: str, rung: Rung, dialect: str) -> Parts:
    """Run the lossless steps up to a rung over an absolute URL of RFC 3986."""
    compiled("rfc3986")(text)  # raises InvalidURL if the text is no absolute URL
    parts = Parts.of(text)
    for step in rows_of(EDITION):
        if step.lossless and step.rung <= rung and dialect in step.dialects:
            parts = step.apply(parts)
    return parts
