"""IANA's registries of special-purpose addresses (RFC 6890, RFC 8190), as far as they concern us.

Python's `ipaddress` has a copy of them, too, but one that is as old as the interpreter. The newest
entries that are known here are those of RFC 9780, of April 2025. An entry counts as reachable if
its column "Globally Reachable" says True, and not if it says False or "N/A".
"""

import ipaddress
from typing import NamedTuple


class SpecialBlock(NamedTuple):
    """An entry of a registry."""

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

# The smallest block that holds an address speaks for it.
_BLOCKS = sorted(
    ((ipaddress.ip_network(row.block), row.reachable) for row in SPECIAL_BLOCKS),
    key=lambda row: row[0].prefixlen,
    reverse=True,
)


def is_reachable(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    """Return True if an address is reachable from everywhere, as far as the registries know."""
    return next((reachable for block, reachable in _BLOCKS if address in block), True)
