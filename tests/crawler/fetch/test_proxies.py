"""Proxies: when one is used, what arrives there, and what the address guard still refuses."""

import asyncio
import base64
import ssl
from collections.abc import Mapping
from pathlib import Path

import pytest
import trustme
from aiohttp.abc import AbstractResolver, ResolveResult
from click.testing import CliRunner
from support.servers import Answer, Raw, ok, raw_server
from support.sites import from_thread
from support.tables import each

from canonry.crawler.cli.commands import main
from canonry.crawler.fetch.addresses import GuardedResolver
from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.proxy_routes import ProxyRoutes
from canonry.crawler.fetch.response import Response
from canonry.crawler.run.job import preparation
from canonry.crawler.settings import SettingsError, load
from canonry.crawler.settings.proxies import Proxies

HTTP = {"HTTP_PROXY": "http://p.example:3128", "NO_PROXY": "b.example, .c.example:8080 10.0.0.0/8"}


@each(
    ("setting", "environment", "url", "expected"),
    [
        ("", {}, "http://a.example/", None),
        ("http://p.example:1/", {}, "https://a.example/", "http://p.example:1"),
        ("p.example:1", {}, "http://127.0.0.1/", "http://p.example:1"),
        ("http://p.example:1", HTTP, "http://b.example/", None),
        ("none", HTTP, "http://a.example/", None),
        ("", HTTP, "http://a.example/", "http://p.example:3128"),
        ("", HTTP, "https://a.example/", None),
        ("", HTTP, "http://www.b.example/", None),
        ("", HTTP, "http://notb.example/", "http://p.example:3128"),
        ("", HTTP, "http://c.example:8080/", None),
        ("", HTTP, "http://c.example/", "http://p.example:3128"),
        ("", HTTP, "http://10.2.3.4/", None),
        ("", HTTP, "http://[::1]/", None),
        ("", HTTP, "http://localhost/", None),
        ("", {"ALL_PROXY": "http://q.example"}, "https://a.example/", "http://q.example"),
        ("", HTTP | {"http_proxy": "q.example:2"}, "http://a.example/", "http://q.example:2"),
        ("", HTTP | {"REQUEST_METHOD": "GET"}, "http://a.example/", None),
        ("", HTTP | {"no_proxy": "*"}, "http://a.example/", None),
    ],
)
def test_which_proxy(
    setting: str, environment: Mapping[str, str], url: str, expected: str | None
) -> None:
    assert Proxies(setting, environment).of(url) == expected


@pytest.mark.parametrize(
    "given", ["socks5://u:s3cret@h", "http://", "http://h/path", "http://u:s3cret@"]
)
def test_what_is_no_proxy_is_refused(given: str) -> None:
    with pytest.raises(SettingsError, match=r"^--proxy: proxy in \[fetch\]: allowed is") as one:
        load(None, {"fetch": {"proxy": given}})
    with pytest.raises(ValueError, match=r"^ALL_PROXY: allowed is http.*--proxy none") as other:
        Proxies("", {"ALL_PROXY": given})
    assert "s3cret" not in f"{one.value} {other.value}"


@pytest.mark.parametrize(
    ("setting", "environment", "mapped", "told"),
    [
        ("", {}, False, []),
        ("http://u:s3cret@p", {}, False, ["http and https go through the proxy http://u:***@p (-"]),
        (
            "",
            HTTP,
            False,
            ["http go through the proxy http://p.example:3128 (HTTP_PROXY), but"],
        ),
        ("none", HTTP, False, ["HTTP_PROXY is ignored, because of --proxy"]),
        ("p", {"all_proxy": "q"}, False, ["http and https go", "all_proxy is ignored, because"]),
        ("", HTTP, True, ["HTTP_PROXY is ignored: --connect-to says for all hosts"]),
    ],
)
def test_what_is_used_and_what_is_ignored_is_told(
    setting: str, environment: Mapping[str, str], mapped: bool, told: list[str]
) -> None:
    found = list(Proxies(setting, environment).notices(all_mapped=mapped))
    assert len(found) == len(told)
    for sentence, part in zip(found, told, strict=True):
        assert part in sentence


def test_a_crawl_tells_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ALL_PROXY", "NO_PROXY", "http_proxy", "all_proxy", "no_proxy", "REQUEST_METHOD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://p.example:3128")
    assert any("p.example:3128 (HTTP_PROXY)" in one for one in preparation.of(load(None, {}), []))


def get_through(url: str, answer: Answer, **fetch: object) -> tuple[Response | FetchError, Raw]:
    """Fetch one URL through a proxy on loopback, which answers itself."""

    async def run() -> tuple[Response | FetchError, Raw]:
        async with raw_server(lambda _head: answer) as raw:
            proxy = f"http://u%40x:p@127.0.0.1:{raw.port}"
            settings = load(None, {"fetch": {"proxy": proxy, "timeout": 30.0, **fetch}})
            async with Client(settings) as client:
                try:
                    return await client.get(url), raw
                except FetchError as error:
                    return error, raw

    return asyncio.run(run())


def test_a_url_goes_to_the_proxy_byte_for_byte() -> None:
    found, raw = get_through("http://a.example/%7E|x?y={z}&", ok(b"hello"))
    assert isinstance(found, Response)
    assert (found.body, found.exchange.address) == (b"hello", "")
    [head] = raw.heads
    assert head.startswith(b"GET http://a.example/%7E|x?y={z}& HTTP/1.1\r\nHost: a.example\r\n")
    assert b"Proxy-Authorization: Basic " + base64.b64encode(b"u@x:p") + b"\r\n" in head
    assert b"\r\nAuthorization" not in head


