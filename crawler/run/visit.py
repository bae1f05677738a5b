"""One visit: from a queued URL to its outcome, over robots.txt and one hop of HTTP."""

import hashlib
import random
import re
from collections.abc import Awaitable, Callable
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from canonry.canon import InvalidURL, redact
from canonry.crawler.admission.links import Found, Links, Refused
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.fetch.faults import TRANSIENT, Fault, FetchError
from canonry.crawler.fetch.response import REDIRECTS, Get, Response
from canonry.crawler.fetch.robots import RobotsChecker, origin_of
from canonry.crawler.refusal import Refusal
from canonry.crawler.settings import Settings
from canonry.storage import Candidate, Hop, Outcome, Page, Queued, State

_OK, _NOT_MODIFIED, _ERRORS = 200, 304, 400
_BUSY = frozenset({429, 503})  # the host has too much to do, and not only with this page
_KEEP_FAILING = frozenset({429, 500, 502, 503, 504})
_MAX_SAME = 5  # redirects to the same resource, as cookie walls make them
_JITTER = 0.25  # of a wait
_MAX_RETRY_AFTER = 86_400.0
_MAX_AGE = re.compile(r"(?i)(?:^|;)\s*max-age\s*=\s*\"?([0-9]{1,12})")


class Visited(NamedTuple):
    """What a visit leads to: an outcome to record, and what it learned of the host's pace."""

    outcome: Outcome
    not_before: float  # the host asked for peace until then; seconds since 1970
    elapsed: float | None = None  # seconds that its last answer took


