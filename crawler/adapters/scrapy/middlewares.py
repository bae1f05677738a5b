"""The middlewares: they show the store what Scrapy's answers tell of URLs; they ask nothing."""

import hashlib
from collections.abc import AsyncIterator, Container, Mapping
from typing import Any, NamedTuple, Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.exceptions import IgnoreRequest
from scrapy.http import Response

from canonry.canon import Canonicalizer, InvalidURL
from canonry.crawler.adapters.scrapy.request_session import RequestSession
from canonry.crawler.admission.scope import host_of
from canonry.crawler.documents.by_type import read_document
from canonry.crawler.documents.document import Document, absolute, link_headers
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.text.text_blocks import blocks_of
from canonry.storage import Candidate, Hop, Outcome, Page, Queued, State
from canonry.storage.http_status import FIRST_ERROR, OK, REDIRECTS, RETRIED
from canonry.storage.requests.request_queue import DoneRequest

_HEAD = 1 << 14  # bytes that are read for title and canonical link: both stand in the <head>


class Observation(NamedTuple):
    """What is known of the answers to one URL so far."""

    url: str = ""  # that was requested
    hops: tuple[Hop, ...] = ()
    page: Page | None = None
    blocks: bytes | None = None  # of its text
    failure: tuple[State, str] | None = None


class _Watching:
    """What both middlewares have in common."""

    def __init__(self, crawler: Crawler) -> None:
        """Bind the crawler's session with the store."""
        self._session = RequestSession.of(crawler)
        self._stats = crawler.stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Return the middleware of a crawler."""
        return cls(crawler)

    def _seen(self, request: Request) -> tuple[bytes, Observation] | None:
        """Return the key of a plain GET, and what is known of the answers to it."""
        if not self._session.is_open:
            return None
        key = self._session.keys.of(request).key
        if key is None:
            return None
        return key, self._session.recorder.observed(key) or Observation(request.url)


class CanonryDownloaderMiddleware(_Watching):
    """Shows the store redirects, hop by hop, and the failures of requests."""

    def process_response(
        self, request: Request, response: Response, spider: Spider | None = None
    ) -> Response:
        """Keep where a redirect leads; the response goes on unchanged."""
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
        """Keep why a request got no response."""
        del spider
        if (seen := self._seen(request)) is not None:
            key, known = seen
            self._session.recorder.observe(key, known._replace(failure=failure_of(exception)))


class CanonrySpiderMiddleware(_Watching):
    """Shows the store pages; skips start requests that an unfinished crawl has asked before."""

    def process_spider_input(self, response: Response, spider: Spider | None = None) -> None:
        """Keep what a page says: its digest, its text, its title, its canonical link."""
        del spider
        request = response.request
        if request is None or (seen := self._seen(request)) is None:
            return
        key, known = seen
        latency = request.meta.get("download_latency", 0.0)
        page, canonical = page_of(self._session.canonicalizer, response, latency)
        hops = known.hops if canonical is None else (*known.hops, canonical)
        blocks = blocks_of(response.body, page.content_type) if page.status == OK else None
        observation = known._replace(hops=hops, page=page, blocks=blocks)
        self._session.recorder.observe(key, observation)

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Yield what a spider starts with, less what the crawl that it resumes has asked."""
        async for one in start:
            if isinstance(one, Request) and self._session.was_started(one):
                if self._stats is not None:
                    self._stats.inc_value("canonry/start_requests/asked_before")
                continue
            yield one


def hop_to(
    canonicalizer: Canonicalizer, response: Response, kind: str, target: str | bytes
) -> Hop | None:
    """Return the naming of a URL by another one; None if it is no URL."""
    try:
        found = canonicalizer(target, response.url)
    except InvalidURL:
        return None
    candidate = Candidate(found.url, found.url, found.key, host_of(found.url), depth=0, hops=1)
    return Hop(kind, response.status, candidate)


def page_of(
    canonicalizer: Canonicalizer, response: Response, elapsed: float
) -> tuple[Page, Hop | None]:
    """Return the page that a response is, and the naming of its canonical URL.

    Args:
        canonicalizer: makes identities.
        response: its body is decoded from the content encoding.
        elapsed: seconds that it took.
    """
    body, status = response.body, response.status
    headers = {
        name: value
        for name in ("Content-Type", "Content-Location", "ETag", "Last-Modified")
        if (value := _header(response, name)) is not None
    }
    document = _document(body, headers, response)
    canonical = _canonical(document, response)
    named = None if canonical is None else hop_to(canonicalizer, response, "canonical", canonical)
    content_type = headers.get("Content-Type")
    is_ok = status == OK
    page = Page(
        status=status,
        elapsed=elapsed,
        content_type=content_type,
        size=len(body),
        digest=hashlib.blake2b(body, digest_size=16).digest(),
        title=document.title if document else None,
        canonical=named.target.url if named else None,
        links=len(document.links) + len(document.unfollowed) if document else 0,  # of its head
        charset=document.charset if document else None,
        etag=headers.get("ETag") if is_ok else None,
        modified=headers.get("Last-Modified") if is_ok else None,
    )
    return page, named


def _document(body: bytes, headers: Mapping[str, str], response: Response) -> Document | None:
    """Return what a page without an error says about other URLs."""
    if response.status >= FIRST_ERROR:
        return None
    return read_document(body[:_HEAD], headers, response.url, max_unpacked=_HEAD)


def _canonical(document: Document | None, response: Response) -> str | None:
    """Return the canonical URL that a page names, in its document or in a ``Link`` header."""
    if response.status != OK:
        return None
    if document is not None and document.canonical is not None:
        return document.canonical
    values = [value.decode("latin-1") for value in response.headers.getlist("Link")]
    named = (link for link, relations in link_headers(values) if "canonical" in relations)
    return absolute(next(named, None), response.url)


def _header(response: Response, name: str) -> str | None:
    """Return a header's value."""
    value = response.headers.get(name)
    return None if value is None else value.decode("latin-1")


def failure_of(exception: Exception) -> tuple[State, str]:
    """Return the state of a URL that got no answer, and the reason."""
    if isinstance(exception, IgnoreRequest):
        if "robots.txt" in str(exception):
            return State.HELD, HoldReason.ROBOTS.label
        return State.FAILED, "ignored"
    name = type(exception).__name__.lower()
    if "timeout" in name or "timedout" in name:
        return State.FAILED, Fault.TIMEOUT.label
    if "dns" in name or "resol" in name:
        return State.FAILED, Fault.DNS.label
    return State.FAILED, Fault.CONNECT.label


def outcome_of(done: DoneRequest, row: int, seen: Observation, known: Container[bytes]) -> Outcome:
    """Return what became of a URL, for the store.

    Args:
        done: the request.
        row: of its URL.
        seen: of its answers.
        known: the keys that the store has. A naming of any other URL is left out: nobody asks it.
    """
    hops = tuple(one for one in seen.hops if one.target.key in known)
    outcome = Outcome(Queued(row, done.url, done.depth, done.hops, 0), State.FETCHED, hops=hops)
    if seen.page is not None:
        if seen.page.status in RETRIED:
            return outcome._replace(state=State.FAILED, reason=Fault.SERVER.label)
        return outcome._replace(page=seen.page, blocks=seen.blocks)
    if seen.hops:
        return outcome._replace(state=State.REDIRECTED)
    if seen.failure is not None:
        state, reason = seen.failure
        return outcome._replace(state=state, reason=reason)
    return outcome
