"""What robots.txt allows (RFC 9309): fetched once a day for each origin, and kept in the store."""

import asyncio
import re
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import NamedTuple, Protocol

from protego import Protego

from canonry.canon import InvalidURL, resolve
from canonry.canon.syntax.parts import Parts
from canonry.crawler.fetch.client import REDIRECTS, Response
from canonry.crawler.fetch.faults import Fault, FetchError
from canonry.storage.records import Robots as Kept

_DAY = 86_400.0  # section 2.4: "SHOULD NOT use the cached version for more than 24 hours"
_MAX_REDIRECTS = 5  # section 2.3.1.2
_MAX_PARSED = 512_000  # section 2.5: "at least 500 kibibytes"
_LONG = 30 * _DAY  # section 2.3.1.4: "a reasonably long period of time (for example, 30 days)"
_HOUR = 3_600.0
ALLOW_ALL = ""
# The line that begins a group, in the spellings that the library takes; the name ends at a comment.
_GROUP = re.compile(
    r"^([ \t]*user[- ]?agent[ \t]*[: \t][ \t]*)([^#\n]*)", re.IGNORECASE | re.MULTILINE
)
_TOKEN = re.compile(r"[A-Za-z_-]+|\*(?!\S)")  # section 2.2.1: what a product token is made of
_NOBODY = "!"


class Verdict(NamedTuple):
    """Whether a URL may be asked, and how many seconds apart (None: not said)."""

    allowed: bool
    delay: float | None


class _Fault(NamedTuple):
    """A robots.txt that could not be reached, and until when it is left alone."""

    error: FetchError
    pause: float
    until: float


class Cache(Protocol):
    """Where rules outlive the process."""

    async def get_robots(self, origin: str) -> Kept | None:
        """Return what is kept of an origin."""
        ...

    async def put_robots(self, origin: str, kept: Kept) -> None:
        """Keep what is known of an origin."""
        ...


class Robots:
    """Answers for all origins of a crawl."""

    def __init__(
        self,
        get: Callable[[str], Awaitable[Response]],
        cache: Cache,
        clock: Callable[[], float],
        agent: str,
        pause: float = 0.0,
    ) -> None:
        """Prepare.

        Args:
            get: asks for one URL.
            cache: keeps rules.
            clock: seconds since 1970.
            agent: the product token that rules are searched for.
            pause: seconds for which a server whose file could not be reached is left alone; twice
                as long after each further try, up to an hour.
        """
        self._get = get
        self._cache = cache
        self._clock = clock
        self._agent = agent
        self._pause = pause
        self._known: dict[str, tuple[Protego, float]] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._faults: dict[str, _Fault] = {}

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
        now = self._clock()
        fault = self._faults.get(origin)
        if fault is not None and fault.until > now:
            raise fault.error
        kept = await self._cache.get_robots(origin)
        if kept is None or kept.expires_at <= now:
            try:
                rules = await self._fetch(f"{origin}/robots.txt")
            except FetchError as error:
                kept = await self._unreachable(origin, kept, error)
            else:
                kept = Kept(rules, now + _DAY)
                await self._cache.put_robots(origin, kept)
        self._faults.pop(origin, None)
        return parse(kept.rules or ALLOW_ALL, self._agent), kept.expires_at

    async def _unreachable(self, origin: str, kept: Kept | None, error: FetchError) -> Kept:
        """Return what holds where robots.txt cannot be reached.

        That is what was read last, however old (section 2.4); else nothing may be asked (section
        2.3.1.4), until that has been so for a long time: then the file counts as not there.

        Raises:
            FetchError: where nothing may be asked.
        """
        if error.fault is not Fault.ROBOTS_UNREACHABLE:
            raise error
        now = self._clock()
        fault = self._faults.get(origin)
        pause = self._pause if fault is None else min(2 * fault.pause, _HOUR)
        since = now if kept is None or kept.unreachable_since is None else kept.unreachable_since
        rules = None if kept is None else kept.rules
        if rules is None and now - since < _LONG:
            self._faults[origin] = _Fault(error, pause, now + pause)
            if kept is None:
                await self._cache.put_robots(origin, Kept(None, 0.0, since))
            raise error
        kept = Kept(rules, now + (_HOUR if rules is not None else _DAY), since)
        await self._cache.put_robots(origin, kept)
        return kept

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
            if status in REDIRECTS and "Location" in response.headers:
                try:
                    url = resolve(response.headers["Location"], url, dialect="whatwg")
                except InvalidURL:
                    return ALLOW_ALL
                if not url.startswith(("http://", "https://")):
                    return ALLOW_ALL
                continue
            if 200 <= status < 300:  # noqa: PLR2004 - HTTP's own classes
                return _read(response.body)
            if status >= 500 or status == 429:  # noqa: PLR2004 - HTTP's own classes
                raise FetchError(Fault.ROBOTS_UNREACHABLE, f"status {status}")
            return ALLOW_ALL  # section 2.3.1.3: "unavailable", as with any 4xx
        return ALLOW_ALL  # section 2.3.1.2: more than five redirects are "unavailable" too


def parse(text: str, agent: str) -> Protego:
    """Read a robots.txt for the crawler with a product token.

    The library takes a group for "canon" as meant for "canonry", too. Section 2.2.1 does not, so
    every group but that of the token itself, and that for all, is given a name that is nobody's.
    """

    def name(line: re.Match[str]) -> str:
        token = _TOKEN.match(line[2])
        ours = token is not None and token[0].lower() in {agent.lower(), "*"}
        return f"{line[1]}{token[0] if token and ours else _NOBODY}"

    return Protego.parse(_GROUP.sub(name, "\n".join(text.splitlines())))


def _read(body: bytes) -> str:
    """Return a file's text, up to the last whole line of what is read of a long one."""
    if len(body) > _MAX_PARSED:
        body = body[: max(body.rfind(b"\n", 0, _MAX_PARSED), body.rfind(b"\r", 0, _MAX_PARSED), 0)]
    return body.decode("utf-8", "replace").removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}")


@lru_cache(1024)  # a visit asks several times for the same
def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL: what a robots.txt speaks for."""
    parts = Parts.of(url)
    return str(Parts(parts.scheme, None, parts.host, parts.port, "", None, None))
