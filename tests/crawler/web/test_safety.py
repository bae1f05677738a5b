"""Who may ask the live page for what."""

import pytest

from canonry.crawler.settings import SettingsError
from canonry.crawler.web.safety import bare_host, is_loopback, safety

LOCAL = safety("127.0.0.1", None)
OPEN = safety("0.0.0.0", None, ["crawl.example"])  # noqa: S104 - nothing is opened


def test_only_an_address_that_others_reach_gets_a_token() -> None:
    assert LOCAL.token is None
    assert OPEN.token is not None
    assert len(OPEN.token) > 20
    assert OPEN.token != safety("0.0.0.0", None).token  # noqa: S104
    assert safety("127.0.0.1", "a-long-one").token == "a-long-one"  # noqa: S105


@pytest.mark.parametrize("token", ["", "short", "with space", "ümläute-x"])
def test_a_token_that_protects_nothing_is_refused(token: str) -> None:
    with pytest.raises(SettingsError, match="at least 8 ASCII"):
        safety("127.0.0.1", token)


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:8400", True),
        ("LOCALHOST", True),
        ("127.0.0.1:1", True),  # the other end of a tunnel
        ("[::1]:8400", True),
        ("evil.example:8400", False),
        ("localhost.evil.example", False),
        ("192.0.2.1:8400", False),
        ("", False),
    ],
)
def test_a_rebound_name_is_not_ours(host: str, known: bool) -> None:
    assert LOCAL.knows_host(host) is known


def test_with_a_token_addresses_and_given_names_are_ours() -> None:
    assert OPEN.knows_host("192.0.2.1:8400")
    assert OPEN.knows_host("[2001:db8::1]:8400")
    assert OPEN.knows_host("Crawl.example")
    assert not OPEN.knows_host("evil.example")


@pytest.mark.parametrize(
    ("host", "local"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),  # noqa: S104
        ("::", False),
        ("localhost.example", False),
    ],
)
def test_loopback(host: str, local: bool) -> None:
    assert is_loopback(host) is local


def test_the_port_is_not_part_of_a_host() -> None:
    assert bare_host("A.example:80") == "a.example"
    assert bare_host("[::1]:80") == bare_host("::1") == "::1"
    assert not any(map(LOCAL.knows_host, ("[::1].evil.example", "[::1", "[127.0.0.1]x:80")))


def test_only_the_token_opens_a_server_that_has_one() -> None:
    assert LOCAL.may_read([])
    assert OPEN.token is not None
    assert OPEN.may_read(["", OPEN.token])
    assert not OPEN.may_read(["", "guess", OPEN.token[:-1]])
