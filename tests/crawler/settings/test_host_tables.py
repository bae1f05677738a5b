"""Tables for hosts: names, what wins, errors; and what they change besides headers."""

from pathlib import Path

import pytest

from canonry.canon import Canonicalizer
from canonry.crawler.admission.scope import Scope
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.run.job import preparation
from canonry.crawler.run.job.preparation import as_job
from canonry.crawler.run.queue.politeness import politeness, politeness_of
from canonry.crawler.run.queue.turns import Turns
from canonry.crawler.settings import Settings, SettingsError, load
from canonry.crawler.settings.header_lines import headers_of
from canonry.crawler.settings.host_tables import host_name

TABLES = """
[hosts."*.example"]
delay = 7
max_depth = 1
[hosts."slow.example"]
requests_per_host = 1
[hosts."fast.example"]
delay = 0
max_pages = 2
max_crawl_delay = 0.5
max_depth = -1
"""
NOTHING = (
    "--concurrency 64 can do nothing here: all seeds are on one host, which gets at most 4 "
    "requests at once (--requests-per-host) and one every 1 s (--delay)"
)


def tables(folder: Path, text: str = TABLES) -> Settings:
    """Return settings with tables for hosts."""
    (folder / "my.toml").write_text(text)
    return load(str(folder / "my.toml"), {})


@pytest.mark.parametrize(
    ("name", "host"),
    [
        ("A.Example", "a.example"),
        ("*.a.example", "*.a.example"),
        ("Bücher.example", "xn--bcher-kva.example"),
        ("127.1", "127.0.0.1"),
        ("[::1]", "[::1]"),
    ],
)
def test_a_name_is_as_urls_have_it(name: str, host: str) -> None:
    assert host_name(name) == host


@pytest.mark.parametrize("name", ["a.example:80", "http://a.example", "a/b", "a b", "", "*", "u@a"])
def test_other_names_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=r"my.toml, line 2: .*: allowed is a host without a po"):
        tables(tmp_path, f'\n[hosts."{name}"]\ndelay = 1\n')


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("delai = 1", '", line 2: no key in [hosts."h"] is called delai (did you mean delay?)'),
        ("delay = -1", '", line 2: delay in [hosts."h"]: -1 was given; allowed is a number from'),
        ("robots = 'ignore'", "robots.txt is always obeyed"),
        ("concurrency = 2", "it is requests_per_host here"),
        ("requests_per_host = 0", "allowed is a whole number, 1 or more"),
        ("basic_auth = 's3cret'", 'basic_auth in [hosts."h"]: allowed is "user:password"'),
        ("headers = ['A: s3cret', 'a: b']", "a: this header is given twice"),
        ("headers = ['Bearer s3cret:x']", 'a header: allowed is "Name: value"'),
        ("headers = ['Cookie: s3cret']", 'allowed are cookies as in a Cookie header: "a=b; c=d"'),
        ("headers = ['s3cret']", 'a header: allowed is "Name: value"'),
        ("headers = ['Host: s3cret']", "Host: this header may not be given: Canonry sets it"),
        ("headers = ['User-Agent: s3cret']", "user_agent in [crawl] sets it"),
        ("headers = ['X: s3cret\\u0007x']", 'X: allowed is "Name: value"'),
        ("cookies = 's3cret'", 'allowed are cookies as in a Cookie header: "a=b; c=d"'),
        ("cookies = 7", 'cookies in [hosts."h"]: allowed is a text'),
    ],
)
def test_an_error_names_the_key_and_shows_no_secret(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(SettingsError) as caught:
        tables(tmp_path, f'[hosts."h"]\n{text}\n'.replace("'", '"'))
    assert says.lstrip('"') in str(caught.value)
    assert "s3cret" not in str(caught.value)


def test_only_files_have_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(SettingsError, match=r'write \[hosts."h"\], and keys below'):
        tables(tmp_path, "[hosts]\nh = 1\n")
    monkeypatch.setenv("CANONRY_HOSTS_X", "1")
    with pytest.raises(SettingsError, match="CANONRY_HOSTS_X: tables for hosts are read from"):
        load(None, {})


def test_headers_in_the_environment_have_a_line_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANONRY_FETCH_HEADERS", "A: b c\nD: e")
    assert headers_of(load(None, {}).fetch.headers) == {"A": "b c", "D": "e"}


def test_the_pace_of_a_host_is_its_own(tmp_path: Path) -> None:
    settings = tables(tmp_path)
    of = politeness_of(settings)
    found = {name: of(name) for name in ("slow.example", "fast.example", "else.test")}
    assert [(one.delay, one.per_host, one.longest) for one in found.values()] == [
        (7, 1, 60),
        (0, 4, 0.5),
        (1, 4, 60),
    ]
    turns = Turns(politeness(settings), of)
    for name in found:
        turns.want(name, 9)
        turns.place(name, "192.0.2.1")  # all on one address
    asked: dict[str, list[float]] = {name: [] for name in found}
    for tick in range(900):
        while (name := turns.take(tick / 100)) is not None:
            asked[name].append(tick / 100)
            turns.done(name)
    assert asked["fast.example"] == [0.0] * 9
    assert [round(at) for at in asked["slow.example"]] == [0, 7]
    assert [round(at) for at in asked["else.test"]] == list(range(9))


def test_limits_of_a_host(tmp_path: Path) -> None:
    settings = tables(tmp_path)
    found = URLFilter(Canonicalizer("web"), Scope("any", ()), settings)
    for host, reason in (("a.example", HoldReason.TOO_DEEP), ("fast.example", None)):
        assert found.reason_to_hold(f"http://{host}/", 2, 0) is reason
    assert found.reason_to_hold("http://a.test/", 9, 0) is None
    most = {budget.most: budget.reason for budget in found.budgets_of("http://fast.example/x")}
    assert most[2] == HoldReason.HOST_BUDGET.label
    assert 2 not in {budget.most for budget in found.budgets_of("http://a.example/x")}


def test_the_store_gets_no_secret(tmp_path: Path) -> None:
    text = (
        '[fetch]\nheaders = ["X-Any: s3cret"]\ncookies = "jar.txt"\nproxy = "u:s3cret@p:1"\n'
        "[hosts.h]\n"
        'headers = ["A: s3cret"]\ncookies = "a=s3cret"\nbasic_auth = "u:s3cret"\n'
    )
    job = as_job([], [], tables(tmp_path, text))
    assert "s3cret" not in job
    assert job.count("***") == 5
    assert "jar.txt" in job


@pytest.mark.parametrize(
    ("flags", "seeds", "says"),
    [
        ({"concurrency": 64}, ["http://a.test/", "https://a.test/x"], True),
        ({"concurrency": 64, "requests_per_host": 64}, ["http://a.test/"], False),
        ({"concurrency": 64}, ["http://a.test/", "http://b.test/"], False),
        ({"concurrency": 64, "scope": "any"}, ["http://a.test/"], False),
        ({}, ["http://a.test/"], False),
    ],
)
def test_a_concurrency_that_can_do_nothing_is_told(
    flags: dict[str, object], seeds: list[str], says: bool
) -> None:
    told = list(preparation.of(load(None, {"crawl": {"contact": "me", **flags}}), seeds))
    assert told == [NOTHING] * says
