"""Requests go out byte for byte as a browser sends them; hostile responses do no harm."""

import asyncio
import gzip
import socket
import ssl
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path

import brotli
import pytest
import trustme
from aiohttp.abc import AbstractResolver, ResolveResult
from support.servers import Answer, Raw, ok, raw_server

from canonry.crawler.fetch import addresses
from canonry.crawler.fetch.addresses import AddressRefusedError, ConnectTo, GuardedResolver
from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.faults import Fault, FetchError, seconds_to_wait
from canonry.crawler.fetch.response import Response, Unread
from canonry.crawler.settings import load

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd


def get(
    url: str,
    answer: Callable[[bytes], Answer],
    cookies: dict[str, str] | None = None,
    **fetch: object,
) -> tuple[Response | FetchError, Raw]:
    """Fetch one URL from a local server; every host leads to it."""

    async def run() -> tuple[Response | FetchError, Raw]:
        async with raw_server(answer) as raw:
            settings = {"connect_to": [f"::127.0.0.1:{raw.port}"], "timeout": 30.0, **fetch}
            async with Client(load(None, {"fetch": settings})) as client:
                try:
                    return await client.get(url, cookies), raw
                except FetchError as error:
                    return error, raw

    return asyncio.run(run())


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("http://a.example/", b"/"),
        ("http://a.example/%7E%e9/a|b", b"/%7E%e9/a|b"),
        ("http://a.example/a//b/?x=%2f&y={z}", b"/a//b/?x=%2f&y={z}"),
        ("http://a.example/?", b"/?"),
        ("http://a.example/a%20b+c;d=%zz", b"/a%20b+c;d=%zz"),
        ("http://a.example/'(a)*!~", b"/'(a)*!~"),
    ],
)
def test_a_url_is_sent_byte_for_byte(url: str, target: bytes) -> None:
    response, raw = get(url, lambda _head: ok(b"x"))
    assert isinstance(response, Response)
    assert raw.lines == [b"GET " + target + b" HTTP/1.1"]
    assert b"Host: a.example\r\n" in raw.heads[0]


def test_redirects_are_not_followed_and_not_requoted() -> None:
    location = "/a|b%7e?x={y}"
    response, raw = get(
        "http://a.example/", lambda _head: ok(b"", f"Location: {location}", status="302 Found")
    )
    assert isinstance(response, Response)
    assert (response.status, response.headers["Location"], len(raw.heads)) == (302, location, 1)


def test_headers_are_text_even_if_their_bytes_are_not_utf_8() -> None:
    raw_answer = b"HTTP/1.1 301 Moved\r\nlocation: /\xe9\xc3\xa9\r\nContent-Length: 0\r\n\r\n"
    response, _ = get("http://a.example/", lambda _head: raw_answer)
    assert isinstance(response, Response)
    assert response.headers["Location"] == "/%E9é"


def test_cookies_are_sent_when_given_and_not_stored() -> None:
    response, raw = get(
        "http://a.example/", lambda _head: ok(b"", "Set-Cookie: a=b; Path=/"), {"c": "d"}
    )
    assert isinstance(response, Response)
    assert response.cookies == {"a": "b"}
    assert b"Cookie: c=d\r\n" in raw.heads[0]


ENCODINGS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_bodies_are_decoded_and_the_limit_counts_decoded_bytes(encoding: str) -> None:
    compress = ENCODINGS[encoding]
    answer = ok(compress(bytes(50_000_000)), f"Content-Encoding: {encoding}")
    response, raw = get("http://a.example/", lambda _head: answer, max_body=1_000_000)
    assert isinstance(response, Response)
    assert response.unread == Unread("too-large", "over 1,000,000 bytes")
    assert response.body == b""
    assert f" {encoding}".encode() in raw.heads[0].partition(b"Accept-Encoding:")[2].splitlines()[0]
    small = ok(compress(b"hello"), f"Content-Encoding: {encoding}")
    response, _ = get("http://a.example/", lambda _head: small)
    assert isinstance(response, Response)
    assert response.body == b"hello"


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


async def _silence(_writer: asyncio.StreamWriter) -> None:
    await asyncio.sleep(5)


async def _endless(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 10_000)
        await writer.drain()


async def _reset(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()


async def _half(writer: asyncio.StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")
    await writer.drain()


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"hello", "Link: </" + "x" * 10_000 + ">; rel=next"),
        ok(b"hello", *(f"X-{n}: y" for n in range(200))),
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello and more\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello and more",
    ],
)
def test_what_browsers_read_is_read(answer: bytes) -> None:
    """Long or many headers, and a body that is longer than its length says."""
    found, _ = get("http://a.example/", lambda _head: answer)
    assert isinstance(found, Response)
    assert (found.status, found.body) == (200, b"hello")


