"""Settings: which source overrides which, and the messages for invalid ones."""

from contextlib import suppress
from pathlib import Path
from typing import get_type_hints

import pytest

from canonry.canon.policies import line_of
from canonry.crawler.settings import SettingsError, load
from canonry.crawler.settings.declared import SECTIONS
from canonry.crawler.settings.sources import loaded


def test_flags_override_the_environment_which_overrides_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "c.toml"
    file.write_text("[crawl]\ndelay = 3\nconcurrency = 3\nmax_hops = 3\n")
    for name, value in {
        "CRAWL_DELAY": "2.5",
        "CRAWL_CONCURRENCY": "2",
        "CRAWL_USER_AGENT": "mine/1",
        "CRAWL_SITEMAPS": "False",
        "FETCH_CONNECT_TO": "::127.0.0.1:80 a.example::127.0.0.1:81",
        "PURE": "1",
        "TEST_KILLS": "9",
    }.items():
        monkeypatch.setenv(f"CANONRY_{name}", value)
    found = load(str(file), {"crawl": {"concurrency": 1, "delay": None}})
    assert (found.crawl.delay, found.crawl.concurrency, found.crawl.max_hops) == (2.5, 1, 3)
    assert found.crawl.user_agent == "mine/1"
    assert found.crawl.sitemaps is False
    assert found.fetch.connect_to == ("::127.0.0.1:80", "a.example::127.0.0.1:81")


