"""Settings: defaults, then a file, then the environment, then the command line."""

from canonry.crawler.settings.sections import (
    CrawlSettings,
    FetchSettings,
    FrontierSettings,
    LearnSettings,
    Settings,
    SettingsError,
    TrapSettings,
)
from canonry.crawler.settings.sources import load

__all__ = [
    "CrawlSettings",
    "FetchSettings",
    "FrontierSettings",
    "LearnSettings",
    "Settings",
    "SettingsError",
    "TrapSettings",
    "load",
]
