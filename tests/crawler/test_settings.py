"""Settings: which source overrides which, and the messages for invalid ones."""

from pathlib import Path

import pytest

from canonry.crawler.settings import SettingsError, load


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


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CRAWL_DELAY", "much", "CANONRY_CRAWL_DELAY=much: not a TOML value; the default is 1.0"),
        ("CRAWL_DELAY", "-1", "CANONRY_CRAWL_DELAY: .*crawl.delay"),
        ("CRAWL_DELAYS", "1", r"CANONRY_CRAWL_DELAYS: no key 'delays' in \[crawl\]; allowed are"),
        ("CRAWL_SCOPE", "all", "CANONRY_CRAWL_SCOPE: .*crawl.scope"),
        (
            "LEARN_ENABLED",
            "perhaps",
            "CANONRY_LEARN_ENABLED=perhaps: not a TOML value; the default is true",
        ),
    ],
)
def test_an_invalid_variable_is_named(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str, says: str
) -> None:
    monkeypatch.setenv(f"CANONRY_{name}", value)
    with pytest.raises(SettingsError, match=says):
        load(None, {})
