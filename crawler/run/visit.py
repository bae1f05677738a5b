"""One visit: from a queued URL to its outcome, by way of robots.txt and one hop of HTTP."""

import re
from collections.abc import Callable
from weakref import WeakSet

from canonry.canon import InvalidURL, redact, redaction
from canonry.crawler.admission.known_links import KnownLinks
from canonry.crawler.admission.links import LinkFinder, PageLinks, RecordLinks
from canonry.crawler.admission.scope import host_of
from canonry.crawler.admission.url_filter import URLFilter
from canonry.crawler.documents import usage
from canonry.crawler.documents.document import Document
from canonry.crawler.fetch.body_reader import BodyRoom
from canonry.crawler.fetch.faults import Fault, FetchError, seconds_before_retry, seconds_to_wait
from canonry.crawler.fetch.response import Get, Response
from canonry.crawler.fetch.robots import RobotsChecker, Verdict, origin_of
from canonry.crawler.fetch.robots_rules import RobotsRules
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.run.bodies import Bodies, unread_outcome
from canonry.crawler.run.vain_retries import VainRetries
from canonry.crawler.settings import Settings
from canonry.storage import Candidate, Hop, Outcome, Page, Queued, RefusedLink, State
from canonry.storage.http_status import (
    FIRST_ERROR,
    MAX_SAME,
    NOT_MODIFIED,
    OK,
    OVERLOADED,
    REDIRECTS,
    RETRIED,
)

_NO_ID = 0
_BY_SCOPE = frozenset(
    reason.label
    for reason in (HoldReason.OUT_OF_SCOPE, HoldReason.EXCLUDED, HoldReason.NOT_INCLUDED)
)
_MAX_AGE = re.compile(r"(?i)(?:^|;)\s*max-age\s*=\s*\"?([0-9]{1,12})")

