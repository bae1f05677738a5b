"""Fingerprints of Scrapy's requests: the key of the URL, mixed with method and body."""

import hashlib
import logging
import re
from typing import NamedTuple, Self

from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.utils.request import fingerprint as scrapys_fingerprint

from canonry.canon import Canonicalizer, InvalidURL, Policy
from canonry.crawler.adapters.scrapy.adapter_settings import read_settings
from canonry.crawler.admission.url_filter import is_fetched
from canonry.crawler.opening import policy_for

_LOG = logging.getLogger(__name__)
_BYTES = 16
_HEAD = re.compile(r"\A[^:/?#]+:(?://[^/?#]*)?")  # scheme and authority


class RequestKey(NamedTuple):
    """The identity of a request: equal requests have equal keys."""

    fingerprint: bytes
    key: bytes | None  # the same for a plain GET of a web page; else None


class RequestKeys:
    """Makes fingerprints under one policy."""

    def __init__(self, canonicalizer: Canonicalizer) -> None:
        """Bind the canonicalizer, which has no learned rules, because these change."""
        self._canonicalizer = canonicalizer

    def fingerprint(self, request: Request) -> bytes:
        """Return the fingerprint of a request. No request raises an error.

        It is the key of the URL for a GET without a body, else a hash of key, method and body.
        A request with ``meta["verbatim_url"]`` is hashed with its unchanged URL, and so is one for
        which Scrapy sends a different target than a browser would. A URL without a canonical form
        gets Scrapy's own fingerprint.
        """
        return self.of(request)[0]

    def of(self, request: Request) -> RequestKey:
        """Return the fingerprint of a request, and its key if it is a plain GET of a web page."""
        url = request.url
        if request.meta.get("verbatim_url"):
            return RequestKey(_mixed(_encoded(url), request, b"verbatim"), None)
        try:
            requested, _identity, key = self._canonicalizer(url)
        except InvalidURL:
            return RequestKey(_fallback(request), None)
        if requested != url and _target(requested) != _target(url):
            return RequestKey(_mixed(_encoded(url), request, b"as it is sent"), None)
        if request.method != "GET" or request.body:
            return RequestKey(_mixed(key, request, b"request"), None)
        return RequestKey(key, key if is_fetched(url) else None)

    def source_of(self, request: Request) -> bytes | None:
        """Return the key of the page on which a request was found, if its ``Referer`` says so."""
        referer = request.headers.get("Referer")
        if not referer:
            return None
        try:
            return self._canonicalizer(referer).key
        except InvalidURL:
            return None

    def as_browsers(self, request: Request) -> Request:
        """Return the request that a browser would send, without dot segments in its path.

        One with ``meta["verbatim_url"]``, or whose target is the same, is returned unchanged.
        """
        url = request.url
        if "/." not in url and "/%2" not in url:  # "%2e" is a dot, too
            return request
        if request.meta.get("verbatim_url"):
            return request
        try:
            browser_url = self._canonicalizer(url).url
        except InvalidURL:
            return request
        if _target(browser_url) == _target(url):
            return request
        _, mark, fragment = url.partition("#")
        return request.replace(url=f"{browser_url}{mark}{fragment}")


def _mixed(start: bytes, request: Request, person: bytes) -> bytes:
    """Return a hash of a URL or its key, with a request's method and body."""
    mixed = hashlib.blake2b(start, digest_size=_BYTES, person=person)
    mixed.update(b"\0" + _encoded(request.method) + b"\0" + request.body)
    return mixed.digest()


def _target(url: str) -> str:
    """Return the part of a URL that is sent to its server: its path and its query."""
    rest = _HEAD.sub("", url.partition("#")[0], count=1)
    return rest if rest.startswith("/") else f"/{rest}"


def _encoded(text: str) -> bytes:
    """Encode any text, including lone surrogates."""
    return text.encode(errors="surrogatepass")


def _fallback(request: Request) -> bytes:
    """Return Scrapy's own fingerprint, or one of the unchanged URL if Scrapy fails, too."""
    try:
        return scrapys_fingerprint(request)
    except ValueError:
        return _mixed(_encoded(request.url), request, b"refused")


class CanonryFingerprinter:
    """Scrapy's ``REQUEST_FINGERPRINTER_CLASS``."""

    def __init__(self, policy: Policy) -> None:
        """Make fingerprints under a policy."""
        self.fingerprint = RequestKeys(Canonicalizer(policy)).fingerprint

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Make fingerprints under the policy of the crawler's store."""
        found = read_settings(crawler.settings)
        return cls(policy_for(found.store, found.policy))
