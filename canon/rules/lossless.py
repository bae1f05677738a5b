"""The lossless rules: changes that keep the meaning, as the specifications guarantee."""

from collections.abc import Callable

from canonry.canon.references.drafts import collapse
from canonry.canon.references.rfc3986 import remove_dot_segments
from canonry.canon.syntax import host, percent, schemes
from canonry.canon.syntax.parts import Parts

_NOT_USERINFO = percent.encoder(percent.USERINFO)
_NOT_PATH = percent.encoder(percent.PATH)
_NOT_QUERY = percent.encoder(percent.QUERY)


def encode_disallowed(parts: Parts) -> Parts:
    """Percent-encode the characters that a component does not allow, and lone percent signs."""
    scheme, userinfo, name, port, path, query, fragment = parts
    if userinfo:
        userinfo = percent.encode(userinfo, _NOT_USERINFO)
    if name and not name.startswith("["):
        name = percent.encode(name, host.NOT_REG_NAME)
    path = percent.encode(path, _NOT_PATH)
    if query:
        query = percent.encode(query, _NOT_QUERY)
    if fragment:
        fragment = percent.encode(fragment, _NOT_QUERY)
    return _unless_equal(parts, Parts(scheme, userinfo, name, port, path, query, fragment))


def _in_escapes(parts: Parts, change: Callable[[str], str]) -> Parts:
    """Apply a function to every component that can hold escapes."""
    scheme, userinfo, name, port, path, query, fragment = parts
    return _unless_equal(
        parts,
        Parts(
            scheme,
            userinfo and change(userinfo),
            name and change(name),
            port,
            change(path),
            query and change(query),
            fragment and change(fragment),
        ),
    )


def _unless_equal(parts: Parts, changed: Parts) -> Parts:
    """Return the original object if nothing changed."""
    return parts if changed == parts else changed


def upper_hex(parts: Parts) -> Parts:
    """Convert the digits of escapes to upper case."""
    return _in_escapes(parts, percent.upper_hex)


def decode_unreserved(parts: Parts) -> Parts:
    """Decode the escapes of unreserved characters."""
    return _in_escapes(parts, percent.decode_unreserved)


def decode_letters(parts: Parts) -> Parts:
    """Decode the escapes of letters, digits, ``_`` and ``~``: what the draft of 2003 names."""
    return _in_escapes(parts, percent.decode_letters)


def lower_scheme(parts: Parts) -> Parts:
    """Convert the scheme to lower case."""
    scheme = (parts.scheme or "").lower()
    return parts if scheme == (parts.scheme or "") else parts._replace(scheme=scheme)


def _has_server(parts: Parts) -> bool:
    """Return False if what looks like an authority is data, as in ``javascript://A%0Ab()``."""
    return schemes.of(parts.scheme).authority


def lower_host(parts: Parts) -> Parts:
    """Convert the host to lower case, except for the digits of escapes."""
    if not parts.host or parts.host.islower() or not _has_server(parts):
        return parts
    return _unless_equal(parts, parts._replace(host=percent.upper_hex(parts.host.lower())))


def remove_dots(parts: Parts) -> Parts:
    """Remove ``.`` and ``..`` from a path that starts with a slash.

    Any other path is opaque text, not a hierarchy (``mailto:``, ``urn:``), and so is the path of
    some schemes: there, dots are data (docs/decisions/0008-rules-of-single-schemes.md).
    """
    return _without_dots(parts, remove_dot_segments)


def remove_inner_dots(parts: Parts) -> Parts:
    """Do what `remove_dots` does, but keep a ``..`` that leads above the root (2003)."""
    return _without_dots(parts, collapse)


def _without_dots(parts: Parts, remove: Callable[[str], str]) -> Parts:
    """Remove dot segments from a path that starts with a slash."""
    if not parts.path.startswith("/") or "/." not in parts.path:
        return parts
    if not schemes.of(parts.scheme).steps:
        return parts
    path = remove(parts.path)
    if parts.host is None and path.startswith("//"):
        path = f"/.{path}"  # otherwise it would be read as an authority
    return _unless_equal(parts, parts._replace(path=path))


def idna_host(parts: Parts) -> Parts:
    """Convert an internationalized domain name to its ASCII form."""
    name = parts.host
    if not name or "%" not in name or not schemes.of(parts.scheme).dns:
        return parts
    ascii_name = host.from_escapes(name)
    return parts if ascii_name is None else parts._replace(host=ascii_name)


def compress_ipv6(parts: Parts) -> Parts:
    """Convert an IPv6 address to its recommended form."""
    if not parts.host or not parts.host.startswith("[") or not _has_server(parts):
        return parts
    return _unless_equal(parts, parts._replace(host=host.compress_ipv6(parts.host)))


def drop_empty_port(parts: Parts) -> Parts:
    """Remove a colon that no port follows."""
    return parts._replace(port=None) if parts.port == "" and _has_server(parts) else parts


def strip_port_zeros(parts: Parts) -> Parts:
    """Remove the leading zeros of a port."""
    if not parts.port or not parts.port.startswith("0") or not _has_server(parts):
        return parts
    return _unless_equal(parts, parts._replace(port=parts.port.lstrip("0") or "0"))


def drop_default_port(parts: Parts) -> Parts:
    """Remove a port that is the scheme's default."""
    if parts.port is None or parts.port != schemes.of(parts.scheme).port:
        return parts
    return parts._replace(port=None)


def root_path(parts: Parts) -> Parts:
    """Write the empty path after an authority as ``/``."""
    if parts.path or not parts.host or not schemes.of(parts.scheme).root:
        return parts
    return parts._replace(path="/")
