"""Reading a URL by the syntax of its own scheme."""

import base64
import binascii
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.inspect.forms import (
    Afs,
    Blob,
    Data,
    File,
    Form,
    Ftp,
    Gopher,
    Ldap,
    Mailto,
    News,
    Nntp,
    Prospero,
    Script,
    Server,
    Tel,
    Terminal,
    Urn,
    Wais,
    Web,
)
from canonry.canon.rules.by_scheme import PHONE_SEPARATORS
from canonry.canon.syntax import schemes
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.percent import to_text
from canonry.canon.syntax.uri import parse


def interpret(url: str | bytes) -> Form:
    """Return what an absolute URL means by the specification of its scheme.

    Returns:
        One of the tuples of `canonry.canon.inspect.forms`; for an unknown scheme (``x-`` schemes
        are among these), the five generic components.

    Raises:
        InvalidURL: the URL is relative, or breaks the syntax of its scheme.

    Source: RFC 1738 section 3 and the documents named at each result type.
    """
    text = to_text(url)
    parts = Parts.of(text)
    if parts.scheme is None:
        raise InvalidURL(Reason.RELATIVE if text else Reason.EMPTY, text)
    read = FORMS.get(parts.scheme.lower())
    return parse(text) if read is None else read(parts, text)


def _decode(text: str) -> str:
    """Decode escapes; bytes that are not UTF-8 become surrogates (PEP 383)."""
    return unquote_to_bytes(text).decode("utf-8", "surrogateescape")


def _broken(text: str, position: int = 0) -> InvalidURL:
    """Return the error for a URL that breaks the syntax of its scheme."""
    return InvalidURL(Reason.FORM, text, position)


def _server(parts: Parts, text: str) -> Server:
    """Return the server that the authority names; the authority must not be empty."""
    if not parts.host:
        raise InvalidURL(Reason.NO_HOST, text, len(parts.scheme or "") + 1)
    if parts.port and len(parts.port) > 5:  # noqa: PLR2004 - digits of 65535
        raise InvalidURL(Reason.PORT, text, text.index(parts.host) + len(parts.host) + 1)
    user, colon, password = (parts.userinfo or "").partition(":")
    port = parts.port or schemes.of((parts.scheme or "").lower()).port
    return Server(
        None if parts.userinfo is None else _decode(user),
        _decode(password) if colon else None,
        _decode(parts.host).lower(),
        int(port) if port else None,
    )


def _whole_path(parts: Parts) -> str:
    """Return the path with the query appended: older schemes have no query."""
    return parts.path if parts.query is None else f"{parts.path}?{parts.query}"


def _web(parts: Parts, text: str) -> Web:
    return Web(_server(parts, text), parts.path or "/", parts.query)


_FTP_TYPE = re.compile(r";type=([^;/]*)\Z", re.IGNORECASE)


def _ftp(parts: Parts, text: str) -> Ftp:
    server = _server(parts, text)
    path = _whole_path(parts)
    kind = _FTP_TYPE.search(path)
    if kind is not None and kind[1].lower() not in {"a", "i", "d"}:
        raise _broken(text, len(text) - len(kind[1]))
    path = path if kind is None else path[: kind.start()]
    *directories, name = path.removeprefix("/").split("/")
    directories = [_decode(directory) for directory in directories]
    return Ftp(server, tuple(directories), _decode(name), kind and kind[1].lower())


def _gopher(parts: Parts, text: str) -> Gopher:
    server = _server(parts, text)
    path = _whole_path(parts).removeprefix("/")
    item, *more = map(_decode, path.split("%09", 2))
    search, plus = [*more, None, None][:2]
    return Gopher(server, item[:1] or "1", item[1:], search, plus)


def _mailto(parts: Parts, _text: str) -> Mailto:
    addresses = tuple(_decode(address) for address in parts.path.split(",") if address)
    fields = (field.partition("=") for field in (parts.query or "").split("&") if field)
    return Mailto(addresses, tuple((_decode(n).lower(), _decode(v)) for n, _, v in fields))


def _news(parts: Parts, text: str) -> News:
    server = None if parts.host is None else _server(parts, text)
    name = _decode(_whole_path(parts))
    if server is not None:
        name = name.removeprefix("/")
    if name == "*" or (not name and server is not None):
        return News(server, "all", "*")
    if not name:
        raise _broken(text, len(text))
    return News(server, "message" if "@" in name else "group", name)


def _nntp(parts: Parts, text: str) -> Nntp:
    server = _server(parts, text)
    group, slash, article = parts.path.removeprefix("/").partition("/")
    if not group or (slash and not article.isdecimal()):
        raise _broken(text, len(text) - len(article))
    return Nntp(server, _decode(group), article or None)


def _terminal(parts: Parts, text: str) -> Terminal:
    if parts.path not in {"", "/"}:
        raise _broken(text, len(text) - len(parts.path))
    return Terminal(_server(parts, text))


def _wais(parts: Parts, text: str) -> Wais:
    server = _server(parts, text)
    database, *document = parts.path.removeprefix("/").split("/", 2)
    if not database or len(document) == 1:
        raise _broken(text, len(text) - len(_whole_path(parts)))
    kind, path = document or (None, None)
    first, slash, rest = (path or "").partition("/")
    length = int(_decode(first)) if slash and _LENGTH.fullmatch(_decode(first)) else None
    path = path if length is None else rest
    kind, path, search = (text and _decode(text) for text in (kind, path, parts.query))
    return Wais(server, _decode(database), search, kind, path, length)


