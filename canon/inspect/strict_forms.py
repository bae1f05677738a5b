"""The grammars of single schemes, and the check against them, for `interpret(..., strict=True)`.

A URL is checked piece by piece: user, host, port, and all the rest up to the fragment. The position
of a fault is the end of the text that a piece's pattern matches from the left.
"""

import re
from collections.abc import Mapping
from functools import cache
from typing import NamedTuple

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.inspect.reading import after_scheme, path_start, whole_path
from canonry.canon.syntax import percent
from canonry.canon.syntax.grammar import matches
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.patterns import compile_pattern


class _Shape(NamedTuple):
    """The grammar of a scheme: a pattern for each piece; None if it has no such piece."""

    rest: str
    user: str | None = None
    host: str | None = None  # None: there is no authority, and two slashes belong to the rest
    port: str | None = None
    bare: bool = False  # the authority may be absent


def check(parts: Parts, text: str, document: str | None) -> None:
    """Refuse a URL that its scheme's grammar excludes.

    Args:
        parts: of the text.
        text: an absolute URL.
        document: ``"rfc1738"``, ``"url-1993"``, or None for the newest document of each scheme.

    Raises:
        InvalidURL: with the position of the fault.
    """
    shapes = _shapes(document)
    shape = shapes.get((parts.scheme or "").lower(), shapes[ANY])
    start = len(parts.scheme or "") + 1
    if (parts.host or "").startswith("[") and not matches("IP-literal", parts.host or ""):
        raise InvalidURL(Reason.HOST, text, text.index("["))
    if shape.host is None:
        _check(shape.rest, after_scheme(parts, text), text, start)
    else:
        if parts.host is not None:
            _check_authority(shape, parts, text, start + 2)
        elif not shape.bare:
            raise InvalidURL(Reason.FORM, text, start)
        _check(shape.rest, whole_path(parts), text, path_start(parts))
    if parts.fragment is not None:
        begin = len(text) - len(parts.fragment)
        _check(shapes[FRAGMENT].rest, f"#{parts.fragment}", text, begin - 1)


def _check_authority(shape: _Shape, parts: Parts, text: str, start: int) -> None:
    """Refuse a user, a host or a port that a grammar excludes."""
    if parts.userinfo is not None:
        if shape.user is None:
            raise InvalidURL(Reason.FORM, text, start)
        _check(shape.user, parts.userinfo, text, start)
        start += len(parts.userinfo) + 1
    host = parts.host or ""
    _check(shape.host or "", host, text, start, Reason.HOST)
    if parts.port is not None:
        if shape.port is None:
            raise InvalidURL(Reason.FORM, text, start + len(host))
        _check(shape.port, parts.port, text, start + len(host) + 1, Reason.PORT)


