"""w3lib's canonical form, on which Scrapy's fingerprints are based, as of w3lib 2.5.

It is for users who must keep old keys while they migrate. The form is a key, not a URL to request:
it sorts parameters, decodes escapes, and makes some different URLs equal.
"""

import codecs
import ipaddress
import re
import unicodedata
from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes, uses_netloc, uses_params

_SPECIAL = frozenset({"ftp", "file", "http", "https", "ws", "wss"})
_EDGES = "".join(map(chr, range(33)))  # C0 controls and the space
_DROPPED = str.maketrans("", "", "\t\n\r")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.\-]*):")
_REST = re.compile(
    r"(?://(?P<net>[^/?#]*))?(?P<path>[^?#]*)(?:\?(?P<q>[^#]*))?(?:#(?P<f>.*))?", re.DOTALL
)
_SUB_DELIMS = "!$&'()*+,;="
_IN_USERINFO = _SUB_DELIMS.translate(str.maketrans("", "", ";="))
_IN_PATH = f":/?@{_SUB_DELIMS}%"  # while the URL is made safe
_OF_PATH = f"{_IN_PATH}[]|"  # when the path is written
_IN_FIELDS = {True: _IN_PATH.replace("'", ""), False: _IN_PATH}
_KEPT = re.compile("%(25|2[fF]|3[bBfF])")  # escapes of %, /, ; and ? stay in a path
_FUTURE = re.compile(r"[vV][A-Fa-f0-9]+\..+")
_DELIMITERS = re.compile(r"[/?#@:\\]")
_MOST_PORT = 65_535


class _Split(NamedTuple):
    scheme: str
    netloc: str
    path: str
    query: str
    fragment: str


def canonicalize_url(
    url: str | bytes,
    keep_blank_values: bool = True,  # noqa: FBT001, FBT002 - w3lib's signature
    keep_fragments: bool = False,  # noqa: FBT001, FBT002 - w3lib's signature
    encoding: str | None = None,
) -> str:
    """Return the canonical form that ``w3lib.url.canonicalize_url`` returns.

    Args:
        url: bytes are decoded by ``encoding``.
        keep_blank_values: False to remove parameters without a value.
        keep_fragments: True to keep the fragment.
        encoding: of the bytes, and of the query; UTF-8 by default.

    Raises:
        ValueError: where w3lib raises one.
    """
    try:
        safe = _safe(url, encoding or "utf-8")
    except UnicodeEncodeError:
        safe = _safe(url, "utf-8")
    path, semicolon, parameters = _without_parameters(safe)
    fields = []
    for field in safe.query.split("&") if safe.query else []:
        name, _, value = field.partition("=")
        if field and (value or keep_blank_values):
            fields.append((_of_form(name), _of_form(value)))
    query = "&".join(f"{_to_form(name)}={_to_form(value)}" for name, value in sorted(fields))
    path = (
        quote(
            unquote_to_bytes(_KEPT.sub(lambda kept: f"%25{kept[1].upper()}", path)), safe=_OF_PATH
        )
        or "/"
    )
    if path.startswith("/"):
        path = _without_dots(path)
    userinfo, at, host = safe.netloc.rpartition("@")
    netloc = _with_short_ipv6(userinfo + at + host.lower().removesuffix(":"))
    path += f";{parameters}" if semicolon and parameters else ""
    fragment = safe.fragment if keep_fragments else ""
    return _joined(_Split(safe.scheme, netloc, path, query, fragment))


def _safe(url: str | bytes, encoding: str) -> _Split:
    """Split a URL, and escape the characters that are not allowed in each part."""
    text = url if isinstance(url, str) else url.decode(encoding, _ESCAPE)
    split = _split(text.strip(_EDGES).translate(_DROPPED).lstrip(_EDGES))
    special = split.scheme in _SPECIAL
    netloc = _safe_netloc(split.netloc)
    path = quote(split.path.encode(), safe=_IN_PATH)
    query = quote(split.query.encode(encoding), safe=_IN_FIELDS[special])
    fragment = quote(split.fragment.encode(encoding), safe=_IN_PATH)
    return _Split(split.scheme, netloc, path or ("/" if query and special else ""), query, fragment)


def _split(text: str) -> _Split:
    """Split a URL into its components; treat backslashes as slashes where browsers do."""
    found = _SCHEME.match(text)
    scheme, rest = (found[1].lower(), text[found.end() :]) if found else ("", text)
    if scheme in _SPECIAL:
        before = re.match("[^?#]*", rest)
        end = before.end() if before else 0
        rest = rest[:end].replace("\\", "/") + rest[end:]
    parts = _REST.fullmatch(rest)
    if parts is None:  # pragma: no cover - it matches every text
        raise ValueError(text)
    return _Split(scheme, parts["net"] or "", parts["path"], parts["q"] or "", parts["f"] or "")