_LENGTH = re.compile("[0-9]{1,18}")  # of a document, in octets


_DRIVE = re.compile(r"/?([A-Za-z])[:|](/.*|\Z)", re.DOTALL)


def _file(parts: Parts, _text: str) -> File:
    host = (parts.host or "").lower()
    path = _decode(parts.path)
    drive = _DRIVE.match(path)
    host = "" if host == "localhost" else host
    return File(host, drive[1], drive[2]) if drive else File(host, None, path)


def _prospero(parts: Parts, text: str) -> Prospero:
    server = _server(parts, text)
    name, *given = parts.path.removeprefix("/").split(";")
    fields = [field.partition("=") for field in given]
    if not name or not all(sign for _, sign, _ in fields):
        raise _broken(text, len(text) - len(_whole_path(parts)))
    name, *after = name.split("%00")
    version, more = (_decode(after[0]), after[1:]) if after else (None, [])
    pairs = tuple((_decode(key), _decode(value)) for key, _, value in fields)
    return Prospero(server, _decode(name), version, pairs, tuple(map(_decode, more)))


def _afs(parts: Parts, text: str) -> Afs:
    if parts.userinfo is not None or parts.port is not None:
        raise _broken(text, len(parts.scheme or "") + 3)
    return Afs(_server(parts, text).host, _decode(_whole_path(parts)))


_URN = re.compile(r"([A-Za-z0-9][A-Za-z0-9\-]{0,30}[A-Za-z0-9]):(.+)", re.DOTALL)
_URN_QUERY = re.compile(r"(?:\+(.+?))?(?:\A=(.+)|\?=(.+))?", re.DOTALL)


def _urn(parts: Parts, text: str) -> Urn:
    name = _URN.fullmatch(parts.path)
    given = None if parts.query is None else _URN_QUERY.fullmatch(parts.query)
    if name is None or parts.host is not None or (parts.query is not None and not given):
        raise _broken(text, len("urn:"))
    resolution = given[1] if given else None
    query = (given[2] or given[3]) if given else None
    if given and resolution is None and query is None:
        raise _broken(text, text.index("?"))
    return Urn(name[1].lower(), name[2], resolution, query, parts.fragment)


_NUMBER = re.compile(
    r"\+[0-9\-.()]*[0-9][0-9\-.()]*|[0-9A-Fa-f*#\-.()]*[0-9A-Fa-f*#][0-9A-Fa-f*#\-.()]*"
)


def _tel(parts: Parts, text: str) -> Tel:
    number, *given = parts.path.split(";")
    pairs = [parameter.partition("=") for parameter in given]
    named = {name.lower() for name, _, _ in pairs}
    is_global = number.startswith("+")
    if not _NUMBER.fullmatch(number) or not (is_global or "phone-context" in named):
        raise _broken(text, len("tel:"))
    parameters = tuple((_decode(n).lower(), _decode(v) if s else None) for n, s, v in pairs)
    return Tel(number.translate(PHONE_SEPARATORS).upper(), is_global, parameters)


def _data(parts: Parts, text: str) -> Data:
    head, comma, body = _whole_path(parts).partition(",")
    if not comma or parts.host is not None:
        raise _broken(text, len(text))
    media, *given = head.split(";")
    encoded = bool(given) and given[-1].lower() == "base64"
    pairs = [parameter.partition("=") for parameter in (given[:-1] if encoded else given)]
    parameters = tuple((_decode(name).lower(), _decode(value)) for name, _, value in pairs)
    if not media and not parameters:
        parameters = (("charset", "US-ASCII"),)
    content = unquote_to_bytes(body)
    if encoded:
        try:
            content = base64.b64decode(content + b"=" * (-len(content) % 4), validate=True)
        except binascii.Error:
            raise _broken(text, len(text) - len(body)) from None
    return Data(_decode(media).lower() or "text/plain", parameters, content)


def _ldap(parts: Parts, text: str) -> Ldap:
    server = _server(parts, text)
    attributes, scope, condition, extensions = [*(parts.query or "").split("?"), "", "", ""][:4]
    if scope.lower() not in {"", "base", "one", "sub"}:
        raise _broken(text, text.index("?"))
    return Ldap(
        server,
        _decode(parts.path.removeprefix("/")),
        tuple(map(_decode, attributes.split(","))) if attributes else (),
        scope.lower() or "base",
        _decode(condition) or "(objectClass=*)",
        tuple(map(_decode, extensions.split(","))) if extensions else (),
    )


def _script(parts: Parts, text: str) -> Script:
    return Script(_decode(text[len(parts.scheme or "") + 1 :]))


def _blob(parts: Parts, _text: str) -> Blob:
    origin, _, name = parts.path.rpartition("/")
    return Blob(origin, name)


FORMS: dict[str, Callable[[Parts, str], Form]] = {
    "http": _web,
    "https": _web,
    "ws": _web,
    "wss": _web,
    "ftp": _ftp,
    "sftp": _ftp,
    "gopher": _gopher,
    "mailto": _mailto,
    "news": _news,
    "nntp": _nntp,
    "telnet": _terminal,
    "tn3270": _terminal,
    "rlogin": _terminal,
    "wais": _wais,
    "file": _file,
    "prospero": _prospero,
    "afs": _afs,
    "urn": _urn,
    "tel": _tel,
    "data": _data,
    "ldap": _ldap,
    "ldaps": _ldap,
    "javascript": _script,
    "blob": _blob,
}
