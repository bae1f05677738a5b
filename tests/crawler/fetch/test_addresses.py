"""Which addresses and ports are asked: what belongs to the public web, and nothing else."""

import ipaddress
from pathlib import Path

import pytest
from support.tables import each

from canonry.crawler.fetch import addresses
from canonry.crawler.fetch.addresses import SPECIAL_BLOCKS, SpecialBlock
from canonry.crawler.fetch.ports import PORT_GROUPS, is_web_port

DOCS = Path(__file__).parents[3] / "docs/reference"


@each(
    ("address", "public"),
    [
        ("93.184.215.14", True),
        ("2606:2800:21f::1", True),
        ("127.0.0.1", False),
        ("0.0.0.0", False),  # noqa: S104 - an address to refuse
        ("10.0.0.1", False),
        ("172.16.0.1", False),
        ("192.168.1.1", False),
        ("169.254.169.254", False),
        ("100.64.0.1", False),
        ("224.0.0.1", False),
        ("240.0.0.1", False),
        ("255.255.255.255", False),
        ("::", False),
        ("::1", False),
        ("fe80::1%eth0", False),
        ("fc00::1", False),
        ("ff02::1", False),
        ("::ffff:10.0.0.1", False),
        ("::ffff:93.184.215.14", True),
        ("64:ff9b::7f00:1", False),
        ("64:ff9b::5db8:d70e", True),
        ("2002:7f00:1::", False),
        ("2002:5db8:d70e::1", True),
        ("2001:0:4136:e378:8000:63bf:a247:28f1", False),
        ("::93.184.215.14", False),
        ("64:ff9b:1::5db8:d70e", False),
        ("fec0::1", False),
        ("feff:ffff::1", False),
        ("3fff::1", False),
        ("3fff:fff:ffff::1", False),
        ("3fff:1000::1", True),
        ("5f00::1", False),
        ("100::1", False),
        ("100:0:0:1::1", False),
        ("4000::1", False),
        ("2001:db8::1", False),
        ("2001:db7:ffff::1", True),
        ("2001:db9::1", True),
        ("2001:1ff::1", False),
        ("2001:200::1", True),
        ("2001:1::2", True),
        ("2001:1::3", True),
        ("2001:1::4", False),
        ("2001:2::1", False),
        ("2001:10::1", False),
        ("2620:4f:8000::1", True),
        ("192.0.0.7", False),
        ("192.0.0.8", False),
        ("192.0.0.9", True),
        ("192.0.0.10", True),
        ("192.0.0.11", False),
        ("192.0.0.170", False),
        ("192.0.0.255", False),
        ("192.0.1.0", True),
        ("192.0.2.1", False),
        ("192.31.196.1", True),
        ("192.88.99.1", False),
        ("192.88.99.2", False),
        ("198.17.255.255", True),
        ("198.18.0.0", False),
        ("198.19.255.255", False),
        ("198.20.0.0", True),
        ("100.63.255.255", True),
        ("100.127.255.255", False),
        ("100.128.0.0", True),
        ("172.15.255.255", True),
        ("172.32.0.0", True),
        ("223.255.255.255", True),
        ("::ffff:192.0.0.8", False),
        ("64:ff9b::c000:8", False),
        ("2002:c000:8::", False),
    ],
)
def test_which_addresses_are_public(address: str, public: bool) -> None:
    assert addresses.is_public(address) is public


@each("row", SPECIAL_BLOCKS)
def test_each_block_of_the_registries_is_a_network_with_a_source(row: SpecialBlock) -> None:
    assert ipaddress.ip_network(row.block).compressed == row.block
    assert row.name
    assert row.source.startswith("RFC ")


def test_no_block_stands_in_the_registries_twice() -> None:
    assert len({row.block for row in SPECIAL_BLOCKS}) == len(SPECIAL_BLOCKS)


@each(
    "port", [6379, 11211, 27017, 3306, 5432, 9042, 5672, 1883, 61616, 3389, 5900, 873, 9100, 6664]
)
def test_no_request_goes_to_the_port_of_another_protocol(port: int) -> None:
    assert not is_web_port(str(port))
    assert not is_web_port(f"0{port}")


@each(
    "port",
    [
        80,
        81,
        443,
        591,
        1024,
        3000,
        4000,
        4443,
        5000,
        7001,
        8000,
        8008,
        8080,
        8443,
        8888,
        9000,
        9090,
    ],
)
def test_ports_that_web_servers_use_are_asked(port: int) -> None:
    assert is_web_port(str(port))


@pytest.mark.parametrize("port", [None, ""])
def test_the_default_port_of_a_scheme_is_asked(port: str | None) -> None:
    assert is_web_port(port)


def test_every_port_is_in_one_group_and_on_the_page() -> None:
    page = (DOCS / "crawl.md").read_text(encoding="utf-8")
    ports = [port for group in PORT_GROUPS for port in group.ports]
    assert len(ports) == len(set(ports))
    for group in PORT_GROUPS:
        listed = ", ".join(map(str, sorted(group.ports)))
        assert f"| {group.name} | {group.reason} | {listed} |" in page
