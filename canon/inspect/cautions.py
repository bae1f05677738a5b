"""What a URL may hide from its readers: the security considerations of RFC 3986 section 7."""

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

    PORT = "the port belongs to another protocol, whose server may act on the request (section 7.2)"
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

    Source: RFC 3986 section 7.

    >>> [caution.name for caution in cautions("http://example.com@0x7f.1/")]
    ['IPV4', 'USERINFO']
    """
    try:
        text = to_text(url)
    except InvalidURL:
        return ()
    parts = Parts.of(text)
    return tuple(caution for caution, holds in _CHECKS if holds(text, parts))


def _has_foreign_port(_text: str, parts: Parts) -> bool:
    if not parts.port or parts.port == schemes.of((parts.scheme or "").lower()).port:
        return False
    number = int(parts.port[-6:])
    return number <= _WELL_KNOWN and number not in _WEB_PORTS


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
    (Caution.PORT, _has_foreign_port),
    (Caution.LINE_BREAK, lambda text, _parts: _LINE_BREAK.search(text) is not None),
    (Caution.IPV4, _is_rare_ipv4),
    (Caution.PASSWORD, lambda _text, parts: bool((parts.userinfo or "").partition(":")[2])),
    (Caution.USERINFO, _has_misleading_user),
    (Caution.HOST, _is_read_differently),
)