@pytest.mark.parametrize(
    ("answer", "unread"),
    [
        (_endless, "over 1,000,000 bytes"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000001\r\n\r\n", "1,000,001 bytes"),
    ],
)
def test_a_body_that_is_too_long_is_not_read(answer: Answer, unread: str) -> None:
    found, _ = get("http://a.example/", lambda _head: answer, max_body=1_000_000)
    assert isinstance(found, Response)
    assert found.unread == Unread("too-large", unread)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        (_silence, Fault.TIMEOUT),
        (_reset, Fault.CONNECT),
        (_half, Fault.BODY),
        (b"garbage\r\n\r\n", Fault.PROTOCOL),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 100_000 + b"\r\n\r\n", Fault.PROTOCOL),
        (ok(b"not gzip", "Content-Encoding: gzip"), Fault.BODY),
    ],
)
def test_each_failure_has_its_fault(answer: Answer, fault: Fault) -> None:
    timeout = 0.2 if fault is Fault.TIMEOUT else 30.0
    found, _ = get("http://a.example/", lambda _head: answer, timeout=timeout, max_body=1_000_000)
    assert isinstance(found, FetchError)
    assert found.fault in {fault, Fault.PROTOCOL if fault is Fault.CONNECT else fault}


async def _wrong_second_chunk(writer: asyncio.StreamWriter) -> None:
    """Send a chunk without a size, and leave the connection open."""
    writer.write(CHUNKED + b"5\r\nhello\r\n")
    await writer.drain()
    await asyncio.sleep(0.05)
    writer.write(b"size\r\nhello\r\n")
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    "answer",
    [
        CHUNKED + b"size\r\nhello\r\n",
        CHUNKED + b"FFFFFFFFFFFFFFFFF\r\nhello",
        CHUNKED + b"5\r\nhello\r\n0\r\nno colon\r\n\r\n",
        _wrong_second_chunk,
    ],
)
def test_a_body_that_is_not_http_ends_the_request_at_once(answer: Answer) -> None:
    """It fails for what it is, and does not wait for the time limit."""
    found, _ = get("http://a.example/", lambda _head: answer)
    assert isinstance(found, FetchError)
    assert found.fault is Fault.BODY


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (None, "none.pem: cannot be read: No such file"),
        ("x", "allowed is a file with certificates"),
    ],
)
def test_a_file_of_authorities_that_cannot_be_used(
    tmp_path: Path, text: str | None, says: str
) -> None:
    file = tmp_path / "none.pem"
    if text is not None:
        file.write_text(text)
    with pytest.raises(ValueError, match=f"^ca_file .*{says}"):
        Client(load(None, {"fetch": {"ca_file": str(file)}}))


def test_a_port_where_nothing_listens() -> None:
    found, _ = get("http://a.example/", lambda _head: ok(b""), connect_to=["::127.0.0.1:1"])
    assert isinstance(found, FetchError)
    assert found.fault is Fault.CONNECT


def test_a_name_that_does_not_exist() -> None:
    found, _ = get("http://no-such-name.invalid/", lambda _head: ok(b""), connect_to=[])
    assert isinstance(found, FetchError)
    assert found.fault is Fault.DNS


class NameServer(AbstractResolver):
    """A resolver that returns its addresses one after the other."""

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.requests = 0

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.requests += 1
        address = self.answers.pop(0)
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
        ]

    async def close(self) -> None:
        pass


def test_dns_rebinding_gains_nothing() -> None:
    """The client connects to the address that was checked; a private one is refused later, too."""

    async def run() -> None:
        names = NameServer("192.0.2.7", "8.8.8.8", "127.0.0.1")
        guarded = GuardedResolver(names, [], allow_private=False)
        with pytest.raises(AddressRefusedError):
            await guarded.resolve("rebinding.example", 80)
        [found] = await guarded.resolve("rebinding.example", 80)
        assert found["host"] == "8.8.8.8"
        [again] = await guarded.resolve("Rebinding.example", 443)
        assert (again["host"], again["port"]) == ("8.8.8.8", 443)
        assert names.requests == 2
        assert await guarded.address_of("rebinding.example") == "8.8.8.8"

    asyncio.run(run())


def test_a_name_without_an_answer_costs_its_time_once_in_a_while() -> None:
    class Silent(NameServer):
        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            self.requests += 1
            await asyncio.sleep(60)
            return await super().resolve(host, port, family)

    async def run() -> None:
        names = Silent()
        guarded = GuardedResolver(names, [], allow_private=False, patience=0.05)
        for _ in range(3):
            with pytest.raises(socket.gaierror) as raised:
                await guarded.resolve("silent.example", 80)
            assert raised.value.errno == socket.EAI_AGAIN, "not final"
        assert names.requests == 1

    asyncio.run(run())


