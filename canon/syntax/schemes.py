"""The table of schemes: what the specification of each adds to the generic syntax."""

from typing import NamedTuple


class Scheme(NamedTuple):
    """What a scheme's own specification adds to RFC 3986."""

    port: str | None  # the default port, in decimal
    root: bool  # an empty path means "/" (RFC 3986 section 6.2.3)
    authority: bool  # what follows two slashes is a server; otherwise it is data like the rest
    dns: bool  # hosts are domain names, so that IDNA applies
    steps: bool  # paths are hierarchies: "." and ".." in them are steps, not data
    cites: str  # the document that says so


def _hierarchy(port: str | None, cites: str, *, root: bool = True) -> Scheme:
    """Return the row of a scheme whose authority names a DNS host, and whose path is in levels."""
    return Scheme(port, root=root, authority=True, dns=True, steps=True, cites=cites)


def _service(port: str | None, cites: str, *, root: bool = False) -> Scheme:
    """Return the row of a scheme whose authority names a DNS host, and whose path is only data."""
    return Scheme(port, root=root, authority=True, dns=True, steps=False, cites=cites)


def _opaque(cites: str) -> Scheme:
    """Return the row of a scheme without an authority."""
    return Scheme(None, root=False, authority=False, dns=False, steps=False, cites=cites)


def _generic(cites: str) -> Scheme:
    """Return the row of a scheme of which nothing is known but the generic syntax."""
    return Scheme(None, root=False, authority=True, dns=False, steps=True, cites=cites)


_HTTP = "RFC 9110 section 4.2"

SCHEMES = {
    "http": _hierarchy("80", _HTTP),
    "https": _hierarchy("443", _HTTP),
    "ws": _hierarchy("80", "RFC 6455 section 3"),
    "wss": _hierarchy("443", "RFC 6455 section 3"),
    "ftp": _hierarchy("21", "RFC 1738 section 3.2"),
    "sftp": _hierarchy("22", "draft-ietf-secsh-scp-sftp-ssh-uri-04 section 4", root=False),
    "gopher": _service("70", "RFC 4266 section 2.1"),
    "wais": _service("210", "RFC 4156 section 2"),
    "nntp": _service("119", "RFC 5538 section 3"),
    "news": _service("119", "RFC 5538 section 4"),
    "prospero": _service("1525", "RFC 4157 section 2"),
    "telnet": _service("23", "RFC 4248 section 2", root=True),
    "tn3270": _service("23", "RFC 6270 section 2", root=True),
    # The draft of 1993 names rlogin without a port, and no later document has the scheme.
    "rlogin": _service(None, "the URL draft of 1993", root=True),
    "ldap": _service("389", "RFC 4516 section 2"),
    # RFC 4516 has ldap alone; programs read ldaps in the same way, on the port of IANA's service.
    "ldaps": _service("636", "IANA's service ldaps"),
    "file": _hierarchy(None, "RFC 8089 section 2", root=False),
    "afs": _generic("the URL draft of 1993"),  # its authority is a cell, which is no DNS host
    "mailto": _opaque("RFC 6068 section 2"),
    "urn": _opaque("RFC 8141 section 2"),
    "tel": _opaque("RFC 3966 section 3"),
    "data": _opaque("RFC 2397 section 3"),
    "javascript": _opaque("draft-hoehrmann-javascript-scheme-03"),
    "blob": _opaque("W3C File API section 8"),
}

# Schemes whose URLs need a host (RFC 9110 section 4.2.1, RFC 6455 section 3).
NEEDS_HOST = frozenset({"http", "https", "ws", "wss"})

# The schemes of web pages.
WEB = frozenset({"http", "https"})

# The "special schemes" of the URL Standard, section 4.2.
SPECIAL = frozenset({"http", "https", "ws", "wss", "ftp", "file"})

UNKNOWN = _generic("RFC 3986 section 3.1")


def of(scheme: str | None) -> Scheme:
    """Return the row of a scheme, given in lower case; `UNKNOWN` if the table has none."""
    return SCHEMES.get(scheme or "", UNKNOWN)
