"""What a URL may hide from its readers: the security considerations of RFC 3986 and before it."""

import re
from collections.abc import Callable
from enum import Enum

from canonry.canon.errors import InvalidURL
from canonry.canon.references import whatwg
from canonry.canon.syntax import grammar, schemes
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text


class Caution(Enum):
    """Why to look twice before showing or fetching a URL; the value is the sentence."""

    PORT = "the port is not known to be the scheme's default (rfc2396bis-01 section 7.2)"
    RESERVED_PORT = "the port belongs to another protocol, whose server may act on it (section 7.2)"
    LINE_BREAK = "a line break, raw or escaped, may end a command or a header early (section 7.3)"
    IPV4 = "the host is an IPv4 address in a form that not all software recognizes (section 7.4)"
    PASSWORD = "the URL holds a password that everybody can read (section 7.5)"  # noqa: S105 - a sentence
    USERINFO = "what looks like the host is the user name; the host follows the '@' (section 7.6)"
    HOST = "browsers find another host in it than RFC 3986 does"


_WELL_KNOWN = 1023  # "System Ports" (RFC 6335 section 6)
_WEB_PORTS = frozenset({80, 443})
_LINE_BREAK = re.compile(r"[\r\n]|%0[AD]", re.IGNORECASE)
_NUMBERS = re.compile(r"(?:0[xX][0-9A-Fa-f]*|[0-9]+)(?:\.(?:0[xX][0-9A-Fa-f]*|[0-9]+)){0,3}\.?")


def cautions(url: str | bytes) -> tuple[Caution, ...]:
    """Return the reasons to look twice at an absolute URL; any text is accepted.

    They change no canonical form and refuse nothing: the caller decides what to do about them.

    Of ports, RFC 1738 and the drafts of 1997 and 2003 say to look twice at any that is not the
    scheme's default, and more so at a reserved one; RFC 3986 names only these.

    Source: RFC 3986 section 7; RFC 1738 section 6; url-syntax-05 section 7.

    >>> [caution.name for caution in canonry.cautions("http://example.com@0x7f.1/")]
    ['IPV4', 'USERINFO']
    """
    try:
        text = to_text(url)
    except InvalidURL:
        return ()
    parts = Parts.of(text)
    return tuple(caution for caution, holds in _CHECKS if holds(text, parts))


def _has_other_port(_text: str, parts: Parts) -> bool:
    default = schemes.of((parts.scheme or "").lower()).port
    return bool(parts.port) and _number(parts.port) != _number(default)


def _has_reserved_port(text: str, parts: Parts) -> bool:
    number = _number(parts.port)
    if number > _WELL_KNOWN or not _has_other_port(text, parts):
        return False
    # Servers of 80 and 443 expect what a browser sends.
    return number not in _WEB_PORTS or (parts.scheme or "").lower() not in schemes.NEEDS_HOST


def _number(port: str | None) -> int:
    """Return a port as a number, from six digits at most; ``-1`` if there is none."""
    return int(port.lstrip("0")[:6] or "0") if port else -1


def _is_rare_ipv4(_text: str, parts: Parts) -> bool:
    host = parts.host or ""
    return bool(_NUMBERS.fullmatch(host)) and not grammar.matches("IPv4address", host)


def _has_misleading_user(_text: str, parts: Parts) -> bool:
    user = (parts.userinfo or "").partition(":")[0]
    return "." in user or "%2e" in user.lower() or "@" in (parts.userinfo or "")


def _is_read_differently(text: str, parts: Parts) -> bool:
    if (parts.scheme or "").lower() not in schemes.SPECIAL:
        return False
    try:
        other = Parts.of(whatwg.serialize(text)).host or ""
        plain = Parts.of(whatwg.serialize(f"http://{parts.host}/")).host if parts.host else ""
    except InvalidURL:
        return False
    return plain != other


_CHECKS: tuple[tuple[Caution, Callable[[str, Parts], bool]], ...] = (
    (Caution.PORT, _has_other_port),
    (Caution.RESERVED_PORT, _has_reserved_port),
    (Caution.LINE_BREAK, lambda text, _parts: _LINE_BREAK.search(text) is not None),
    (Caution.IPV4, _is_rare_ipv4),
    (Caution.PASSWORD, lambda _text, parts: bool((parts.userinfo or "").partition(":")[2])),
    (Caution.USERINFO, _has_misleading_user),
    (Caution.HOST, _is_read_differently),
)
