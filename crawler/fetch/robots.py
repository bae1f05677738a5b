"""What robots.txt allows (RFC 9309): fetched once a day for each origin, and kept in the store."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

from protego import Protego

from canon import InvalidURL, resolve
from canon.parts import Parts
from crawler.fetch.client import Response
from crawler.fetch.faults import Fault, FetchError

_DAY = 86_400.0  # section 2.4: "SHOULD NOT use the cached version for more than 24 hours"
_MAX_REDIRECTS = 5  # section 2.3.1.2
_MAX_PARSED = 512_000  # section 2.5: "at least 500 kibibytes"
ALLOW_ALL = ""


class Verdict(NamedTuple):
    """Whether a URL may be asked, and how many seconds apart (None: not said)."""

    allowed: bool
    delay: float | None


class Cache(Protocol):
    """Where rules outlive the process."""

    async def get_robots(self, origin: str) -> tuple[str, float] | None:
        """Return the rules of an origin and when they expire."""
        ...

    async def put_robots(self, origin: str, rules: str, expires_at: float) -> None:
        """Keep the rules of an origin."""
        ...


class Robots:
    """Answers for all origins of a crawl."""

    def __init__(
        self,
        get: Callable[[str], Awaitable[Response]],
        cache: Cache,
        clock: Callable[[], float],
        agent: str,
    ) -> None:
        """Prepare.

        Args:
            get: asks for one URL.
            cache: keeps rules.
            clock: seconds since 1970.
            agent: the product token that rules are searched for.
        """
        self._get = get
        self._cache = cache
        self._clock = clock
        self._agent = agent
        self._known: dict[str, tuple[Protego, float]] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    def knows(self, url: str) -> bool:
        """Say whether `ask` would answer without asking anyone."""
        known = self._known.get(origin_of(url))
        return known is not None and known[1] > self._clock()

    async def ask(self, url: str) -> Verdict:
        """Say whether a URL may be asked.

        Raises:
            FetchError: ``ROBOTS_UNREACHABLE``, when nothing may be for now (section 2.3.1.4).
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
        """Return the sitemaps that the robots.txt for a URL names, once `ask` has answered."""
        known = self._known.get(origin_of(url))
        return () if known is None else tuple(known[0].sitemaps)

    async def _load(self, origin: str) -> tuple[Protego, float]:
        """Take an origin's rules from the cache, or from the origin."""
        kept = await self._cache.get_robots(origin)
        if kept is None or kept[1] <= self._clock():
            kept = (await self._fetch(f"{origin}/robots.txt"), self._clock() + _DAY)
            await self._cache.put_robots(origin, *kept)
        return Protego.parse(kept[0]), kept[1]

    async def _fetch(self, url: str) -> str:
        """Fetch the rules, by the status rules of section 2.3.1."""
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                response = await self._get(url)
            except FetchError as error:
                if error.fault in {Fault.ADDRESS, Fault.TOO_LARGE}:
                    raise
                raise FetchError(Fault.ROBOTS_UNREACHABLE, str(error)) from error
            status = response.status
            if status in {301, 302, 303, 307, 308} and "Location" in response.headers:
                try:
                    url = resolve(response.headers["Location"], url, dialect="whatwg")
                except InvalidURL:
                    return ALLOW_ALL
                if not url.startswith(("http://", "https://")):
                    return ALLOW_ALL
                continue
            if 200 <= status < 300:  # noqa: PLR2004 - HTTP's own classes
                text = response.body[:_MAX_PARSED].decode("utf-8", "replace")
                return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")
            if status >= 500 or status == 429:  # noqa: PLR2004 - HTTP's own classes
                raise FetchError(Fault.ROBOTS_UNREACHABLE, f"status {status}")
            return ALLOW_ALL  # section 2.3.1.3: "unavailable", as with any 4xx
        return ALLOW_ALL  # section 2.3.1.2: more than five redirects are "unavailable" too


@lru_cache(1024)  # a visit asks several times for the same
def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL: what a robots.txt speaks for."""
    parts = Parts.of(url)
    return str(Parts(parts.scheme, None, parts.host, parts.port, "", None, None))