class Visitor:
    """Visits URLs for one crawl."""

    def __init__(
        self,
        get: Get,
        robots: RobotsChecker,
        url_filter: URLFilter,
        settings: Settings,
        clock: Callable[[], float],
    ) -> None:
        """Bind what a visit needs; ``clock`` gives seconds since 1970."""
        self._get = get
        self._robots = robots
        self._url_filter = url_filter
        self._settings = settings.fetch
        self._links = Links(url_filter, settings)
        self._reads_sitemaps = settings.crawl.sitemaps
        self._told: set[str] = set()  # origins whose sitemaps were handed on
        self._clock = clock

    async def visit(
        self, queued: Queued, turn: Callable[[float | None], Awaitable[None]]
    ) -> Visited:
        """Ask for a URL and return what came of it; no fault of the network is an exception.

        Args:
            queued: the URL; the host's turn was given to it.
            turn: told the seconds between requests that a robots.txt asks for, waits for another
                turn: the first was spent on that file.
        """
        try:
            known = self._robots.is_cached(queued.url)
            verdict = await self._robots.check(queued.url)
            if not verdict.allowed:
                return Visited(Outcome(queued.row, State.HELD, Refusal.ROBOTS.label), 0.0)
            if not known:
                await turn(verdict.delay)
            outcome, elapsed = await self._follow(queued)
            return Visited(self._with_sitemaps(outcome, queued), 0.0, elapsed)
        except FetchError as error:
            return self._failed(queued, error)

    def _with_sitemaps(self, outcome: Outcome, queued: Queued) -> Outcome:
        """Add the sitemaps that the host's robots.txt names, once: they are links like others."""
        origin = origin_of(queued.url)
        if origin in self._told or not self._reads_sitemaps or queued.row < 0:
            return outcome
        self._told.add(origin)
        links, refused = list(outcome.links), list(outcome.refused)
        for reference in self._robots.sitemaps(queued.url):
            link = self._links.one(queued, reference, f"{origin}/robots.txt")
            if isinstance(link, Candidate):
                links.append(link)
            else:
                refused.append(link)
        return outcome._replace(links=tuple(links), refused=tuple(refused))

    async def _follow(self, queued: Queued) -> tuple[Outcome, float]:
        """Ask, and ask again while the answer is a redirect to the very same resource.

        Such a redirect would be dropped at the door as known, and the page never be fetched.

        Returns:
            What came of it, and the seconds that the last answer took.
        """
        own = self._url_filter.canonicalizer(queued.url).key
        url = queued.url
        cookies: dict[str, str] = {}
        hops: list[Hop] = []
        asked: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        elapsed = 0.0
        for _ in range(_MAX_SAME):
            asked.add((url, tuple(sorted(cookies.items()))))
            response = await self._get(url, cookies, _conditions(queued))
            elapsed = response.elapsed
            location = response.headers.get("Location")
            if response.status not in REDIRECTS or location is None:
                return self._answered(queued, response, hops), elapsed
            target = self._target(queued, location, url)
            if not isinstance(target, Candidate) or target.key != own:
                return self._redirected(queued, response, hops, target), elapsed
            hops.append(Hop("redirect", response.status, target))
            url = target.url
            cookies.update(response.cookies)
            if (url, tuple(sorted(cookies.items()))) in asked:
                break
            if not (await self._robots.check(url)).allowed:
                held = Outcome(queued.row, State.HELD, Refusal.ROBOTS.label, hops=tuple(hops))
                return held, elapsed
        failed = Outcome(queued.row, State.FAILED, Fault.LOOP.label, hops=tuple(hops))
        return failed, elapsed

    def _redirected(
        self, queued: Queued, response: Response, hops: list[Hop], target: Candidate | Refused
    ) -> Outcome:
        """Make an outcome of a redirect to another resource, or to none.

        Its own body may have links, too. That to its target is left out: it would come as a link,
        with no limit on how many such follow each other.
        """
        found = self._links.of(queued, response)
        if isinstance(target, Candidate):
            hops.append(Hop("redirect", response.status, target))
            reason, refused = None, found.refused
            links = tuple(link for link in found.links if link.key != target.key)
        else:
            reason, refused, links = target[0], (target, *found.refused), found.links
        return Outcome(
            queued.row,
            State.REDIRECTED,
            reason,
            hops=tuple(hops),
            links=links,
            refused=refused,
        )

    def _target(self, queued: Queued, location: str, url: str) -> Candidate | Refused:
        """Return where a redirect leads, or why that is no place to go."""
        seed = queued.depth == 0
        try:
            target = self._url_filter.candidate(
                location, url, depth=queued.depth, hops=queued.hops + 1, source=queued.row
            )
        except InvalidURL as error:
            return error.reason.name.lower(), redact(error.text)
        if isinstance(target, Refusal):
            return target.label, redact(location)
        if seed and target.held == Refusal.OUT_OF_SCOPE.label:
            # What a seed redirects to is what was meant by it.
            self._url_filter.widen(target.url)
            judged = self._url_filter.judge(target.url, target.depth, target.hops)
            target = target._replace(held=None if judged is None else judged.label)
        return target

    def _answered(self, queued: Queued, response: Response, hops: list[Hop]) -> Outcome:
        """Make an outcome of an answer that is no redirect."""
        if response.status == _NOT_MODIFIED and _conditions(queued):
            return Outcome(queued.row, State.FETCHED, hops=tuple(hops), unchanged=True)
        if response.status in _KEEP_FAILING:
            raise FetchError(
                Fault.SERVER,
                f"status {response.status}",
                retry_after=self._retry_after(response.headers.get("Retry-After")),
                busy=response.status in _BUSY,
            )
        found = self._links.of(queued, response) if response.status < _ERRORS else Found()
        canonical = found.canonical if response.status == _OK else None
        if canonical is not None:
            hops.append(Hop("canonical", response.status, canonical))
        document = found.document
        page = Page(
            status=response.status,
            elapsed=response.elapsed,
            content_type=response.headers.get("Content-Type"),
            size=len(response.body),
            digest=hashlib.blake2b(response.body, digest_size=16).digest(),
            title=document.title if document else None,
            canonical=canonical.url if canonical else None,
            links=len(found.links) + len(found.refused),
            charset=document.charset if document else None,
            etag=response.headers.get("ETag") if response.status == _OK else None,
            modified=response.headers.get("Last-Modified") if response.status == _OK else None,
        )
        return Outcome(
            queued.row,
            State.FETCHED,
            page=page,
            hops=tuple(hops),
            links=found.links,
            refused=found.refused,
            hsts=_asks_for_https(response),
        )

    def _failed(self, queued: Queued, error: FetchError) -> Visited:
        """Make an outcome of a fault: another try where it is worth one, later each time."""
        now = self._clock()
        elapsed = self._settings.timeout if error.fault is Fault.TIMEOUT else None
        if error.fault not in TRANSIENT or queued.attempts >= self._settings.retries:
            failed = Outcome(queued.row, State.FAILED, error.fault.label)
            return Visited(failed, 0.0, elapsed)
        wait = self._settings.retry_wait * 2**queued.attempts
        wait *= 1 + _JITTER * random.random()  # noqa: S311 - that all do not come back at once
        wait = max(wait, error.retry_after or 0.0)
        not_before = now + wait if error.busy or error.retry_after is not None else 0.0
        return Visited(Outcome(queued.row, State.QUEUED, retry_at=now + wait), not_before, elapsed)

    def _retry_after(self, value: str | None) -> float | None:
        """Read Retry-After in both its forms (RFC 9110 section 10.2.3); seconds, or None."""
        if value is None:
            return None
        if value.strip().isdecimal():
            return min(float(value), _MAX_RETRY_AFTER)
        try:
            seconds = parsedate_to_datetime(value).timestamp() - self._clock()
        except ValueError:
            return None
        return min(max(seconds, 0.0), _MAX_RETRY_AFTER)


def _conditions(queued: Queued) -> dict[str, str]:
    """Return headers that ask for a known page only if it has changed (RFC 9110 section 13.1)."""
    known = {"If-None-Match": queued.etag, "If-Modified-Since": queued.modified}
    return {name: value for name, value in known.items() if value}


def _asks_for_https(response: Response) -> bool:
    """Say whether a host asks for https in all requests to come (RFC 6797 section 6.1)."""
    given = response.headers.get("Strict-Transport-Security")
    if given is None or not response.url.startswith("https:"):
        return False
    age = _MAX_AGE.search(given)
    return age is not None and int(age[1]) > 0
