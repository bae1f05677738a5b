"""Which addresses may be asked, and which hosts are reached elsewhere."""

import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from aiohttp.abc import AbstractResolver, ResolveResult

_CONNECT_TO_PARTS = 4
_KEPT_SECONDS, _KEPT_NAMES = 60.0, 20_000  # answers of name servers
_Name = tuple[str, socket.AddressFamily]
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefusedError(OSError):
    """A host all of whose addresses are ones that may not be asked."""


def is_public(address: str) -> bool:
    """Say whether an address is one of the public internet.

    Loopback, private, link-local (with the metadata services), multicast and reserved addresses are
    not, nor are IPv6 addresses that carry such an IPv4 address (mapped, 6to4, NAT64).
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return ip.is_global and not ip.is_multicast and not ip.is_reserved


def is_literal(host: str) -> bool:
    """Say whether a host is an address already."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class ConnectTo(NamedTuple):
    """One ``--connect-to HOST:PORT:ADDRESS:PORT``, with curl's meaning: "" is any, or the same."""

    host: str
    port: str
    to_host: str
    to_port: str

    @classmethod
    def parse(cls, text: str) -> "ConnectTo":
        """Read the option; IPv6 addresses stand in brackets.

        Raises:
            ValueError: when it has not four parts, or a port is no number.
        """
        parts: list[str] = [""]
        depth = 0
        for character in text:
            depth += {"[": 1, "]": -1}.get(character, 0)
            if character == ":" and depth == 0:
                parts.append("")
            elif character not in "[]":
                parts[-1] += character
        ports = parts[1::2]
        if len(parts) != _CONNECT_TO_PARTS or not all(p == "" or p.isdecimal() for p in ports):
            raise ValueError(f"connect-to {text!r}: HOST:PORT:ADDRESS:PORT is allowed")
        return cls(parts[0].lower(), parts[1], parts[2], parts[3])


def find(rules: Sequence[ConnectTo], host: str, port: int) -> tuple[str, int] | None:
    """Return where to reach a host and port instead, by the first rule that speaks of them."""
    for rule in rules:
        if rule.host in {"", host} and rule.port in {"", str(port)}:
            return rule.to_host or host, int(rule.to_port or port)
    return None


class GuardedResolver(AbstractResolver):
    """Resolves names by itself, and hands out only addresses that may be asked.

    The connection is made to the very address that was checked, so that a name that changes its
    answer in between gains nothing. What ``--connect-to`` names was chosen by the user: it is not
    checked.
    """

    def __init__(
        self, inner: AbstractResolver, rules: Sequence[ConnectTo], *, allow_private: bool
    ) -> None:
        """Wrap a resolver; what it answers is kept for a while."""
        self._known: OrderedDict[_Name, tuple[float, list[ResolveResult]]] = OrderedDict()
        self._inner = inner
        self._rules = rules
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host that may be asked.

        Raises:
            AddressRefusedError: when it has addresses, and none may.
            OSError: when it has none.
        """
        mapped = find(self._rules, host.lower(), port)
        if mapped is not None:
            found = await self._inner.resolve(*mapped, family)
            return [ResolveResult(**{**entry, "hostname": host}) for entry in found]
        until, known = self._known.get((host.lower(), family), (0.0, []))
        if until <= time.monotonic():
            known = await self._ask(host, port, family)
            self._known[host.lower(), family] = time.monotonic() + _KEPT_SECONDS, known
            while len(self._known) > _KEPT_NAMES:
                self._known.popitem(last=False)
        return [ResolveResult(**{**entry, "port": port}) for entry in known]

    async def address_of(self, host: str) -> str | None:
        """Return the address of a host, one of those that it has; None for one that is mapped.

        Raises:
            OSError: when it has none that may be asked.
        """
        bare = host.strip("[]")
        if any(rule.host in {"", bare} for rule in self._rules):
            return None
        if is_literal(bare):
            return bare
        return min(entry["host"] for entry in await self.resolve(host, 80))

    async def _ask(self, host: str, port: int, family: socket.AddressFamily) -> list[ResolveResult]:
        """Resolve a name, and keep what may be asked."""
        found = await self._inner.resolve(host, port, family)
        allowed = [entry for entry in found if self._allow_private or is_public(entry["host"])]
        if not allowed:
            raise AddressRefusedError(f"{host} is {found[0]['host'] if found else 'nowhere'}")
        return allowed

    async def close(self) -> None:
        """Close the wrapped resolver."""
        await self._inner.close()