SCOPES = '"any", "domain", "host" or "prefix"'


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CRAWL_DELAY", "much", 'delay in [crawl]: "much" was given; allowed is a number from 0 '),
        ("CRAWL_DELAY", "-1", "delay in [crawl]: -1 was given; allowed is a number from 0 to 86,4"),
        ("CRAWL_DELAYS", "1", "no key in [crawl] is called delays (did you mean delay?)"),
        ("CRAWL_SCOPE", "all", f'scope in [crawl]: "all" was given; allowed is {SCOPES}'),
        ("LEARN_ENABLED", "perhaps", 'enabled in [learn]: "perhaps" was given; allowed is true '),
        ("CRWAL_DELAY", "1", "no section is called crwal (did you mean crawl?)"),
        ("CRAWL_RECRAWL_AFTER", "5", 'recrawl_after in [crawl]: "5" was given; allowed is a tim'),
        ("CRAWL_RECRAWL_AFTER", "2y", 'recrawl_after in [crawl]: "2y" was given; allowed is a ti'),
    ],
)
def test_an_invalid_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"CANONRY_{name}", value)
    with pytest.raises(SettingsError) as caught:
        load(None, {})
    assert str(caught.value).startswith(f"CANONRY_{name}: {says}")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[crawl\n", ": not TOML"),
        ("[crawl]\n\ndelya = 1\n", ", line 3: no key in [crawl] is called delya (did you mean del"),
        ("[crwal]\n", ", line 1: no section is called [crwal] (did you mean [crawl]?)"),
        ("[crawl]\n#\ndelay = 'x'\n", ', line 3: delay in [crawl]: "x" was given; allowed is a n'),
        ("crawl = 1\n", ", line 1: crawl is the name of a section: write [crawl]"),
        ("[fetch]\n[crawl]\nscope = 'hots'", f"allowed is {SCOPES} (did you mean host?)"),
        (
            "[crawl]\nmax_body = 1",
            ", line 2: no key in [crawl] is called max_body: it is in [f",
        ),
        ("[crawl]\nrobots = 'ignore'", "robots.txt is always obeyed; max_crawl_delay limits"),
        ("[crawl]\nfirst = 'x'", 'first in [crawl]: "x" was given; allowed is a list, of which e'),
        ("[crawl]\nuser_agent = '1'", "allowed is a product token of letters, - and _, and per"),
        ("[crawl]\nembeds = 'no'", 'embeds in [crawl]: "no" was given; allowed is true or false'),
        ("[fetch]\ntimeout = 0", "timeout in [fetch]: 0 was given; allowed is a number above 0"),
        ("[fetch]\nretries = 0.5", "retries in [fetch]: 0.5 was given; allowed is a whole number"),
        ("[crawl]\ninclude = ['docs']", 'include in [crawl]: "docs" matches no URL: allowed are g'),
        ("[crawl]\nexclude = ['re:(']", '"re:(" is no regular expression: missing )'),
    ],
)
def test_an_invalid_file_is_named_with_the_line(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "my.toml"
    file.write_text(text)
    with pytest.raises(SettingsError) as caught:
        load(str(file), {})
    assert says in str(caught.value).removeprefix(str(file))
    assert str(caught.value).startswith(f"{file}")


def test_all_faults_of_a_file_are_named_at_once(tmp_path: Path) -> None:
    file = tmp_path / "my.toml"
    file.write_text(
        "[crawl]\ndelya = 1\nxyz = 2\nscope = 'all'\n[fetsh]\n[hosts.'a.example']\ndelai = 1\n"
    )
    with pytest.raises(SettingsError) as caught:
        load(str(file), {})
    first, second, third, fourth, fifth = str(caught.value).splitlines()
    assert first == f"{file}, line 2: no key in [crawl] is called delya (did you mean delay?)"
    assert f"{file}, line 3: no key in [crawl] is called xyz; allowed are user_agent, " in second
    assert f"{file}, line 4: scope in [crawl]: " in third
    assert fourth == f"{file}, line 5: no section is called [fetsh] (did you mean [fetch]?)"
    assert f'{file}, line 7: no key in [hosts."a.example"] is called delai (did you ' in fifth


def test_a_time_of_nothing_needs_no_unit() -> None:
    assert load(None, {"crawl": {"recrawl_after": "0"}}).crawl.recrawl_seconds == 0.0


def test_an_invalid_flag_is_named() -> None:
    with pytest.raises(SettingsError, match=r"^--max-pages: .*: -1 was given; allowed is a whole"):
        load(None, {"crawl": {"max_pages": -1, "delay": None}})


@pytest.mark.parametrize("section", SECTIONS)
def test_no_error_has_words_of_a_library(section: str) -> None:
    """Whatever key has a wrong value: those libraries say "Expected `int`"."""
    for key in get_type_hints(SECTIONS[section]):
        for value in ([], {}, True, -5, 1e300, ["\0"], "no\nsuch", [7], None):
            with suppress(SettingsError):
                load(None, {section: {key: value}})
                continue
            with pytest.raises(SettingsError, match=rf"{key} in \[{section}\]: [^`]*allowed"):
                load(None, {section: {key: value}})


@pytest.mark.parametrize(
    ("path", "line"),
    [
        (("a",), 2),
        (("a", "x"), 3),
        (("b", "x.y", "k"), 6),
        (("b", "x.y", "k 2"), 7),
        (("b", "none"), 0),
        (("z",), 1),
    ],
)
def test_lines_of_keys_are_found(path: tuple[str, ...], line: int) -> None:
    text = "z = 1\n[a]\n x = 1 # [c]\n# x = 2\n[b.\"x.y\"] # here\nk = [\n'k 2' = 3\n"
    assert line_of(text, path) == line


def test_one_setting_can_be_given_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "my.toml"
    file.write_text("[crawl]\nmax_hops = 4\nembeds = true\n", encoding="utf-8")
    monkeypatch.setenv("CANONRY_CRAWL_MAX_HOPS", "5")
    config = ["crawl.max_hops=6", str(file), "crawl.first=*/a/* */b/*", "fetch.headers=X: a b"]
    found = load(config, {"crawl": {"max_hops": None}})
    assert (found.crawl.max_hops, found.crawl.embeds) == (6, True)
    assert (found.crawl.first, found.fetch.headers) == (("*/a/*", "*/b/*"), ("X: a b",))
    assert load(config, {"crawl": {"max_hops": 7}}).crawl.max_hops == 7, "an option goes before"
    assert loaded(config, {"crawl": {"delay": 2.0}}).origins == {
        "crawl.max_hops": "--config",
        "crawl.embeds": f"{file}, line 3",
        "crawl.first": "--config",
        "fetch.headers": "--config",
        "crawl.delay": "--delay",
    }


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (["crawl.max_hop=3"], "--config crawl.max_hop: .*did you mean max_hops"),
        (["crawls.max_hops=3"], r"--config crawls.max_hops: .*did you mean \[crawl\]"),
        (["crawl.max_hops=many"], "--config crawl.max_hops: max_hops in .crawl.: "),
        (["max_hops=3"], "--config max_hops=3: write SECTION.KEY=VALUE, such as crawl.max_hops=3"),
        (["a.toml", "b.toml"], "--config is given twice .a.toml and b.toml.: give one file"),
        (["a.toml"], "a.toml: cannot be read"),
    ],
)
def test_a_wrong_setting_is_named(config: list[str], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load(config, {})
