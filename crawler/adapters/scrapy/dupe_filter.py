"""The dupefilter: a request is a duplicate if any process has claimed it in the store before."""

import logging
from typing import Self
from weakref import WeakKeyDictionary

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import referer_str

from canonry.crawler.adapters.scrapy.request_rows import claimed_row, continues
from canonry.crawler.adapters.scrapy.request_session import RequestSession
from canonry.crawler.adapters.scrapy.suppressed import Duplicate

_LOG = logging.getLogger(__name__)


class CanonryDupeFilter(BaseDupeFilter):
    """Scrapy's ``DUPEFILTER_CLASS``, on a store of Canonry.

    It is exact, outlives the process at whatever moment that is killed, and is shared by all
    spiders and processes that use the store.
    """

    def __init__(self, crawler: Crawler) -> None:
        """Bind the crawler's session with the store."""
        self._crawler = crawler
        self._session = RequestSession.of(crawler)
        self._logs_all = crawler.settings.getbool("DUPEFILTER_DEBUG")
        self._is_logged = False
        self._found: WeakKeyDictionary[Request, Duplicate] = WeakKeyDictionary()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the dupefilter of a crawler."""
        return cls(crawler)

    def open(self) -> None:
        """Open the store.

        Raises:
            StoreError: if it cannot be used.
        """
        spider = self._crawler.spider
        self._session.open(spider.name if spider is not None else "", queues=False)

    def close(self, reason: str) -> None:
        """Close the store."""
        self._session.close(reason)

    def request_seen(self, request: Request) -> bool:
        """Claim a request; return True if any process has claimed it before."""
        found = self._session.keys.of(request)
        if continues(self._session, request, found):
            return False
        duplicate = self._session.put(request, claimed_row(self._session, request, found))
        if duplicate is None:
            return False
        self.keep(request, duplicate)
        return True

    def keep(self, request: Request, duplicate: Duplicate) -> None:
        """Keep the reason why a request is a duplicate, for `log`."""
        self._found[request] = duplicate

    def log(self, request: Request, spider: Spider) -> None:
        """Log that a request was dropped, and count it.

        Each request that Scrapy alone would have sent is logged, and the first of the others; with
        ``DUPEFILTER_DEBUG`` all are logged.
        """
        duplicate = self._found.pop(request, None)
        if duplicate is not None and (
            self._logs_all or duplicate.is_suppressed or not self._is_logged
        ):
            self._is_logged |= not duplicate.is_suppressed
            _LOG.debug(
                "Filtered duplicate request: %s (referer: %s); rule: %s; same as: %s",
                request,
                referer_str(request),
                duplicate.rule,
                duplicate.same_as or "the one that it was merged with before",
                extra={"spider": spider},
            )
        self._session.duplicates.count("dupefilter/filtered")
