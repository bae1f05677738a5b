"""Hosts: names, IPv4 and IPv6 addresses, and the one spelling of each (RFC 3986 section 3.2.2)."""

import ipaddress
import re
from functools import lru_cache
from urllib.parse import unquote_to_bytes

import ada_url

from canonry.canon.syntax import percent

_NOT_REG_NAME = percent.encoder(percent.REG_NAME)


def ipv6_groups(host: str) -> list[int] | None:
    """Return the eight 16-bit groups of an IPv6 address in brackets, or None if it is none.

    Zone identifiers are not part of a URL (URL Standard section 3.5), so ``[fe80::1%25eth0]`` is
    no address.
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

    Lower case, no leading zeros, ``::`` for the first longest run of two or more zero groups. An
    address with an embedded IPv4 address is written in groups too, as the URL Standard (section
    3.5) has it and as ``[::ffff:1.2.3.4]`` and ``[::ffff:102:304]`` need to become one.
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


# A name in the DNS has 253 octets at most (RFC 1035 section 2.3.4), and none of these comes from
# less than one character, but for the few that UTS 46 ignores.
_MAX_NAME = 1024


@lru_cache(maxsize=65_536)
def to_ascii(host: str) -> str | None:
    """Return the ASCII form of an internationalized name, or None when there is none.

    UTS 46, non-transitional, as browsers do it: ``faß.de`` stays apart from ``fass.de``.

    Source: RFC 5891; URL Standard section 3.3 (domain to ASCII).
    """
    if len(host) > _MAX_NAME:
        return None
    try:
        return ada_url.idna_to_ascii(host).decode() or None
    except ValueError:
        return None


def from_escapes(name: str) -> str | None:
    """Return the ASCII form of a name that holds percent-encoded UTF-8, or None when it has none.

    Source: RFC 3986 section 3.2.2 ("transformed to the IDNA encoding prior to name lookup").
    """
    try:
        unicode_name = unquote_to_bytes(name).decode()
    except UnicodeDecodeError:
        return None
    if unicode_name.isascii() or "%" in unicode_name:  # which names have not
        return None
    ascii_name = to_ascii(unicode_name)
    return ascii_name if ascii_name and _NOT_REG_NAME.search(ascii_name) is None else None
