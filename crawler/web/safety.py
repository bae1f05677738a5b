"""Access to the live page: addresses, names, tokens, and security headers.

Foreign pages can make browsers send requests to this server. Three things keep these out:

- The name in ``Host`` has to be one of ours, which that of a site with DNS rebinding is not. Where
  no token is needed, only loopback names count.
- An address that others can reach needs a token, in a cookie or as ``Authorization: Bearer``.
- The page runs no script but its own file, and nothing may frame it.

Nothing can be changed from the page, so a request that is let in by mistake changes nothing.
"""

import ipaddress
import secrets
from collections.abc import Collection
from typing import NamedTuple

from canonry.crawler.tokens import check_token, is_same

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

# For browsers: scripts, styles and images only from this server.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


class Safety(NamedTuple):
    """Decides which requests a server allows."""

    host: str  # the address that it listens on
    token: str | None  # that even readers need; None: no token is needed
    names: frozenset[str] = frozenset()  # further names of this server

    def knows_host(self, host: str) -> bool:
        """Return True if ``Host`` names this server; its port may be that of a tunnel."""
        name = bare_host(host)
        if name in _LOOPBACK or name in self.names or name == self.host.casefold():
            return True
        # Rebinding needs a name, so an address is safe; besides, a token is needed.
        return self.token is not None and _is_address(name)

    def may_read(self, given: Collection[str]) -> bool:
        """Return True if a request with these tokens may read."""
        return self.token is None or any(is_same(self.token, one) for one in given)


def safety(host: str, token: str | None, names: Collection[str] = ()) -> Safety:
    """Return the safety of a server; one that other machines can reach gets a token.

    Args:
        host: a name or an address to listen on.
        token: that readers need; None generates one if it is needed.
        names: further names of the server that ``Host`` may have.

    Raises:
        SettingsError: if the token is too short, or cannot be sent.
    """
    check_token(token)
    if token is None and not is_loopback(host):
        token = secrets.token_urlsafe(24)
    own_names = frozenset(bare_host(name) for name in names)
    return Safety(host, token, own_names)


def bare_host(host: str) -> str:
    """Return the name or address of a ``Host`` header, in lower case, without the port.

    An address in brackets that is followed by anything but a port is returned unchanged.
    """
    if host.startswith("["):
        name, end, rest = host[1:].partition("]")
        return name.casefold() if end and rest[:1] in {"", ":"} else host.casefold()
    return host.partition(":")[0].casefold() if host.count(":") == 1 else host.casefold()


def is_loopback(host: str) -> bool:
    """Return True for the names and addresses that only this machine can reach."""
    if host.casefold() == "localhost":
        return True
    return _is_address(host) and ipaddress.ip_address(host).is_loopback


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
