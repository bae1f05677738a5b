"""robots.txt (RFC 9309): fetched once a day for each origin, and cached in the store."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

from protego import Protego

from canonry.canon import InvalidURL, resolve
from canonry.canon.syntax import Parts
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.crawler.fetch.response import Response
from canonry.storage.http_status import REDIRECTS
from canonry.storage.records import CachedRobots

_DAY = 86_400.0  # section 2.4: "SHOULD NOT use the cached version for more than 24 hours"
_MAX_REDIRECTS = 5  # section 2.3.1.2
_MAX_PARSED = 512_000  # section 2.5: "at least 500 kibibytes"
_LONG = 30 * _DAY  # section 2.3.1.4: "a reasonably long period of time (for example, 30 days)"
_HOUR = 3_600.0
ALLOW_ALL = ""
# A user-agent line, in the spellings that Protego accepts; the name ends at a comment.
_GROUP = re.compile(
    r"^([ \t]*user[- ]?agent[ \t]*[: \t][ \t]*)([^#\n]*)", re.IGNORECASE | re.MULTILINE
)
_TOKEN = re.compile(r"[A-Za-z_-]+|\*(?!\S)")  # section 2.2.1: the characters of a product token
_NO_CRAWLER = "!"


class Verdict(NamedTuple):
    """Whether a URL may be fetched, and the crawl delay in seconds (None: none is given)."""

    allowed: bool
    delay: float | None


class _Unreachable(NamedTuple):
    """A robots.txt that could not be fetched, and the time before which it is not retried."""

    error: FetchError
    pause: float
    until: float


class RobotsStore(Protocol):
    """Keeps robots.txt files beyond the process."""

    async def get_robots(self, origin: str) -> CachedRobots | None:
        """Return the record of an origin, or None."""
        ...

    async def put_robots(self, origin: str, kept: CachedRobots) -> None:
        """Replace the record of an origin."""
        ...


class RobotsChecker:
    """Says for all origins of a crawl which URLs may be fetched."""

    def __init__(
        self,
        get: Callable[[str], Awaitable[Response]],
        store: RobotsStore,
        clock: Callable[[], float],
        agent: str,
        pause: float = 0.0,
    ) -> None:
        """Prepare.

        Args:
            get: fetches one URL.
            store: keeps the files.
            clock: returns seconds since 1970.
            agent: our product token.
            pause: seconds before a file that could not be reached is requested again; doubled
                after each further failure, up to an hour.
        """
        self._get = get
        self._store = store
        self._clock = clock
        self._agent = agent
        self._pause = pause
        self._known: dict[str, tuple[Protego, float]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._failures: dict[str, _Unreachable] = {}

    def is_cached(self, url: str) -> bool:
        """Return True if `check` needs no request."""
        known = self._known.get(origin_of(url))
        return known is not None and known[1] > self._clock()

    async def check(self, url: str) -> Verdict:
        """Return whether a URL may be fetched, and the origin's crawl delay.

        Raises:
            FetchError: ``ROBOTS_UNREACHABLE`` while nothing may be fetched (section 2.3.1.4).
        """
        origin = origin_of(url)
        known = self._known.get(origin)
        if known is None or known[1] <= self._clock():
            async with self._locks.setdefault(origin, asyncio.Lock()):
                known = self._known.get(origin)
                if known is None or known[1] <= self._clock():
                    known = self._known[origin] = await self._load(origin)
        rules = known[0]
        return Verdict(rules.can_fetch(url, self._agent), rules.crawl_delay(self._agent))

    def sitemaps(self, url: str) -> tuple[str, ...]:
        """Return the sitemaps that the robots.txt for a URL names; call `check` first."""
        known = self._known.get(origin_of(url))
        return () if known is None else tuple(known[0].sitemaps)

    async def _load(self, origin: str) -> tuple[Protego, float]:
        """Return an origin's rules, from the store or from the origin, and when they expire."""
        now = self._clock()
        failure = self._failures.get(origin)
        if failure is not None and failure.until > now:
            raise failure.error
        kept = await self._store.get_robots(origin)
        if kept is None or kept.expires_at <= now:
            try:
                rules = await self._fetch(f"{origin}/robots.txt")
            except FetchError as error:
                kept = await self._unreachable(origin, kept, error)
            else:
                kept = CachedRobots(rules, now + _DAY)
                await self._store.put_robots(origin, kept)
        self._failures.pop(origin, None)
        return parse(kept.rules or ALLOW_ALL, self._agent), kept.expires_at

    async def _unreachable(
        self, origin: str, kept: CachedRobots | None, error: FetchError
    ) -> CachedRobots:
        """Return the rules that apply while robots.txt cannot be reached.

        The last file that was read applies, however old (section 2.4). Without one nothing may be
        fetched (section 2.3.1.4); after a long time of that, the file counts as missing.

        Raises:
            FetchError: if nothing may be fetched.
        """
        if error.fault is not Fault.ROBOTS_UNREACHABLE:
            raise error
        now = self._clock()
        failure = self._failures.get(origin)
        pause = self._pause if failure is None else min(2 * failure.pause, _HOUR)
        since = now if kept is None or kept.unreachable_since is None else kept.unreachable_since
        rules = None if kept is None else kept.rules
        if rules is None and now - since < _LONG:
            self._failures[origin] = _Unreachable(error, pause, now + pause)
            if kept is None:
                await self._store.put_robots(origin, CachedRobots(None, 0.0, since))
            raise error
        kept = CachedRobots(rules, now + (_HOUR if rules is not None else _DAY), since)
        await self._store.put_robots(origin, kept)
        return kept

    async def _fetch(self, url: str) -> str:
        """Fetch a robots.txt; section 2.3.1 says what each status means."""
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                response = await self._get(url)
            except FetchError as error:
                if error.fault in {Fault.ADDRESS, Fault.TOO_LARGE}:
                    raise
                raise FetchError(Fault.ROBOTS_UNREACHABLE, str(error)) from error
            status = response.status
            if status in REDIRECTS and "Location" in response.headers:
                try:
                    url = resolve(response.headers["Location"], url, dialect="whatwg")
                except InvalidURL:
                    return ALLOW_ALL
                if not url.startswith(("http://", "https://")):
                    return ALLOW_ALL
                continue
            if 200 <= status < 300:  # noqa: PLR2004 - HTTP's own classes
                return _decode(response.body)
            if status >= 500 or status == 429:  # noqa: PLR2004 - HTTP's own classes
                raise FetchError(Fault.ROBOTS_UNREACHABLE, f"status {status}")
            return ALLOW_ALL  # section 2.3.1.3: "unavailable", like any 4xx
        return ALLOW_ALL  # section 2.3.1.2: more than five redirects are "unavailable" too


def parse(text: str, agent: str) -> Protego:
    """Parse a robots.txt for the crawler with a product token.

    Protego applies a group for "canon" to "canonry", too. Section 2.2.1 does not, so every group
    except those for the token itself and for all gets a name that no crawler has.
    """

    def rename(line: re.Match[str]) -> str:
        token = _TOKEN.match(line[2])
        ours = token is not None and token[0].lower() in {agent.lower(), "*"}
        return f"{line[1]}{token[0] if token and ours else _NO_CRAWLER}"

    return Protego.parse(_GROUP.sub(rename, "\n".join(text.splitlines())))


def _decode(body: bytes) -> str:
    """Decode a file; a long one is cut after the last whole line within the limit."""
    if len(body) > _MAX_PARSED:
        body = body[: max(body.rfind(b"\n", 0, _MAX_PARSED), body.rfind(b"\r", 0, _MAX_PARSED), 0)]
    return body.decode("utf-8", "replace").removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


@lru_cache(1024)  # a visit needs the same one several times
def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL: the scope of a robots.txt."""
    parts = Parts.of(url)
    return str(Parts(parts.scheme, None, parts.host, parts.port, "", None, None))
