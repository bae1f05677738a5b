"""Headers, cookies and passwords of the settings: which host gets which."""

import asyncio
import time
from pathlib import Path

import pytest
from support.servers import ok, raw_server

from canonry.crawler.admission.scope import host_of
from canonry.crawler.fetch.client import Client
from canonry.crawler.fetch.cookie_jar import read_jar
from canonry.crawler.fetch.request_headers import RequestHeaders
from canonry.crawler.settings import Settings, load
from canonry.crawler.settings.host_tables import HostTables

GIVEN = ["Accept-Language: de", "Authorization: Bearer t0ken", "X-Api-Key: k3y", "Cookie: a=1; b=2"]
TABLES = """
[hosts."*.a.example"]
headers = ["X-Team: all"]
basic_auth = "u:p"
[hosts."WWW.a.example"]
headers = ["X-Team: www"]
cookies = "c=3"
"""


def settings_of(folder: Path, tables: str = TABLES, **fetch: object) -> Settings:
    """Return settings with tables for hosts."""
    (folder / "my.toml").write_text(tables)
    return load(str(folder / "my.toml"), {"fetch": fetch})


def headers_to(
    url: str,
    settings: Settings,
    *seeds: str,
    told: list[str] | None = None,
    cookies: dict[str, str] | None = None,
) -> dict[str, str]:
    """Return the headers of a request to a URL, where the seeds' hosts are in scope."""
    places = {host_of(seed) for seed in seeds}
    headers = RequestHeaders(
        settings.fetch,
        HostTables(settings.hosts),
        seeds=seeds,
        in_scope=lambda url: host_of(url).removeprefix("sub.") in places,
        notify=([] if told is None else told).append,
    )
    return dict(headers.of(url, cookies, None))


SEED = "http://b.example/"
PLAIN = {"Accept-Language": "de"}
ALL = {**PLAIN, "Authorization": "Bearer t0ken", "X-Api-Key": "k3y", "Cookie": "a=1; b=2"}


@pytest.mark.parametrize(
    ("seed", "url", "expected"),
    [
        (SEED, "http://b.example/x", ALL),
        (SEED, "https://b.example/", ALL),
        ("https://b.example/", "http://b.example/", PLAIN),
        (SEED, "http://b.example:8080/", PLAIN),
        (SEED, "http://sub.b.example/", PLAIN),
        (SEED, "http://evil.example/", {}),
        (SEED, "http://u:p@b.example/", {k: v for k, v in ALL.items() if k != "Authorization"}),
    ],
)
def test_secrets_go_to_the_seeds_own_hosts_only(
    tmp_path: Path, seed: str, url: str, expected: dict[str, str]
) -> None:
    assert headers_to(url, settings_of(tmp_path, headers=GIVEN), seed) == expected


def test_a_secret_that_is_not_sent_is_told_once(tmp_path: Path) -> None:
    settings, told = settings_of(tmp_path, headers=GIVEN), []
    headers = RequestHeaders(
        settings.fetch, HostTables({}), seeds=[SEED], in_scope=lambda _url: True, notify=told.append
    )
    for url in ("http://b.example/", "http://c.example/", "http://d.example/"):
        headers.of(url, None, None)
    [message] = told
    assert "Authorization, X-Api-Key, Cookie of --header" in message
    assert '[hosts."c.example"]' in message
    assert "t0ken" not in message


def test_a_table_is_for_its_host_and_the_nearest_one_wins(tmp_path: Path) -> None:
    settings = settings_of(tmp_path)
    basic = "Basic dTpw"
    assert headers_to("http://a.example/", settings) == {}
    assert headers_to("http://x.y.a.example/", settings) == {
        "X-Team": "all",
        "Authorization": basic,
    }
    found = headers_to("http://www.a.example/", settings, cookies={"c": "4", "d": "5"})
    assert found == {"X-Team": "www", "Authorization": basic, "Cookie": "c=4; d=5"}


def line(*fields: str) -> str:
    """Return a line of a jar."""
    return "\t".join(fields) + "\n"


JAR = (
    "# Netscape HTTP Cookie File\n\n"
    + line(".a.example", "TRUE", "/", "FALSE", "0", "all", "1")
    + line("#HttpOnly_www.a.example", "FALSE", "/x", "TRUE", "4102444800", "deep", "2")
    + line("www.a.example", "FALSE", "/", "FALSE", "1", "old", "3")
    + line("www.a.example", "FALSE", "/x/y", "FALSE", "0", "all", "near")
)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://a.example/", {"all": "1"}),
        ("http://www.a.example/xy", {"all": "1"}),
        ("http://www.a.example/x", {"all": "1"}),
        ("https://www.a.example/x?q", {"all": "1", "deep": "2"}),
        ("https://www.a.example/x/y/z", {"all": "near", "deep": "2"}),
        ("https://deep.www.a.example/x", {"all": "1"}),
        ("http://nota.example/", {}),
    ],
)
def test_a_cookie_goes_where_its_line_says(
    tmp_path: Path, url: str, expected: dict[str, str]
) -> None:
    (tmp_path / "jar").write_text(JAR)
    assert read_jar(str(tmp_path / "jar")).of(url, time.time()) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("\na.example s3cret\n", "line 2: 1 fields; allowed are 7, separated by tabs: domain"),
        (
            line("a.example", "x", "/", "TRUE", "0", "n", "s3cret"),
            "line 1: subdomains: allowed",
        ),
        (line("a.example", "TRUE", "/", "TRUE", "now", "n", "s3cret"), "line 1: expires: allowed"),
        (
            line("a.example", "TRUE", "/", "TRUE", "0", "n", "s3cret\x0b"),
            "line 1: name and value",
        ),
        (line("a.example", "TRUE", "/", "TRUE", "1", "n", "s3cret"), "all of its cookies have exp"),
    ],
)
def test_a_line_that_is_no_cookie_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "jar").write_text(text)
    with pytest.raises(ValueError, match="jar") as caught:
        read_jar(str(tmp_path / "jar"))
    assert says in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_the_client_sends_them(tmp_path: Path) -> None:
    (tmp_path / "jar").write_text(JAR)

    async def run() -> list[bytes]:
        async with raw_server(lambda _head: ok(b"")) as raw:
            to = [f"::127.0.0.1:{raw.port}"]
            settings = settings_of(
                tmp_path, headers=["Accept: text/html"], cookies=f"{tmp_path}/jar", connect_to=to
            )
            headers = RequestHeaders(settings.fetch, HostTables(settings.hosts))
            async with Client(settings, headers=headers) as client:
                await client.get("http://www.a.example/x")
            return raw.heads

    [head] = asyncio.run(run())
    lines = head.decode().split("\r\n")
    assert sum(one.lower().startswith("accept:") for one in lines) == 1
    for one in ("Accept: text/html", "X-Team: www", "Authorization: Basic dTpw", "Cookie: all=1"):
        assert any(found.startswith(one) for found in lines), (one, lines)
