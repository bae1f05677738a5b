"""Hosts: addresses in brackets in their one recommended form, and names behind escapes."""

import pytest
from support.tables import each

from canonry.canon.syntax.host import compress_ipv6, from_escapes, ipv6_groups, to_ascii


@each(
    ("host", "written"),
    [
        # RFC 5952 section 4.1: no leading zeros; 4.2.1: as short as it can be
        ("[2001:0db8::0001]", "[2001:db8::1]"),
        ("[2001:db8:0:0:0:0:2:1]", "[2001:db8::2:1]"),
        # Section 4.2.2: one group of zeros stays
        ("[2001:db8:0:1:1:1:1:1]", "[2001:db8:0:1:1:1:1:1]"),
        # Section 4.2.3: the longest run, and of equal ones the first
        ("[2001:0:0:1:0:0:0:1]", "[2001:0:0:1::1]"),
        ("[2001:db8:0:0:1:0:0:1]", "[2001:db8::1:0:0:1]"),
        ("[1:2:3:4:5:6:0:0]", "[1:2:3:4:5:6::]"),
        ("[0:0:0:0:0:0:0:0]", "[::]"),
        # Section 4.3: lower case
        ("[ABCD::EF]", "[abcd::ef]"),
        ("[::ffff:1.2.3.4]", "[::ffff:102:304]"),
        # No address stays as it is
        *((host, host) for host in ("[::1%25eth0]", "[::1%eth0]", "[v1.x]", "[1::2::3]", "a", "")),
    ],
)
def test_addresses_are_compressed(host: str, written: str) -> None:
    assert compress_ipv6(host) == written
    assert compress_ipv6(written) == written


def test_groups_of_an_address() -> None:
    assert ipv6_groups("[102:304::ffff]") == [0x102, 0x304, 0, 0, 0, 0, 0, 0xFFFF]
    assert ipv6_groups("102:304::ffff") is None


def test_long_names_are_not_mapped() -> None:
    assert to_ascii(f"é.{'a' * 60}") == f"xn--9ca.{'a' * 60}"
    assert to_ascii("a." * 512) == "a." * 512
    assert to_ascii("a." * 512 + "a") is None
    assert to_ascii("\u00ad") is None  # a soft hyphen is ignored, and nothing is left


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("b%C3%BCcher.example", "xn--bcher-kva.example"),
        ("b%FCcher.example", None),  # no UTF-8
        ("a%62.example", None),  # ASCII
        ("%C3%BC%2541.example", None),  # a percent sign is left
        ("%EF%BC%8541%C3%BC.example", None),  # the same, in full width
        ("%C3%BC%2F.example", None),  # no host holds a slash
    ],
)
def test_names_behind_escapes(name: str, found: str | None) -> None:
    assert from_escapes(name) == found
