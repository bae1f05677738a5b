"""The address guard: which addresses may be connected to; and ``--connect-to``."""

import asyncio
import ipaddress
import socket
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

from aiohttp.abc import AbstractResolver, ResolveResult

_CONNECT_TO_PARTS = 4
_CACHE_SECONDS, _CACHE_SIZE = 60.0, 20_000  # for answers of name servers
_FAILURE_SECONDS = 1.0  # so that a host's first request need not repeat a failed look-up
_Name = tuple[str, socket.AddressFamily]
_Answer = list[ResolveResult] | socket.gaierror
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class AddressRefusedError(OSError):
    """None of the host's addresses may be connected to."""


def is_public(address: str) -> bool:
    """Return True if an address belongs to the public internet.

    Loopback, private, link-local (also metadata services), multicast and reserved addresses do
    not, nor do IPv6 addresses that contain such an IPv4 address (mapped, 6to4, NAT64), nor any of
    Teredo.
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip in _NAT64:
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    return is_reachable(ip)


def is_literal(host: str) -> bool:
    """Return True if a host is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class ConnectTo(NamedTuple):
    """One ``--connect-to HOST:PORT:ADDRESS:PORT``, as in curl; "" means any, or unchanged."""

    host: str
    port: str
    to_host: str
    to_port: str

    @classmethod
    def parse(cls, text: str) -> "ConnectTo":
        """Parse the option's value; IPv6 addresses are in brackets.

        Raises:
            ValueError: if it does not have four parts, or a port is not a number.
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
            raise ValueError(f"connect-to {text!r}: HOST:PORT:ADDRESS:PORT is expected")
        return cls(parts[0].lower(), parts[1], parts[2], parts[3])


def connect_target(rules: Sequence[ConnectTo], host: str, port: int) -> tuple[str, int] | None:
    """Return the host and port to connect to instead, by the first rule that matches, or None."""
    for rule in rules:
        if rule.host in {"", host} and rule.port in {"", str(port)}:
            return rule.to_host or host, int(rule.to_port or port)
    return None


class GuardedResolver(AbstractResolver):
    """Resolves names, and returns only addresses that may be connected to.

    The connection goes to the address that was checked, so DNS rebinding gains nothing. Targets of
    ``--connect-to`` were chosen by the user and are not checked.
    """

    def __init__(
        self,
        inner: AbstractResolver,
        rules: Sequence[ConnectTo],
        *,
        allow_private: bool,
        patience: float = 10.0,
    ) -> None:
        """Wrap a resolver and cache its answers.

        Args:
            inner: asks the name servers.
            rules: of ``--connect-to``.
            allow_private: True allows every address.
            patience: seconds for one name.
        """
        self._cache: OrderedDict[_Name, tuple[float, _Answer]] = OrderedDict()
        self._patience = patience
        self._inner = inner
        self._rules = rules
        self._allow_private = allow_private

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """Return the addresses of a host that may be connected to.

        Raises:
            AddressRefusedError: if it has addresses, and none of them is allowed.
            OSError: if it has none.
        """
        mapped = connect_target(self._rules, host.lower(), port)
        if mapped is not None:
            found = await self._inner.resolve(*mapped, family)
            return [ResolveResult(**{**entry, "hostname": host}) for entry in found]
        answer: _Answer
        until, answer = self._cache.get((host.lower(), family), (0.0, []))
        if until <= time.monotonic():
            try:
                answer, seconds = await self._look_up(host, port, family), _CACHE_SECONDS
            except socket.gaierror as error:
                answer, seconds = error, _FAILURE_SECONDS
            self._cache[host.lower(), family] = time.monotonic() + seconds, answer
            while len(self._cache) > _CACHE_SIZE:
                self._cache.popitem(last=False)
        if isinstance(answer, socket.gaierror):
            raise socket.gaierror(*answer.args)
        return [ResolveResult(**{**entry, "port": port}) for entry in answer]

    async def address_of(self, host: str) -> str | None:
        """Return the lowest address of a host; None if ``--connect-to`` maps the host.

        Raises:
            OSError: if it has none that may be connected to.
        """
        bare = host.strip("[]")
        if any(rule.host in {"", bare} for rule in self._rules):
            return None
        if is_literal(bare):
            return bare
        return min(entry["host"] for entry in await self.resolve(host, 80))

    async def _look_up(
        self, host: str, port: int, family: socket.AddressFamily
    ) -> list[ResolveResult]:
        """Resolve a name to its allowed addresses."""
        try:
            async with asyncio.timeout(self._patience):
                found = await self._inner.resolve(host, port, family)
        except TimeoutError:
            raise socket.gaierror(socket.EAI_AGAIN, "no answer in time") from None
        allowed = [entry for entry in found if self._allow_private or is_public(entry["host"])]
        if not allowed:
            raise AddressRefusedError(f"{host} has {found[0]['host'] if found else 'no address'}")
        return allowed

    async def close(self) -> None:
        """Close the wrapped resolver."""
        await self._inner.close()


class SpecialBlock(NamedTuple):
    """A block of addresses, as IANA's registries list it."""

    block: str
    name: str
    source: str
    reachable: bool = False


