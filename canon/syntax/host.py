"""Hosts: names and IPv6 addresses, each in its one canonical spelling (RFC 3986 section 3.2.2)."""

import ipaddress
import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import ada_url

from canonry.canon.syntax import percent

NOT_REG_NAME = percent.encoder(percent.REG_NAME)


def ipv6_groups(host: str) -> list[int] | None:
    """Return the eight 16-bit groups of an IPv6 address in brackets; None for any other host.

    Zone identifiers are not allowed in URLs (URL Standard section 3.5), so ``[fe80::1%25eth0]`` is
    not an address.
    """
    if "%" in host or not host.endswith("]"):
        return None
    try:
        packed = ipaddress.IPv6Address(host[1:-1]).packed
    except ValueError:
        return None
    return [packed[i] << 8 | packed[i + 1] for i in range(0, 16, 2)]


def compress_ipv6(host: str) -> str:
    """Write an IPv6 address in its one recommended form (RFC 5952 section 4).

    Lower case, no leading zeros, ``::`` for the first of the longest runs of two or more zero
    groups. An embedded IPv4 address is written as groups, too: the URL Standard does so (section
    3.5), and ``[::ffff:1.2.3.4]`` and ``[::ffff:102:304]`` are the same address.
    """
    groups = ipv6_groups(host)
    if groups is None:
        return host
    text = ":".join(format(group, "x") for group in groups)
    for length in range(8, 1, -1):
        zeros = ":".join("0" * length)
        if run := re.search(rf"(?:^|:){zeros}(?:$|:)", text):
            return f"[{text[: run.start()]}::{text[run.end() :]}]"
    return f"[{text}]"


# A DNS name has at most 253 octets (RFC 1035 section 2.3.4). Every octet comes from at least one
# character; the rest of the limit is room for characters that UTS 46 ignores.
_MAX_NAME = 1024


@lru_cache(maxsize=65_536)
def to_ascii(host: str) -> str | None:
    """Return the ASCII form of an internationalized name, or None if it has none.

    UTS 46, non-transitional, as browsers do it: ``faß.de`` and ``fass.de`` stay distinct.

    Source: RFC 5891; URL Standard section 3.3 (domain to ASCII).
    """
    if len(host) > _MAX_NAME:
        return None
    try:
        return ada_url.idna_to_ascii(host).decode() or None
    except ValueError:
        return None


def from_escapes(name: str) -> str | None:
    """Return the ASCII form of a name that holds percent-encoded UTF-8, or None if it has none.

    Source: RFC 3986 section 3.2.2 ("transformed to the IDNA encoding prior to name lookup").
    """
    try:
        unicode_name = unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return None
    if unicode_name.isascii() or "%" in unicode_name:  # a decoded name holds no percent sign
        return None
    ascii_name = to_ascii(unicode_name)
    if not ascii_name or "%" in ascii_name:  # from a full-width percent sign: it starts no escape
        return None
    return ascii_name if NOT_REG_NAME.search(ascii_name) is None else None
