"""The five components of a URI and the three of an authority, split and recomposed losslessly."""

import re
from typing import NamedTuple

from canonry.canon.syntax.percent import to_text

# RFC 3986 appendix B, but the scheme has to match section 3.1: "1a:b" and ":x" are relative.
_COMPONENTS = re.compile(
    r"""(?:(?P<scheme>[A-Za-z][A-Za-z0-9+.\-]*):)?
        (?://(?P<authority>[^/?\#]*))?
        (?P<path>[^?\#]*)
        (?:\?(?P<query>[^\#]*))?
        (?:\#(?P<fragment>.*))?""",
    re.VERBOSE | re.DOTALL,
)
_PORT = re.compile(r":([0-9]*)\Z")
MAX_PORT = 65535  # ports are 16 bits (RFC 9293 section 3.1)


class URI(NamedTuple):
    """A URI reference as its five components (RFC 3986 section 3).

    ``None`` means that the separator is absent, ``""`` that it is present and nothing follows it.
    ``str(uri)`` recomposes it (section 5.3): ``str(parse(text)) == text`` for every text.
    """

    scheme: str | None
    authority: str | None
    path: str
    query: str | None
    fragment: str | None

    def __str__(self) -> str:
        """Recompose the reference (RFC 3986 section 5.3)."""
        return recompose(*self)


class Authority(NamedTuple):
    """An authority as its three components (RFC 3986 section 3.2); ``None`` means absent."""

    userinfo: str | None
    host: str
    port: str | None


def parse(text: str | bytes) -> URI:
    """Split a URI reference into its components; every text is a reference.

    Args:
        text: the reference. Bytes that are not UTF-8 become percent-escapes.

    Returns:
        The components, exactly as written.

    Raises:
        InvalidURL: the text holds a lone surrogate, which encodes no byte.

    Source: RFC 3986 appendix B and section 3.

    >>> canonry.parse("http://example.com/a?#top")
    URI(scheme='http', authority='example.com', path='/a', query='', fragment='top')
    >>> canonry.parse("//host").scheme is None
    True
    """
    return split(to_text(text))


def split(text: str) -> URI:
    """Split a text as `parse` does, without checking it for surrogates."""
    match = _COMPONENTS.fullmatch(text)
    assert match is not None  # noqa: S101 - every part of the pattern is optional, so every text matches
    return URI(*match.group("scheme", "authority", "path", "query", "fragment"))


def recompose(
    scheme: str | None,
    authority: str | None,
    path: str,
    query: str | None,
    fragment: str | None,
) -> str:
    """Join the five components (RFC 3986 section 5.3).

    Without an authority, a path that begins with two slashes would be read as an authority (section
    3.3 forbids such paths). So ``/.`` precedes it, as in the URL Standard's serializer (4.5).
    """
    if authority is not None:
        text = f"//{authority}{path}"
    else:
        text = f"/.{path}" if path.startswith("//") else path
    if scheme is not None:
        text = f"{scheme}:{text}"
    if query is not None:
        text = f"{text}?{query}"
    if fragment is not None:
        text = f"{text}#{fragment}"
    return text


def split_authority(authority: str) -> Authority:
    """Split an authority at its last ``@`` and at a final ``:digits`` (RFC 3986 section 3.2).

    The last ``@``, as in browsers: everything before it is userinfo, even if it looks like a host
    (section 7.6). If the text after a colon is not a number, it stays in the host, so that nothing
    is lost; callers that need a valid host check it.
    """
    userinfo, at, hostport = authority.rpartition("@")
    port = _PORT.search(hostport)
    host = hostport[: port.start()] if port else hostport
    return Authority(userinfo if at else None, host, port[1] if port else None)