def _check(pattern: str, piece: str, text: str, start: int, reason: Reason = Reason.FORM) -> None:
    """Refuse a piece of a text that a pattern does not match as a whole."""
    compiled = _compiled(pattern)
    if not compiled.fullmatch(piece):
        longest = compiled.match(piece)
        raise InvalidURL(reason, text, start + (longest.end() if longest else 0))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use."""
    return compile_pattern(pattern)


# Keys of rows that are no schemes.
ANY = ""  # every scheme that the document does not define
FRAGMENT = "#"


_ESCAPE = "%[0-9A-Fa-f]{2}"


def _any_of(characters: str) -> str:
    """Return a pattern for one of these characters, given as in a character class, or an escape."""
    return rf"(?:[{characters}]|{_ESCAPE})"


# RFC 1738 section 5, from "hostname" on. Quantifiers are possessive where they can be, so that time
# is linear.
_TAIL = "[A-Za-z0-9]*+(?:-++[A-Za-z0-9]++)*+"
_NUMBER = r"[0-9]++\.[0-9]++\.[0-9]++\.[0-9]++"
_HOST_1738 = rf"(?:(?:[A-Za-z0-9]{_TAIL}\.)*[A-Za-z]{_TAIL}|{_NUMBER})"
_UCHAR_1738 = r"A-Za-z0-9$\-_.+!*'(),"
# Its successors take characters, hosts and ports from RFC 3986, where "~" is unreserved.
_UCHAR = _UCHAR_1738 + "~"
_HOST = rf"(?:\[[^\[\]]++\]|{_any_of(re.escape(percent.REG_NAME))}++)"  # brackets: see `check`
_PORT = "[0-9]*+"
_USER = rf"{_any_of(re.escape(percent.USERINFO))}*+"
_PCHAR = _any_of(re.escape(percent.PCHAR))
_QUERY = rf"{_any_of(re.escape(percent.QUERY))}*+"
_SLASHED = rf"(?:{_PCHAR}|/)*+"


def _of_1738(uchar: str, host: str, port: str) -> dict[str, _Shape]:
    """Return the grammars of RFC 1738 section 5, for a class "uchar", a host and a port."""
    segment = _any_of(uchar + "?:@&=")  # of ftp, file and prospero
    h_segment = _any_of(uchar + ";:@&=")  # of http, and of searches
    x_char = _any_of(uchar + ";/?:@&=")
    selected = rf"(?:(?!%0[9AaDd]){x_char})"  # a selector holds no tab and no line break
    searched = rf"(?:(?!%09){h_segment})*+"
    uchars = rf"{_any_of(uchar)}*+"
    field = rf"{_any_of(uchar + '?:@&')}*+"
    login = rf"{_any_of(uchar + ';&=')}*+(?::{_any_of(uchar + ';&=')}*+)?"
    path = rf"/{segment}*+(?:/{segment}*+)*+"
    article = rf"{_any_of(uchar + ';/?:&=')}++@{host}"
    group = r"[A-Za-z][A-Za-z0-9\-.+_]*+"

    def at_server(rest: str, user: str | None = None) -> _Shape:
        return _Shape(rest, user, host, port)

    return {
        "ftp": at_server(rf"(?:{path}(?:;type=[AIDaid])?)?", login),
        "file": _Shape(path, host=rf"(?:{host})?"),
        "http": at_server(rf"(?:/{h_segment}*+(?:/{h_segment}*+)*+(?:\?{h_segment}*+)?)?"),
        "gopher": at_server(rf"(?:/(?:{selected}++(?:%09{searched}(?:%09{x_char}*+)?)?)?)?"),
        "mailto": _Shape(rf"{x_char}++"),
        "news": _Shape(rf"(?:\*|{article}|{group})"),
        "nntp": at_server(rf"/{group}(?:/[0-9]++)?"),
        "telnet": at_server("/?", login),
        "wais": at_server(rf"/{uchars}(?:\?{h_segment}*+|/{uchars}/{uchars})?"),
        "prospero": at_server(rf"{path}(?:;{field}={field})*+"),
        ANY: _Shape(rf"{x_char}*+"),  # a server has no grammar of its own here
        FRAGMENT: _Shape("(?!)"),  # no fragment is part of a URL
    }


def _of_1993() -> dict[str, _Shape]:
    """Return the grammars of the draft of 1993 ("BNF")."""
    x_alpha = r"A-Za-z0-9$\-_.&!*\"'():;, @"
    in_names = x_alpha.replace(":", "").replace("@", "")  # hosts and users end there
    word = _any_of(x_alpha)
    element = _any_of(x_alpha + "+")
    path = rf"(?:{element}++(?:/{element}++)*+/?)?"
    search = rf"\?{word}++(?:\+{word}++)*+"
    host = rf"(?:{_NUMBER}|[A-Za-z]{_any_of(in_names)}*+)"
    user = rf"{_any_of(in_names)}++"
    named = rf"(?:(?!%00){element})++"
    mark = r"(?:%00[0-9]*+(?:%00[A-Za-z0-9]++)*+)?"

    def at_server(rest: str, user: str | None = None) -> _Shape:
        return _Shape(rest, user, host, "[0-9]++")

    return {
        "http": at_server(rf"(?:/{path})?(?:{search})?"),
        "ftp": at_server(rf"/{path}", rf"{user}(?::{user})?"),  # prose has user and password
        "news": _Shape(rf"(?:\*|{_any_of(x_alpha.replace('@', ''))}++@{host}|[A-Za-z]{word}*+)"),
        "wais": at_server(rf"/{word}++(?:{search}|/{word}++/[0-9]++/{path})?"),
        "prospero": at_server(rf"/{named}(?:/{named})*+/?{mark}"),
        "gopher": at_server(rf"(?:/{path})?(?:{search})?"),
        **dict.fromkeys(("telnet", "rlogin", "tn3270"), at_server("", user)),
        "afs": _Shape(rf"/{path}", host=host),
        ANY: _Shape(rf"/?{path}(?:{search})?", user, host, "[0-9]++", bare=True),
        FRAGMENT: _Shape(rf"#{word}*+"),
    }


def _of_today() -> dict[str, _Shape]:
    """Return the grammars of each scheme's newest document, and what RFC 1738 allows besides."""
    older, oldest = _of_1738(_UCHAR, _HOST, _PORT), _of_1993()
    web = _Shape(rf"(?:/{_PCHAR}*+)*+(?:\?{_QUERY})?", None, _HOST, _PORT)
    ldap = _Shape(rf"(?:/{_SLASHED}(?:\?{_SLASHED}){{0,4}})?", None, rf"(?:{_HOST})?", _PORT)
    article = rf"{_any_of(_UCHAR + ';/?:&=')}++@{_HOST}"
    names = rf"(?:\*|{article}|[A-Za-z0-9][A-Za-z0-9\-.+_]*+)"
    token = _any_of(r"A-Za-z0-9!$&\-_.+*'~()") + "++"
    value = r"(?:[A-Za-z0-9\-_.!~*'()\[\]/:&+$]|%[0-9A-Fa-f]{2})++"
    return {
        **older,
        **dict.fromkeys(("http", "https", "ws", "wss"), web),
        **dict.fromkeys(("ldap", "ldaps"), ldap),
        "tn3270": older["telnet"],
        "rlogin": oldest["rlogin"],
        "afs": oldest["afs"],
        "sftp": web._replace(rest=rf"(?:/{_PCHAR}*+)*+", user=_USER),
        "file": older["file"]._replace(bare=True),
        "mailto": _Shape(rf"{_any_of(_UCHAR + ';/?:@&=')}*+"),
        "news": _Shape(rf"(?://{_HOST}(?::{_PORT})?(?:/{names}?)?|{names})"),
        "urn": _Shape(
            rf"[A-Za-z0-9][A-Za-z0-9\-]{{0,30}}[A-Za-z0-9]:{_PCHAR}{_SLASHED}"
            rf"(?:\?[+=]{_PCHAR}{_QUERY})?"
        ),
        "tel": _Shape(rf"\+?[0-9A-Fa-f*\-.()]++(?:;[A-Za-z0-9\-]++(?:={value})?)*+"),
        "data": _Shape(
            rf"(?:{token}/{token})?(?:;{token}={token})*+(?:;[Bb][Aa][Ss][Ee]64)?,{_QUERY}"
        ),
        "javascript": _Shape(_QUERY),
        "blob": _Shape(_QUERY),
        ANY: _Shape(rf"(?:{_PCHAR}|[/?])*+", _USER, rf"(?:{_HOST})?", _PORT, bare=True),
        FRAGMENT: _Shape(rf"#{_QUERY}"),
    }


@cache
def _shapes(document: str | None) -> Mapping[str, _Shape]:
    """Return the grammars of a document."""
    if document is None:
        return _of_today()
    return _of_1993() if document == "url-1993" else _of_1738(_UCHAR_1738, _HOST_1738, "[0-9]++")