SPECIAL_BLOCKS = (
    SpecialBlock("0.0.0.0/8", "this network", "RFC 791 section 3.2"),
    SpecialBlock("10.0.0.0/8", "private use", "RFC 1918"),
    SpecialBlock("100.64.0.0/10", "shared address space", "RFC 6598"),
    SpecialBlock("127.0.0.0/8", "loopback", "RFC 1122 section 3.2.1.3"),
    SpecialBlock("169.254.0.0/16", "link-local, and metadata services", "RFC 3927"),
    SpecialBlock("172.16.0.0/12", "private use", "RFC 1918"),
    SpecialBlock("192.0.0.0/24", "IETF protocol assignments", "RFC 6890 section 2.1"),
    SpecialBlock("192.0.0.9/32", "Port Control Protocol anycast", "RFC 7723", reachable=True),
    SpecialBlock("192.0.0.10/32", "TURN anycast", "RFC 8155", reachable=True),
    SpecialBlock("192.0.2.0/24", "documentation", "RFC 5737"),
    SpecialBlock("192.31.196.0/24", "AS112-v4", "RFC 7535", reachable=True),
    SpecialBlock("192.52.193.0/24", "AMT", "RFC 7450", reachable=True),
    SpecialBlock("192.88.99.0/24", "6to4 relay anycast, deprecated", "RFC 7526"),
    SpecialBlock("192.168.0.0/16", "private use", "RFC 1918"),
    SpecialBlock("192.175.48.0/24", "direct delegation AS112", "RFC 7534", reachable=True),
    SpecialBlock("198.18.0.0/15", "benchmarking", "RFC 2544"),
    SpecialBlock("198.51.100.0/24", "documentation", "RFC 5737"),
    SpecialBlock("203.0.113.0/24", "documentation", "RFC 5737"),
    SpecialBlock("224.0.0.0/4", "multicast; a registry of its own", "RFC 5771"),
    SpecialBlock("240.0.0.0/4", "reserved, and limited broadcast", "RFC 1112 section 4"),
    # Of IPv6, only 2000::/3 is global unicast (RFC 4291 section 2.4, IANA's "Address Space"). So
    # the entries outside of it, from ::1/128 to fec0::/10, need no row.
    SpecialBlock("::/0", "not assigned as global unicast", "RFC 4291 section 2.4"),
    SpecialBlock("2000::/3", "global unicast", "RFC 4291 section 2.4", reachable=True),
    SpecialBlock("2001::/23", "IETF protocol assignments, and Teredo", "RFC 2928, RFC 4380"),
    SpecialBlock("2001:1::1/128", "Port Control Protocol anycast", "RFC 7723", reachable=True),
    SpecialBlock("2001:1::2/128", "TURN anycast", "RFC 8155", reachable=True),
    SpecialBlock("2001:1::3/128", "DNS-SD SRP anycast", "RFC 9665", reachable=True),
    SpecialBlock("2001:3::/32", "AMT", "RFC 7450", reachable=True),
    SpecialBlock("2001:4:112::/48", "AS112-v6", "RFC 7535", reachable=True),
    SpecialBlock("2001:20::/28", "ORCHIDv2", "RFC 7343", reachable=True),
    SpecialBlock("2001:30::/28", "drone remote identification", "RFC 9374", reachable=True),
    SpecialBlock("2001:db8::/32", "documentation", "RFC 3849"),
    SpecialBlock("2002::/16", "6to4; see `is_public`", "RFC 3056"),
    SpecialBlock("2620:4f:8000::/48", "direct delegation AS112", "RFC 7534", reachable=True),
    SpecialBlock("3fff::/20", "documentation", "RFC 9637"),
)

# The smallest block that holds an address decides about it.
_BLOCKS = sorted(
    ((ipaddress.ip_network(row.block), row.reachable) for row in SPECIAL_BLOCKS),
    key=lambda row: row[0].prefixlen,
    reverse=True,
)


def is_reachable(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return True if an address is reachable from everywhere, as far as the registries know."""
    return next((reachable for block, reachable in _BLOCKS if address in block), True)
