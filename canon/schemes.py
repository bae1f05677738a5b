"""The table of schemes: what is known of each beyond the generic syntax."""

from typing import NamedTuple


class Scheme(NamedTuple):
    """What a scheme's own specification adds to RFC 3986."""

    port: str | None  # the default port, in decimal
    root: bool  # an empty path means "/" (RFC 3986 section 6.2.3)
    dns: bool  # hosts are domain names, so that IDNA applies
    cites: str


_HTTP = "RFC 9110 section 4.2"

SCHEMES = {
    "http": Scheme("80", root=True, dns=True, cites=_HTTP),
    "https": Scheme("443", root=True, dns=True, cites=_HTTP),
    "ws": Scheme("80", root=True, dns=True, cites="RFC 6455 section 3"),
    "wss": Scheme("443", root=True, dns=True, cites="RFC 6455 section 3"),
    "ftp": Scheme("21", root=True, dns=True, cites="RFC 1738 section 3.2"),
    "gopher": Scheme("70", root=False, dns=True, cites="RFC 4266 section 2.1"),
    "ldap": Scheme("389", root=False, dns=True, cites="RFC 4516 section 2"),
    "nntp": Scheme("119", root=False, dns=True, cites="RFC 5538 section 3"),
    "telnet": Scheme("23", root=True, dns=True, cites="RFC 4248 section 2"),
}

# Schemes whose URLs are nothing without a host (RFC 9110 section 4.2.1, RFC 6455 section 3).
NEEDS_HOST = frozenset({"http", "https", "ws", "wss"})

# The "special schemes" of the URL Standard, section 4.2.
SPECIAL = frozenset({"http", "https", "ws", "wss", "ftp", "file"})

UNKNOWN = Scheme(None, root=False, dns=False, cites="RFC 3986 section 3.1")


def of(scheme: str | None) -> Scheme:
    """Return the row of a scheme in lower case, or that of a scheme nothing is known about."""
    return SCHEMES.get(scheme or "", UNKNOWN)