def test_the_address_of_a_host_for_politeness() -> None:
    async def run() -> None:
        rules = [ConnectTo.parse("mapped.example::127.0.0.1:80")]
        guarded = GuardedResolver(NameServer("8.8.4.4"), rules, allow_private=False)
        assert await guarded.address_of("plain.example") == "8.8.4.4"
        assert await guarded.address_of("mapped.example") is None
        assert await guarded.address_of("[::1]") == "::1"

    asyncio.run(run())


@pytest.mark.parametrize("url", ["http://a.example:25/", "http://127.0.0.1:6667/"])
def test_ports_of_other_protocols_are_never_requested(url: str) -> None:
    found, raw = get(url, lambda _head: ok(b""))
    assert isinstance(found, FetchError)
    assert found.fault is Fault.ADDRESS
    assert raw.heads == []


@pytest.mark.parametrize(
    "host", ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "10.1.2.3", "169.254.169.254"]
)
def test_addresses_that_are_not_public_are_refused(host: str) -> None:
    found, raw = get(f"http://{host}/", lambda _head: ok(b""), connect_to=[])
    assert isinstance(found, FetchError)
    assert found.fault is Fault.ADDRESS
    assert raw.heads == []


def test_private_addresses_are_requested_when_allowed() -> None:
    async def run() -> Response:
        settings = load(None, {"fetch": {"allow_private": True}})
        async with raw_server(lambda _head: ok(b"x")) as raw, Client(settings) as client:
            return await client.get(f"http://127.0.0.1:{raw.port}/")

    assert asyncio.run(run()).body == b"x"


def test_connect_to_applies_to_addresses_and_keeps_the_host_header() -> None:
    response, raw = get("http://192.0.2.1:81/x", lambda _head: ok(b"x"))
    assert isinstance(response, Response)
    assert b"Host: 192.0.2.1:81\r\n" in raw.heads[0]


@pytest.mark.parametrize(
    ("host", "trusted", "fault"),
    [("a.example", True, None), ("a.example", False, Fault.TLS), ("b.example", True, Fault.TLS)],
)
def test_certificates_are_checked_against_the_host_in_the_url(
    tmp_path: Path, host: str, trusted: bool, fault: Fault | None
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("a.example").configure_cert(tls)

    async def run() -> Fault | None:
        async with raw_server(lambda _head: ok(b"x"), tls) as raw:
            fetch = {"connect_to": [f"::127.0.0.1:{raw.port}"]}
            fetch |= {"ca_file": str(tmp_path / "ca.pem")} if trusted else {}
            async with Client(load(None, {"fetch": fetch})) as client:
                try:
                    assert (await client.get(f"https://{host}/")).body == b"x"
                except FetchError as error:
                    return error.fault
        return None

    assert asyncio.run(run()) is fault


@pytest.mark.parametrize(
    ("rule", "requested", "reached"),
    [
        ("a:80:b:81", ("a", 80), ("b", 81)),
        ("a:80:b:81", ("a", 443), None),
        ("::b:81", ("any", 7), ("b", 81)),
        ("a:::", ("a", 5), ("a", 5)),
        (":80:[::1]:81", ("x", 80), ("::1", 81)),
        ("[::1]:80:b:", ("::1", 80), ("b", 80)),
    ],
)
def test_connect_to_works_as_in_curl(
    rule: str, requested: tuple[str, int], reached: tuple[str, int] | None
) -> None:
    assert addresses.connect_target([ConnectTo.parse(rule)], *requested) == reached


@pytest.mark.parametrize("zone", ["GMT", "+0000", "-0000", ""])
@pytest.mark.parametrize("ours", ["UTC", "Asia/Tashkent"])
def test_the_date_of_a_retry_after_is_in_utc_wherever_we_are(
    monkeypatch: pytest.MonkeyPatch, zone: str, ours: str
) -> None:
    monkeypatch.setenv("TZ", ours)
    time.tzset()
    try:
        wait = seconds_to_wait(f"Sun, 06 Nov 1994 08:49:37 {zone}".strip(), 784_111_717.0)
        asctime = seconds_to_wait("Sun Nov  6 08:49:37 1994", 784_111_717.0)
    finally:
        monkeypatch.undo()
        time.tzset()
    assert (wait, asctime) == (60.0, 60.0)


@pytest.mark.parametrize("rule", ["", "a", "a:b:c:d", "a:1:b", "a:1:b:2:3", "a:1:b:x"])
def test_a_connect_to_that_cannot_be_parsed(rule: str) -> None:
    with pytest.raises(ValueError, match="HOST:PORT:ADDRESS:PORT"):
        ConnectTo.parse(rule)
