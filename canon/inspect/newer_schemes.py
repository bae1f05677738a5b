"""Readers of the schemes that came after RFC 1738, or that a later document changed."""

import base64
import binascii
import re
from urllib.parse import unquote_to_bytes

from canonry.canon.inspect.forms import Blob, Data, Ldap, Mailto, Script, Tel, Urn
from canonry.canon.inspect.reading import (
    after_scheme,
    broken,
    decode,
    refuse_query,
    server,
    whole_path,
)
from canonry.canon.rules.by_scheme import PHONE_SEPARATORS
from canonry.canon.syntax.parts import Parts


def mailto(parts: Parts, text: str) -> Mailto:
    """Read addresses and header fields; ignore empty ones."""
    to, _, query = after_scheme(parts, text).partition("?")
    addresses = tuple(decode(address) for address in to.split(",") if address)
    fields = (field.partition("=") for field in query.split("&") if field)
    return Mailto(addresses, tuple((decode(n).lower(), decode(v)) for n, _, v in fields))


_URN = re.compile(r"([A-Za-z0-9][A-Za-z0-9\-]{0,30}[A-Za-z0-9]):(.+)", re.DOTALL)
_URN_QUERY = re.compile(r"(?:\+(.+?))?(?:\A=(.+)|\?=(.+))?", re.DOTALL)


def urn(parts: Parts, text: str) -> Urn:
    """Read a name and its components."""
    name = _URN.fullmatch(parts.path)
    given = None if parts.query is None else _URN_QUERY.fullmatch(parts.query)
    if name is None or parts.host is not None or (parts.query is not None and not given):
        raise broken(text, len("urn:"))
    resolution = given[1] if given else None
    query = (given[2] or given[3]) if given else None
    if given and resolution is None and query is None:
        raise broken(text, text.index("?"))
    return Urn(name[1].lower(), name[2], resolution, query, parts.fragment)


_NUMBER = re.compile(
    r"\+[0-9\-.()]*[0-9][0-9\-.()]*|[0-9A-Fa-f*#\-.()]*[0-9A-Fa-f*#][0-9A-Fa-f*#\-.()]*"
)


def tel(parts: Parts, text: str) -> Tel:
    """Read a telephone number."""
    number, *given = parts.path.split(";")
    pairs = [parameter.partition("=") for parameter in given]
    named = {name.lower() for name, _, _ in pairs}
    is_global = number.startswith("+")
    if not _NUMBER.fullmatch(number) or not (is_global or "phone-context" in named):
        raise broken(text, len("tel:"))
    refuse_query(parts, text)
    parameters = tuple((decode(n).lower(), decode(v) if s else None) for n, s, v in pairs)
    return Tel(number.translate(PHONE_SEPARATORS).upper(), is_global, parameters)


def data(parts: Parts, text: str) -> Data:
    """Read the content that a URL carries."""
    head, comma, body = whole_path(parts).partition(",")
    if not comma or parts.host is not None:
        raise broken(text, len(text))
    media, *given = head.split(";")
    encoded = bool(given) and given[-1].lower() == "base64"
    pairs = [parameter.partition("=") for parameter in (given[:-1] if encoded else given)]
    parameters = tuple((decode(name).lower(), decode(value)) for name, _, value in pairs)
    if not media and not parameters:
        parameters = (("charset", "US-ASCII"),)
    content = unquote_to_bytes(body)
    if encoded:
        try:
            content = base64.b64decode(content + b"=" * (-len(content) % 4), validate=True)
        except binascii.Error:
            raise broken(text, len("data:,") + len(head)) from None
    return Data(decode(media).lower() or "text/plain", parameters, content)


def ldap(parts: Parts, text: str) -> Ldap:
    """Read a search; without a host, the client chooses the server."""
    given = (parts.query or "").split("?", 3)
    attributes, scope, condition, extensions = [*given, "", "", ""][:4]
    if scope.lower() not in {"", "base", "one", "sub"}:
        raise broken(text, text.index("?"))
    return Ldap(
        server(parts, text, may_lack_host=True),
        decode(parts.path.removeprefix("/")),
        tuple(map(decode, attributes.split(","))) if attributes else (),
        scope.lower() or "base",
        decode(condition) or "(objectClass=*)",
        tuple(map(decode, extensions.split(","))) if extensions else (),
    )


def script(parts: Parts, text: str) -> Script:
    """Read a program."""
    return Script(decode(text[len(parts.scheme or "") + 1 :]))


def blob(parts: Parts, text: str) -> Blob:
    """Read the origin and the identifier of a blob."""
    path, mark, query = after_scheme(parts, text).partition("?")
    origin, _, name = path.rpartition("/")
    return Blob(origin, name + mark + query)