SlowDown = Callable[[float], None]
NoteRequest = Callable[[], None]


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
        self._token = settings.crawl.token
        self._purpose = frozenset(settings.crawl.purpose)
        self._reads_text = settings.learn.enabled or settings.crawl.recrawl
        self._links = LinkFinder(url_filter, settings)
        self._bodies = Bodies(settings)
        self._room = BodyRoom()
        self._reads_sitemaps = settings.crawl.sitemaps
        self._vain = VainRetries(settings.fetch.retry_wait, settings.fetch.retries)
        self._listed: WeakSet[RobotsRules] = WeakSet()  # their sitemaps were added to an outcome
        self._clock = clock

    @property
    def known(self) -> KnownLinks:
        """The links that need no claim; the recorder adds to them."""
        return self._links.known

    async def visit(
        self, queued: Queued, slow_down: SlowDown, record: RecordLinks | None = None
    ) -> Outcome:
        """Fetch a URL and return the outcome. A fault of the network is an outcome, too.

        Args:
            queued: the URL; it is its host's turn.
            slow_down: gets the seconds between requests that the host's robots.txt asks for.
            record: as for `LinkFinder.find`.
        """
        if (known := self._known_to_fail(queued)) is not None:
            return known
        try:
            verdict = await self._check(queued.url, slow_down)
            if not verdict.allowed:
                return Outcome(
                    queued, State.HELD, HoldReason.ROBOTS.label, was_requested=verdict.is_new
                )
            if self._is_reserved(queued.url, verdict.rules):
                reason = HoldReason.USE_RESERVED.label
                return Outcome(queued, State.HELD, reason, was_requested=verdict.is_new)
            with self._room.visit():
                outcome = await self._follow(queued, verdict.rules, record)
            self._vain.answered(queued)
            return self._with_sitemaps(outcome, verdict.rules)
        except FetchError as error:
            return self._failed(queued, error)

    async def probe(
        self, probe: Probe, slow_down: SlowDown, note_request: NoteRequest
    ) -> Outcome | None:
        """Fetch a URL for learning alone; return its page if the status is 200.

        Args:
            probe: the URL; it is its host's turn.
            slow_down: as for `visit`.
            note_request: is called before each request, except those for robots.txt.

        Returns:
            The outcome with the page; None if there is no such page.
        """
        try:
            verdict = await self._check(probe.url, slow_down)
            if not verdict.allowed:
                return None
            with self._room.visit():
                queued = Queued(_NO_ID, probe.url, depth=1, hops=0, attempts=0)
                outcome = await self._follow(queued, verdict.rules, note_request=note_request)
        except FetchError:
            return None
        page = outcome.page
        return outcome if page is not None and page.status == OK else None

    async def _check(self, url: str, slow_down: SlowDown) -> Verdict:
        """Return what robots.txt says of a URL; obey its crawl delay in any case."""
        verdict = await self._robots.check(url)
        if verdict.delay is not None:
            slow_down(verdict.delay)
        return verdict

    def _is_reserved(self, url: str, robots: RobotsRules) -> bool:
        """Return True if robots.txt reserves a use for which this crawl is made."""
        if not self._purpose:
            return False
        return not self._purpose.isdisjoint(usage.reserved(_said_by_robots(url, robots)))

    def _with_sitemaps(self, outcome: Outcome, robots: RobotsRules) -> Outcome:
        """Add the sitemaps that robots.txt names to the links, once while it is in memory."""
        queued = outcome.queued
        if robots in self._listed or not self._reads_sitemaps:
            return outcome
        self._listed.add(robots)
        links, refused = list(outcome.links), list(outcome.refused)
        for reference in robots.sitemaps:
            link = self._links.one(queued, reference, f"{origin_of(queued.url)}/robots.txt")
            if isinstance(link, Candidate):
                links.append(link)
            else:
                refused.append(link)
        return outcome._replace(links=tuple(links), refused=tuple(refused))

    async def _follow(
        self,
        queued: Queued,
        robots: RobotsRules,
        record: RecordLinks | None = None,
        note_request: NoteRequest | None = None,
    ) -> Outcome:
        """Fetch a URL that robots.txt allows, and follow redirects to the very same resource.

        The target of such a redirect has the URL's own key, so the store would never queue it.
        """
        key = self._url_filter.canonicalizer(queued.url).key
        url = queued.url
        cookies: dict[str, str] = {}
        hops: list[Hop] = []
        requested: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
        elapsed = 0.0
        for _ in range(MAX_SAME):
            requested.add((url, tuple(sorted(cookies.items()))))
            if note_request is not None:
                note_request()
            response = await self._get(url, cookies, _conditions(queued))
            elapsed = response.elapsed
            location = response.headers.get("Location")
            if response.status not in REDIRECTS or location is None:
                return await self._answered(queued, response, hops, record, robots)
            target = self._target(queued, location, url)
            if not isinstance(target, Candidate) or target.key != key:
                return await self._redirected(queued, response, hops, target)
            hops.append(Hop("redirect", response.status, target))
            if host_of(target.url) == host_of(url):
                cookies.update(response.cookies)
            else:
                cookies = {}
            url = target.url
            if (url, tuple(sorted(cookies.items()))) in requested:
                break
            verdict = await self._robots.check(url)
            robots = verdict.rules
            if not verdict.allowed:
                reason = HoldReason.ROBOTS.label
                return Outcome(queued, State.HELD, reason, leads=tuple(hops), elapsed=elapsed)
        reason = Fault.LOOP.label
        return Outcome(queued, State.FAILED, reason, leads=tuple(hops), elapsed=elapsed)

    async def _redirected(
        self, queued: Queued, response: Response, hops: list[Hop], target: Candidate | RefusedLink
    ) -> Outcome:
        """Return the outcome of a redirect to another resource, or to a refused target.

        The response may have links, too. A link to the target is left out: as a link, the target
        would escape the limit on redirects in a row.
        """
        body = await self._bodies.read(response, links=True, blocks=False)
        page_links = await self._links.find(queued, response, body.document)
        if isinstance(target, Candidate):
            hops.append(Hop("redirect", response.status, target))
            reason, refused = None, page_links.refused
            links = tuple(link for link in page_links.links if link.key != target.key)
        else:
            reason, refused, links = target.reason, (target, *page_links.refused), page_links.links
        return Outcome(
            queued,
            State.REDIRECTED,
            reason,
            leads=tuple(hops),
            links=links,
            refused=refused,
            elapsed=response.elapsed,
            known=page_links.known,
        )

    def _target(self, queued: Queued, location: str, url: str) -> Candidate | RefusedLink:
        """Return the target of a redirect; refuse one that no crawl can fetch."""
        seed = queued.depth == 0
        try:
            target = self._url_filter.candidate(
                location, url, depth=queued.depth, hops=queued.hops + 1, source=queued.url_id
            )
        except InvalidURL as error:
            return RefusedLink(error.reason.name.lower(), redaction.redact_refused(error.text)[0])
        if isinstance(target, HoldReason):
            return RefusedLink(target.label, redact(location))
        if seed and target.held in _BY_SCOPE:
            # A seed's redirect target counts as a seed.
            self._url_filter.extend_scope(target.url)
            hold = self._url_filter.reason_to_hold(target.url, target.depth, target.hops)
            target = target._replace(held=None if hold is None else hold.label)
        return target

    async def _answered(
        self,
        queued: Queued,
        response: Response,
        hops: list[Hop],
        record: RecordLinks | None,
        robots: RobotsRules,
    ) -> Outcome:
        """Return the outcome of a response that is no redirect."""
        if response.status == NOT_MODIFIED and _conditions(queued):
            elapsed = response.elapsed
            return Outcome(
                queued, State.FETCHED, leads=tuple(hops), unchanged=True, elapsed=elapsed
            )
        if response.status in RETRIED:
            raise FetchError(
                Fault.SERVER,
                f"status {response.status}",
                retry_after=seconds_to_wait(response.headers.get("Retry-After"), self._clock()),
                busy=response.status in OVERLOADED,
            )
        if response.unread is not None:
            return unread_outcome(queued, response, response.unread, hops)
        is_error = response.status >= FIRST_ERROR
        is_read = self._reads_text and response.status == OK
        body = await self._bodies.read(response, links=not is_error, blocks=is_read)
        page_links = PageLinks()
        if not is_error:
            page_links = await self._links.find(queued, response, body.document, record)
        canonical = page_links.canonical if response.status == OK else None
        if canonical is not None:
            hops.append(Hop("canonical", response.status, canonical))
        document = body.document
        content_type = response.headers.get("Content-Type")
        statements = self._use_of(response, document, robots)
        page = Page(
            status=response.status,
            elapsed=response.elapsed,
            content_type=content_type,
            size=len(response.body),
            digest=body.digest,
            title=document.title if document else None,
            canonical=canonical.url if canonical else None,
            links=page_links.total,
            charset=document.charset if document else None,
            etag=response.headers.get("ETag") if response.status == OK else None,
            modified=response.headers.get("Last-Modified") if response.status == OK else None,
            use_statements=usage.as_stored(statements),
            use_reserved=" ".join(usage.reserved(statements, content_type)) or None,
        )
        return Outcome(
            queued,
            State.FETCHED,
            page=page,
            leads=tuple(hops),
            links=page_links.links,
            refused=page_links.refused,
            hsts=_asks_for_https(response),
            elapsed=response.elapsed,
            known=page_links.known,
            earlier=page_links.earlier,
            blocks=body.blocks,
            listed=page_links.listed,
        )

    def _use_of(
        self, response: Response, document: Document | None, robots: RobotsRules
    ) -> list[usage.UseStatement]:
        """Return what a page's site says about its use."""
        statements = _said_by_robots(response.url, robots)
        statements += usage.in_headers(response.headers, self._token)
        if document is not None:
            statements += [usage.UseStatement("meta", *one) for one in document.use]
        return statements

    def _failed(self, queued: Queued, error: FetchError) -> Outcome:
        """Return the outcome of a fault: a retry if the fault may pass, after growing waits."""
        now = self._clock()
        outcome = Outcome(
            queued,
            State.FAILED,
            error.reason,
            elapsed=self._settings.timeout if error.fault is Fault.TIMEOUT else None,
            detail=error.detail or None,
            was_requested=error.asked and error.fault is not Fault.ADDRESS,
        )
        tried = error.retry_at is None and queued.attempts >= self._settings.retries
        if error.fault is Fault.SERVER and not error.busy and error.retry_after is None:
            self._vain.failed(queued, now)
            tried |= self._vain.is_hopeless(queued)
        if error.final or tried:
            return outcome
        at = error.retry_at
        if at is None:
            at = now + max(self._wait(queued), error.retry_after or 0.0)
        busy = error.busy or error.retry_after is not None
        return outcome._replace(
            state=State.QUEUED,
            reason=error.retry_reason,
            retry_at=at,
            not_before=at if busy else 0.0,
        )

    def _known_to_fail(self, queued: Queued) -> Outcome | None:
        """Return the outcome of a retry that would be in vain; None if it is to be sent."""
        now = self._clock()
        is_hopeless = self._vain.is_hopeless(queued)
        if not is_hopeless and not self._vain.is_premature(queued, now):
            return None
        detail = "retries of others in its directory were in vain"
        failed = Outcome(
            queued, State.FAILED, Fault.SERVER.label, detail=detail, was_requested=False
        )
        if is_hopeless:
            return failed
        return failed._replace(state=State.QUEUED, retry_at=now + self._wait(queued))

    def _wait(self, queued: Queued) -> float:
        """Return the seconds until a URL is tried again."""
        return seconds_before_retry(self._settings.retry_wait, queued.attempts)


def _said_by_robots(url: str, robots: RobotsRules) -> list[usage.UseStatement]:
    """Return what robots.txt says about the use of a page."""
    return [usage.UseStatement("robots.txt", *one) for one in robots.uses(url)]


def _conditions(queued: Queued) -> dict[str, str]:
    """Return headers that request a stored page only if it changed (RFC 9110 section 13.1)."""
    known = {"If-None-Match": queued.etag, "If-Modified-Since": queued.modified}
    return {name: value for name, value in known.items() if value}


def _asks_for_https(response: Response) -> bool:
    """Return True if a host asks for https in all later requests (RFC 6797 section 6.1)."""
    given = response.headers.get("Strict-Transport-Security")
    if given is None or not response.url.startswith("https:"):
        return False
    age = _MAX_AGE.search(given)
    return age is not None and int(age[1]) > 0
