"""The one-call functions of the library: canonicalize, same, equivalent, key, surt."""

from functools import lru_cache
from typing import Literal

from canonry.canon.arguments import check_choice
from canonry.canon.pipeline.canonicalizer import Canonicalizer
from canonry.canon.policies.policy import Policy
from canonry.canon.policies.policy_files import FilePath
from canonry.canon.rules.rule import Rung
from canonry.canon.rules.table import STEPS
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text

RungName = Literal["string", "repair", "syntax", "scheme", "practice", "protocol"]
RUNGS = {rung.name.lower(): rung for rung in Rung}
# The documents that have a ladder of comparison.
LADDERS = ("rfc3986", "rfc2396bis-01")


@lru_cache(maxsize=32)
def _compiled(policy: str | Policy | FilePath) -> Canonicalizer:
    """Return the canonicalizer of a policy, compiled once."""
    return Canonicalizer(policy)


def compiled(policy: str | Policy | FilePath) -> Canonicalizer:
    """Return the canonicalizer of a policy, compiled once; a file is read once, too.

    Raises:
        PolicyError: the policy does not exist.
        TypeError: it is no policy.
    """
    try:
        return _compiled(policy)  # type: ignore[arg-type]  # see below
    except TypeError:  # not hashable: the error of this call says what is wanted
        return Canonicalizer(policy)


def canonicalize(
    url: str | bytes, *, base: str | None = None, policy: str | Policy | FilePath = "web"
) -> str:
    """Return a URL's identity as text: what to compare, never what to request.

    Raises:
        InvalidURL: the URL has no canonical form.
        PolicyError: the policy does not exist.
        TypeError: an argument has a wrong type.

    >>> canonry.canonicalize("HTTP://Example.com:80/a/../b?utm_source=x&id=1#top")
    'http://example.com/b?id=1'
    """
    try:
        make = _compiled(policy)  # type: ignore[arg-type]  # see `compiled`
    except TypeError:
        make = compiled(policy)
    if base is None and make.native is not None:  # the same as `identity`, with one call less
        found = make.native.identity(url)
        if found is not None:
            return found
    return make.identity(url, base)


def same(
    a: str | bytes,
    b: str | bytes,
    *,
    base: str | None = None,
    policy: str | Policy | FilePath = "web",
) -> bool:
    """Return True if two URLs are the same resource under a policy: their keys are equal.

    Args:
        a: one URL.
        b: the other.
        base: of both, where they are relative.
        policy: with its heuristics; `equivalent` compares by what the specifications guarantee.

    Raises:
        InvalidURL: one of them has no canonical form.
        PolicyError: the policy does not exist.
        TypeError: an argument has a wrong type.

    >>> canonry.same("http://example.com/a?utm_source=mail#top", "HTTP://Example.com:80/a")
    True
    >>> canonry.same("http://example.com/a", "http://example.com/A")
    False
    """
    make = compiled(policy)
    return make.identity(a, base) == make.identity(b, base)


def key(
    url: str | bytes, *, base: str | None = None, policy: str | Policy | FilePath = "web"
) -> bytes:
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


def surt(
    url: str | bytes, *, base: str | None = None, policy: str | Policy | FilePath = "web"
) -> str:
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
    a: str | bytes,
    b: str | bytes,
    *,
    rung: RungName | Rung = "scheme",
    dialect: Literal["rfc3986", "rfc2396bis-01"] = "rfc3986",
) -> bool:
    """Compare two absolute URLs at a rung of the ladder (RFC 3986 section 6.2).

    Args:
        a: one URL.
        b: the other.
        rung: a `Rung`, or its name as `Trace` shows it: ``"string"`` (6.2.1), ``"repair"``,
            ``"syntax"`` (6.2.2), ``"scheme"`` (6.2.3), ``"practice"`` or ``"protocol"`` (6.2.4).
            ``"practice"`` also applies the heuristics of the policy ``web``, as `same` does. The
            last one needs knowledge from redirects; this function has none, so it answers as for
            ``"scheme"``.
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
    if not isinstance(rung, Rung):
        check_choice("rung", rung, RUNGS)
        rung = RUNGS[rung]
    check_choice("dialect", dialect, LADDERS)
    if rung is Rung.PRACTICE:
        return same(a, b)
    return _climb(to_text(a), rung, dialect) == _climb(to_text(b), rung, dialect)


def _climb(text: str, rung: Rung, dialect: str) -> Parts:
    """Run the lossless steps up to a rung over an absolute URL of RFC 3986."""
    compiled("rfc3986")(text)  # raises InvalidURL if the text is no absolute URL
    parts = Parts.of(text)
    for step in STEPS:
        if step.lossless and step.rung <= rung and dialect in step.dialects:
            parts = step.apply(parts)
    return parts