@pytest.mark.parametrize(
    ("url", "detail"),
    [
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://[::ffff:10.0.0.1]/", "::ffff"),
        ("http://localhost/", "localhost has"),
        ("http://a.example:6379/", "port 6379"),
    ],
)
def test_the_guard_holds_for_addresses_names_and_ports(url: str, detail: str) -> None:
    found, raw = get_through(url, ok(b"inside"))
    assert isinstance(found, FetchError)
    assert found.fault is Fault.ADDRESS
    assert detail in found.detail
    assert raw.heads == []


def test_a_private_name_may_be_asked_for_through_a_proxy_if_the_user_allows_it() -> None:
    found, raw = get_through("http://localhost/", ok(b"inside"), allow_private=True)
    assert isinstance(found, Response)
    assert raw.lines == [b"GET http://localhost/ HTTP/1.1"]


@pytest.mark.parametrize(
    ("url", "answer", "detail"),
    [
        (
            "http://a.example/",
            ok(b"who?", status="407 No"),
            "status 407",
        ),
        ("https://a.example/", ok(b"no", status="403 Forbidden"), "status 403"),
    ],
)
def test_a_proxy_that_refuses_is_no_page(url: str, answer: bytes, detail: str) -> None:
    found, _ = get_through(url, answer)
    assert isinstance(found, FetchError)
    assert (found.fault, found.detail) == (Fault.PROXY, detail)


def test_a_proxy_that_cannot_be_reached() -> None:
    found, raw = get_through("http://a.example/", ok(b""), proxy="http://127.0.0.1:1")
    assert isinstance(found, FetchError)
    assert (found.fault, found.detail) == (Fault.PROXY, "connection refused")
    assert raw.heads == []


def test_a_name_that_only_the_proxy_knows_is_looked_up_once_a_minute() -> None:
    """Neither the guard nor the politeness towards addresses waits for it again."""
    requests: list[str] = []

    class Names(AbstractResolver):
        async def resolve(self, host: str, *_more: object) -> list[ResolveResult]:
            requests.append(host)
            raise OSError

        async def close(self) -> None:
            pass

    async def run() -> None:
        guard = GuardedResolver(Names(), [], allow_private=False)
        routes = ProxyRoutes(Proxies("p.example", {}), [], guard, 1.0)
        for _ in range(3):
            assert await routes.of("http://a.example/", "a.example", 80) == "http://p.example"
        assert routes.hides("a.example")
        assert not routes.hides("b.example")

    asyncio.run(run())
    assert requests == ["a.example"]


def test_hosts_that_connect_to_maps_need_no_proxy() -> None:
    async def run() -> None:
        async with raw_server(lambda _head: ok(b"itself")) as raw:
            to = [f"a.example:80:127.0.0.1:{raw.port}"]
            settings = load(None, {"fetch": {"proxy": "http://127.0.0.1:1", "connect_to": to}})
            async with Client(settings) as client:
                assert (await client.get("http://a.example/x")).body == b"itself"
            assert raw.lines == [b"GET /x HTTP/1.1"]

    asyncio.run(run())


def test_https_goes_through_a_tunnel_and_the_certificate_is_checked(tmp_path: object) -> None:
    """The proxy copies bytes to a server whose certificate names the host that was asked for."""
    authority = trustme.CA()
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("a.example").configure_cert(tls)
    file = f"{tmp_path}/ca.pem"
    authority.cert_pem.write_to_path(file)

    async def run(name: str) -> tuple[bytes | Fault, list[bytes], list[bytes]]:
        async with raw_server(lambda _head: ok(b"secure"), tls) as inner:
            heads: list[bytes] = []

            async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
                heads.append(await reader.readuntil(b"\r\n\r\n"))
                writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
                there, back = await asyncio.open_connection("127.0.0.1", inner.port)
                await asyncio.gather(copy(reader, back), copy(there, writer))

            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            proxy = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            settings = load(None, {"fetch": {"proxy": proxy, "ca_file": file, "timeout": 30.0}})
            async with server, Client(settings) as client:
                try:
                    return (await client.get(f"https://{name}/x")).body, heads, inner.lines
                except FetchError as error:
                    return error.fault, heads, inner.lines

    body, heads, lines = asyncio.run(run("a.example"))
    assert body == b"secure"
    assert heads[0].startswith(b"CONNECT a.example:443 HTTP/1.1\r\n")
    assert lines == [b"GET /x HTTP/1.1"]
    assert asyncio.run(run("b.example"))[0] is Fault.TLS


async def copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy bytes until the end."""
    try:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()


def test_a_crawl_says_that_its_proxy_refuses(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("[fetch]\nretries = 0\n")
    refusal = ok(b"", status="407 No")
    with from_thread(raw_server(lambda _head: refusal)) as raw:
        words = ["--proxy", f"127.0.0.1:{raw.port}", "--config", str(tmp_path / "c.toml")]
        store = f"sqlite:///{tmp_path / 's.db'}"
        done = CliRunner().invoke(main, ["crawl", "http://a.example/", *words, "--store", store])
    assert done.exit_code == 4
    told = " ".join(done.stderr.split())
    assert f"go through the proxy http://127.0.0.1:{raw.port} (--proxy)" in told
    assert "the proxy could not be reached, or did not accept the request" in told
    assert "what helps: --proxy URL, or none" in told
