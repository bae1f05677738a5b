"""Canonry for Scrapy: ``ADDONS = {"canonry.scrapy.Canonry": 500}`` in a project's settings."""

from canonry.crawler.adapters.scrapy.addon import Canonry
from canonry.crawler.adapters.scrapy.dupe_filter import CanonryDupeFilter
from canonry.crawler.adapters.scrapy.fingerprints import CanonryFingerprinter
from canonry.crawler.adapters.scrapy.middlewares import (
    CanonryDownloaderMiddleware,
    CanonrySpiderMiddleware,
)
from canonry.crawler.adapters.scrapy.request_scheduler import CanonryScheduler

__all__ = [
    "Canonry",
    "CanonryDownloaderMiddleware",
    "CanonryDupeFilter",
    "CanonryFingerprinter",
    "CanonryScheduler",
    "CanonrySpiderMiddleware",
]
