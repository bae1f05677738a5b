"""The add-on: one line in a Scrapy project's settings switches everything on."""

import logging

from scrapy.exceptions import NotConfigured
from scrapy.settings import BaseSettings

from canonry.crawler.adapters.scrapy.adapter_settings import check_settings, read_switch
from canonry.crawler.adapters.scrapy.dupe_filter import CanonryDupeFilter
from canonry.crawler.adapters.scrapy.fingerprints import CanonryFingerprinter
from canonry.crawler.adapters.scrapy.middlewares import (
    CanonryDownloaderMiddleware,
    CanonrySpiderMiddleware,
)
from canonry.crawler.adapters.scrapy.request_scheduler import CanonryScheduler

_LOG = logging.getLogger(__name__)
_COMPONENTS = {
    "REQUEST_FINGERPRINTER_CLASS": CanonryFingerprinter,
    "DUPEFILTER_CLASS": CanonryDupeFilter,
    "SCHEDULER": CanonryScheduler,
}
_MIDDLEWARES = {
    # Nearest to the engine: it is the last to see start requests, and sees every response.
    "SPIDER_MIDDLEWARES": (CanonrySpiderMiddleware, 10),
    # Nearer to the downloader than RedirectMiddleware (600): it sees every hop.
    "DOWNLOADER_MIDDLEWARES": (CanonryDownloaderMiddleware, 610),
}


class Canonry:
    """Scrapy's add-on: ``ADDONS = {"canonry.scrapy.Canonry": 500}``."""

    def update_settings(self, settings: BaseSettings) -> None:
        """Enable the components; those that the project sets itself stay.

        Raises:
            NotConfigured: if ``CANONRY_ENABLED`` is False.
            SettingsError, PolicyError, RulesError: for a setting that cannot be used.
        """
        if not read_switch(settings, "CANONRY_ENABLED"):
            raise NotConfigured("CANONRY_ENABLED is False")
        check_settings(settings)
        for name, component in _COMPONENTS.items():
            settings.set(name, component, "addon")
            if settings[name] is not component:
                _LOG.info("%s is the project's own: %s", name, settings[name])
        for name, (middleware, place) in _MIDDLEWARES.items():
            settings.setdefault_in_component_priority_dict(name, middleware, place)
