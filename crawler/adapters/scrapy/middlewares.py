"""The middlewares: pass what Scrapy observes to the store; they send no requests themselves."""

from collections.abc import AsyncIterator
from typing import Any, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.http import Response

from canonry.crawler.adapters.scrapy.observations import (
    Observation,
    failure_of,
    hop_to,
    page_of,
)
from canonry.crawler.adapters.scrapy.request_session import RequestSession
from canonry.crawler.documents.page_scan import blocks_of
from canonry.storage.http_status import OK, REDIRECTS


class _Watching:
    """The common part of both middlewares."""

    def __init__(self, crawler: Crawler) -> None:
        """Bind the crawler's session with the store."""
        self._session = RequestSession.of(crawler)
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def _seen(self, request: Request) -> tuple[bytes, Observation] | None:
        """Return the key of a plain GET, and its observation so far; None for other requests."""
        if not self._session.is_open:
            return None
        key = self._session.keys.of(request).key
        if key is None:
            return None
        return key, self._session.recorder.observed(key) or Observation(request.url)


class CanonryDownloaderMiddleware(_Watching):
    """Observes redirects, hop by hop, and the failures of requests."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Keep the target of a redirect; return the response unchanged."""
        del spider
        location = response.headers.get("Location")
        if response.status in REDIRECTS and location is not None:
            hop = hop_to(self._session.canonicalizer, response, "redirect", location)
            if hop is not None and (seen := self._seen(request)) is not None:
                key, known = seen
                self._session.recorder.observe(key, known._replace(hops=(*known.hops, hop)))
        return response

    def process_exception(
        self, request: Request, exception: Exception, spider: Spider | None = None
    ) -> None:
        """Keep the reason why a request got no response."""
        del spider
        if (seen := self._seen(request)) is not None:
            key, known = seen
            self._session.recorder.observe(key, known._replace(failure=failure_of(exception)))


class CanonrySpiderMiddleware(_Watching):
    """Observes pages; skips start requests that the resumed crawl has sent before."""

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Keep a page's digest, text, title and canonical link."""
        del spider
        request = response.request
        if request is None or (seen := self._seen(request)) is None:
            return
        key, known = seen
        latency = request.meta.get("download_latency", 0.0)
        page, canonical = page_of(self._session.canonicalizer, response, latency)
        hops = known.hops if canonical is None else (*known.hops, canonical)
        is_read = page.status == OK and self._session.recorder.learns
        blocks = blocks_of(response.body, page.content_type) if is_read else None
        observation = known._replace(hops=hops, page=page, blocks=blocks)
        self._session.recorder.observe(key, observation)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield the start requests of a spider, except those that the resumed crawl has sent."""
        async for one in start:
            if isinstance(one, Request) and self._session.was_started(one):
                if self._stats is not None:
                    self._stats.inc_value("canonry/start_requests/asked_before")
                continue
            yield one
