"""The add-on and its settings."""

from pathlib import Path

import pytest
from scrapy.exceptions import NotConfigured
from scrapy.settings import Settings

import canonry.scrapy
from canonry.canon.policies import PolicyError
from canonry.crawler.adapters.scrapy.adapter_settings import read_settings
from canonry.crawler.settings import SettingsError

ADDON = canonry.scrapy.Canonry()


def updated(**given: object) -> Settings:
    """Return settings after the add-on."""
    settings = Settings(given)
    ADDON.update_settings(settings)
    return settings


def test_it_switches_everything_on() -> None:
    settings = updated()
    assert settings["REQUEST_FINGERPRINTER_CLASS"] is canonry.scrapy.CanonryFingerprinter
    assert settings["DUPEFILTER_CLASS"] is canonry.scrapy.CanonryDupeFilter
    assert settings["SCHEDULER"] is canonry.scrapy.CanonryScheduler
    assert settings["SPIDER_MIDDLEWARES"][canonry.scrapy.CanonrySpiderMiddleware] == 10
    assert settings["DOWNLOADER_MIDDLEWARES"][canonry.scrapy.CanonryDownloaderMiddleware] == 610


def test_what_the_project_sets_stays() -> None:
    theirs = "scrapy.core.scheduler.Scheduler"
    mine = {"canonry.scrapy.CanonrySpiderMiddleware": None}
    settings = updated(SCHEDULER=theirs, SPIDER_MIDDLEWARES=mine)
    assert settings["SCHEDULER"] == theirs
    assert dict(settings["SPIDER_MIDDLEWARES"]) == mine


def test_it_can_be_switched_off() -> None:
    with pytest.raises(NotConfigured):
        updated(CANONRY_ENABLED=False)


def test_the_store_is_a_file_here_or_in_the_jobs_folder(tmp_path: Path) -> None:
    assert read_settings(Settings()).store == "canonry.db"
    assert read_settings(Settings({"JOBDIR": str(tmp_path)})).store == f"{tmp_path}/canonry.db"
    assert read_settings(Settings({"CANONRY_STORE": tmp_path / "x.db"})).store == f"{tmp_path}/x.db"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CANONRY_STOER", "x", "there is no such setting; allowed are CANONRY_ENABLED"),
        ("CANONRY_STORE", "mysql://x/y", "CANONRY_STORE: store mysql://x/y: stores are kept in"),
        ("CANONRY_STORE", 3, "CANONRY_STORE: 3; give a text in quotes, or a Path"),
        ("CANONRY_LEARN", "perhaps", "CANONRY_LEARN: 'perhaps'; give True or False"),
        ("CANONRY_ENABLED", "perhaps", "CANONRY_ENABLED: 'perhaps'; give True or False"),
    ],
)
def test_a_wrong_setting_says_what_is_allowed(name: str, value: object, says: str) -> None:
    with pytest.raises(SettingsError, match=says.replace("?", r"\?")):
        updated(**{name: value})


def test_a_policy_that_is_not_there_is_named() -> None:
    with pytest.raises(PolicyError, match="wep"):
        updated(CANONRY_POLICY="wep")
