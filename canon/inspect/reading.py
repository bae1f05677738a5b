"""What the readers of all schemes share: decoding, the server, and the error for a broken URL."""

from urllib.parse import unquote_to_bytes

from canonry.canon.errors import InvalidURL, Reason
from canonry.canon.inspect.forms import Server
from canonry.canon.syntax import schemes
from canonry.canon.syntax.parts import Parts
from canonry.canon.syntax.uri import MAX_PORT


def decode(text: str) -> str:
    """Decode escapes; bytes that are not UTF-8 become surrogates (PEP 383)."""
    return unquote_to_bytes(text).decode("utf-8", "surrogateescape")


def broken(text: str, position: int = 0) -> InvalidURL:
    """Return the error for a URL that breaks the syntax of its scheme."""
    return InvalidURL(Reason.FORM, text, position)


def path_start(parts: Parts) -> int:
    """Return the position at which the path begins."""
    return len(str(parts._replace(path="", query=None, fragment=None)))


def whole_path(parts: Parts) -> str:
    """Return the path with the query appended: older schemes have no query."""
    return parts.path if parts.query is None else f"{parts.path}?{parts.query}"


def after_scheme(parts: Parts, text: str) -> str:
    """Return all between the scheme and the fragment, for schemes that have no authority."""
    return text[len(parts.scheme or "") + 1 :].partition("#")[0]


def refuse_query(parts: Parts, text: str) -> None:
    """Refuse a query, in a scheme that has none and whose path cannot hold a question mark.

    Raises:
        InvalidURL: there is one.
    """
    if parts.query is not None:
        raise broken(text, path_start(parts) + len(parts.path))


def words(search: str | None) -> tuple[str, ...]:
    """Return the words of a search, which the draft of 1993 joins with ``+``."""
    return tuple(map(decode, search.split("+"))) if search else ()


def server(parts: Parts, text: str, *, may_lack_host: bool = False) -> Server:
    """Return the server that the authority names, with the scheme's default port.

    Raises:
        InvalidURL: there is no authority, a required host is empty, or the port is too large.
    """
    if parts.host is None or not (parts.host or may_lack_host):
        raise InvalidURL(Reason.NO_HOST, text, len(parts.scheme or "") + 1)
    port = parts.port or schemes.of((parts.scheme or "").lower()).port
    user, colon, password = (parts.userinfo or "").partition(":")
    return Server(
        None if parts.userinfo is None else decode(user),
        decode(password) if colon else None,
        decode(parts.host).lower(),
        _number(port, parts, text),
    )


def _number(port: str | None, parts: Parts, text: str) -> int | None:
    """Return a port as a number."""
    number = int(port.lstrip("0")[:6] or "0") if port else None
    if number is not None and number > MAX_PORT:
        raise InvalidURL(Reason.PORT, text, path_start(parts) - len(parts.port or ""))
    return number


def port_of(parts: Parts, text: str) -> int | None:
    """Return the port in the URL, never the scheme's default."""
    return _number(parts.port, parts, text)