def _safe_netloc(netloc: str) -> str:
    """Return an authority with an ASCII host, a number as port, and escaped userinfo."""
    if ("[" in netloc) is not ("]" in netloc):
        raise ValueError("brackets that do not match")
    userinfo, at, place = netloc.rpartition("@")
    if "[" in netloc:
        _check_brackets(place)
    if not netloc.isascii():
        cleaned, normal = _normal(netloc)
        if cleaned != normal and _DELIMITERS.search(normal):
            raise ValueError("a host that becomes another part of the URL")
    if "[" in netloc:
        host, _, after = place.partition("[")[2].partition("]")
        port = after.partition(":")[2]
    else:
        host, _, port = place.partition(":")
    if port and not (port.isascii() and port.isdigit() and int(port) <= _MOST_PORT):
        raise ValueError("a port that is none")
    name, colon, password = userinfo.partition(":")
    user = quote(unquote_to_bytes(name), safe=_IN_USERINFO) if at else ""
    if at and colon:
        user += ":" + quote(unquote_to_bytes(password), safe=_IN_USERINFO)
    return user + at + _ascii_host(host) + (f":{int(port)}" if port else "")


def _ascii_host(host: str) -> str:
    """Return a host in lower case and ASCII, or unchanged except for case if IDNA refuses it."""
    before, percent, zone = host.partition("%")
    lowered = before.lower() + percent + zone
    if ":" in lowered:
        return f"[{lowered.encode('ascii').decode()}]"
    if lowered.isascii():
        return lowered
    try:
        return _normal(lowered)[1].encode("idna").decode()
    except UnicodeError:
        return lowered.encode().decode()


def _normal(netloc: str) -> tuple[str, str]:
    """Return an authority without its delimiters, and the same in the form NFKC."""
    cleaned = netloc.translate(str.maketrans("", "", "@:#?"))
    return cleaned, unicodedata.normalize("NFKC", cleaned)


def _check_brackets(place: str) -> None:
    """Raise an error unless brackets enclose an IPv6 address, or one of a future version."""
    before, bracket, rest = place.partition("[")
    host, _, after = rest.partition("]") if bracket else place.partition(":")
    if bracket and (before or (after and not after.startswith(":"))):
        raise ValueError("text beside brackets")
    if host[:1] in {"v", "V"}:
        if not _FUTURE.fullmatch(host):
            raise ValueError("an address of a future version that is none")
    elif isinstance(ipaddress.ip_address(host), ipaddress.IPv4Address):
        raise ValueError("IPv4 in brackets")


def _without_parameters(split: _Split) -> tuple[str, str, str]:
    """Split off the parameters of the last segment, if the scheme has parameters."""
    if split.scheme not in uses_params:
        return split.path, "", ""
    before, slash, last = split.path.rpartition("/")
    name, semicolon, parameters = last.partition(";")
    return before + slash + name, semicolon, parameters


def _of_form(text: str) -> bytes:
    """Decode a field of a form."""
    return unquote_to_bytes(text.replace("+", " "))


def _to_form(content: bytes) -> str:
    """Encode a field of a form."""
    return quote(content, safe=" ").replace(" ", "+")


def _without_dots(path: str) -> str:
    """Remove dot segments (RFC 3986 section 5.2.4)."""
    *segments, last = path[1:].split("/")
    kept: list[str] = []
    for segment in (*segments, last) if last in {".", ".."} else segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    return "/" + "/".join([*kept, "" if last in {".", ".."} else last])


def _with_short_ipv6(netloc: str) -> str:
    """Write an IPv6 address in its shortest form (RFC 5952)."""
    before, bracket, rest = netloc.partition("[")
    host, closed, after = rest.partition("]")
    try:
        address = ipaddress.ip_address(host) if bracket and closed else None
    except ValueError:
        return netloc
    return f"{before}[{address}]{after}" if isinstance(address, ipaddress.IPv6Address) else netloc


def _joined(split: _Split) -> str:
    """Compose a URL from its components."""
    scheme, netloc, path, query, fragment = split
    if netloc:
        path = f"//{netloc}{path if path[:1] in {'', '/'} else f'/{path}'}"
    elif path[:2] == "//" or (scheme and scheme in uses_netloc and path[:1] in {"", "/"}):
        path = f"//{path}"
    whole = f"{scheme}:{path}" if scheme else path
    whole += f"?{query}" if query else ""
    return whole + (f"#{fragment}" if fragment else "")


def _escape(error: UnicodeError) -> tuple[str, int]:
    """Replace bytes that an encoding does not have with percent-escapes."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return quote(error.object[error.start : error.end]), error.end


_ESCAPE = "canonry-escape"
codecs.register_error(_ESCAPE, _escape)
