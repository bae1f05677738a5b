"""The lossless rules of single schemes: spellings that their own specifications declare equal."""

import re

from canonry.canon.syntax.parts import Parts

_FTP_TYPE = re.compile(r";type=[aid]\Z", re.IGNORECASE)
_URN = re.compile(r"[A-Za-z0-9][A-Za-z0-9\-]{0,30}[A-Za-z0-9]:")
_DRIVE = re.compile(
    r"(/[A-Za-z])(?:\||%7C)(?=/|\Z)"
)  # "%7C", because the grammar does not allow "|"
PHONE_SEPARATORS = str.maketrans("", "", "-.()")
_PHONE = re.compile(r"\+?[0-9A-Fa-f*#\-.()]+\Z")
_MEDIA_TYPE = re.compile(r"[A-Za-z0-9!#$&^_.+\-]+/[A-Za-z0-9!#$&^_.+\-]+")
_FTP = frozenset({"ftp", "ftps", "sftp"})
_LDAP = frozenset({"ldap", "ldaps"})


def fold_mailto(parts: Parts) -> Parts:
    """Convert domains and names of header fields to lower case, but not local parts."""
    if parts.scheme != "mailto" or parts.host is not None:
        return parts
    path = ",".join(_lower_domain(address) for address in parts.path.split(","))
    query = parts.query
    if query:
        headers = (header.partition("=") for header in query.split("&"))
        query = "&".join(f"{name.lower()}{sign}{value}" for name, sign, value in headers)
    return _with(parts, path, query)


def _with(parts: Parts, path: str, query: str | None) -> Parts:
    """Return the parts with this path and query; the same object if they are equal."""
    if (path, query) == (parts.path, parts.query):
        return parts
    return parts._replace(path=path, query=query)


def _lower_domain(address: str) -> str:
    """Convert the domain of an address to lower case, unless it holds escapes."""
    local, at, domain = address.rpartition("@")
    return f"{local}{at}{domain.lower()}" if at and "%" not in domain else address


def fold_urn(parts: Parts) -> Parts:
    """Lower-case the namespace identifier; remove the components that equivalence ignores."""
    match = _URN.match(parts.path)
    if parts.scheme != "urn" or parts.host is not None or match is None:
        return parts
    path = match[0].lower() + parts.path[match.end() :]
    query = None if parts.query and parts.query[0] in "+=" else parts.query
    if parts.fragment is not None:
        return parts._replace(path=path, query=query, fragment=None)
    return _with(parts, path, query)


def strip_phone(parts: Parts) -> Parts:
    """Remove the visual separators of a telephone number, and sort its parameters."""
    if parts.scheme != "tel" or parts.host is not None:
        return parts
    number, *parameters = parts.path.lower().split(";")
    if _PHONE.match(number) is None:
        return parts
    kept = sorted(p.translate(PHONE_SEPARATORS) if p.startswith("ext=") else p for p in parameters)
    path = ";".join([number.translate(PHONE_SEPARATORS) or number, *kept])
    return parts if "%" in path else _with(parts, path, parts.query)


def empty_local_host(parts: Parts) -> Parts:
    """Write a local file with an empty authority, and a drive letter with a colon."""
    if parts.scheme != "file" or parts.userinfo is not None or parts.port is not None:
        return parts
    host = parts.host
    if host == "localhost" or (host is None and parts.path.startswith("/")):
        host = ""
    path = parts.path
    if parts.host is None and path.startswith("/.//"):
        path = path[2:]  # "/." only kept "//" from being read as an authority
    if drive := _DRIVE.match(path):
        path = f"{drive[1]}:{path[drive.end() :]}"
    return (
        parts if (host, path) == (parts.host, parts.path) else parts._replace(host=host, path=path)
    )


def lower_transfer_type(parts: Parts) -> Parts:
    """Convert the transfer type to lower case."""
    if parts.scheme not in _FTP or parts.query is not None:  # in FTP, "?" is part of a name
        return parts
    return _with(parts, _FTP_TYPE.sub(lambda match: match[0].lower(), parts.path), parts.query)


def add_gopher_type(parts: Parts) -> Parts:
    """Write the item type of a Gopher server's root menu, which is 1."""
    if parts.scheme != "gopher" or not parts.host or parts.query is not None:
        return parts
    if parts.path not in {"", "/"}:
        return parts
    return parts._replace(path="/1")


def shorten_media_type(parts: Parts) -> Parts:
    """Convert a media type to lower case; remove it if it is the default."""
    head, comma, body = parts.path.partition(",")
    if parts.scheme != "data" or parts.host is not None or not comma:
        return parts
    media, *parameters = head.split(";")
    if media and _MEDIA_TYPE.fullmatch(media) is None:
        return parts
    media = media.lower()
    if media == "text/plain":
        media = ""
    parameters = [_lower_parameter(parameter) for parameter in parameters]
    if not media:
        parameters = [p for p in parameters if p != "charset=us-ascii"]
    return _with(parts, f"{';'.join([media, *parameters])},{body}", parts.query)


def _lower_parameter(parameter: str) -> str:
    """Convert a parameter's name to lower case, and its value if it names a charset."""
    name, sign, value = parameter.partition("=")
    name = name.lower()
    return f"{name}{sign}{value.lower() if name == 'charset' and '%' not in value else value}"


def strip_ldap_tail(parts: Parts) -> Parts:
    """Remove trailing question marks; a fourth one is a part of the extensions."""
    if parts.scheme not in _LDAP or parts.query is None or not parts.host:
        return parts
    *fields, extensions = parts.query.split("?", 3)
    if len(fields) == 3 and extensions:  # noqa: PLR2004 - attributes, scope and filter
        return parts
    return _with(parts, parts.path, parts.query.rstrip("?") or None)
