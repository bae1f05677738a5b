"""robots.txt (RFC 9309): fetched at most once a day for each origin, and cached in the store."""

import asyncio
import codecs
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from functools import lru_cache
from typing import Any, NamedTuple, Protocol
from weakref import WeakValueDictionary

from canonry.canon import InvalidURL, resolve
from canonry.canon.syntax import Parts, to_text
from canonry.crawler.fetch.faults import Fault, FetchError, seconds_to_wait
from canonry.crawler.fetch.response import Response
from canonry.crawler.fetch.robots_rules import RobotsRules, parse_robots
from canonry.storage.http_status import OVERLOADED, REDIRECTS
from canonry.storage.records import CachedRobots

DAY = 86_400.0  # section 2.4: "SHOULD NOT use the cached version for more than 24 hours"
_MAX_REDIRECTS = 5  # section 2.3.1.2
MOST_READ = 512_000  # section 2.5: "at least 500 kibibytes"
_LONG = 30 * DAY  # section 2.3.1.4: "a reasonably long period of time (for example, 30 days)"
_HOUR = 3_600.0
_STATUS = "status "
_SLOW = 5.0  # seconds; a try that takes longer counts twice
_SHORT = 1.0  # second: the longest first pause where no server has answered yet
ALLOW_ALL = ""
_LARGE = 1 << 16  # characters; larger files may take a while, so they are used in a thread
_MOST_KEPT = 16 << 20  # bytes, about, for what is known of origins; the store has their files
_ORIGIN, _CHARACTER = 1_000, 12  # of these, an origin takes so many, and a character of its file
_NO_RULES = parse_robots(ALLOW_ALL, "")


class Verdict(NamedTuple):
    """Whether a URL may be fetched, and the crawl delay in seconds (None: none is given)."""

    allowed: bool
    delay: float | None
    rules: RobotsRules = _NO_RULES  # of the origin
    is_new: bool = False  # they were loaded for this URL


class _Known(NamedTuple):
    """The rules of an origin."""

    rules: RobotsRules
    length: int  # of the file, in characters
    expires_at: float


class _Unreachable(NamedTuple):
    """A robots.txt that could not be fetched, and the time before which it is not retried."""

    cause: str
    tries: int
    until: float
    is_final: bool  # until then, all URLs of the origin fail
    retry_after: float | None = None  # seconds, as the server asked
    length: int = 0  # of the file: there is none

    def error(self, until: float) -> FetchError:
        """Return the error of a URL for which no request is sent before a time."""
        retry_at = None if self.is_final else until
        return _unreachable(
            self.cause,
            final=self.is_final,
            retry_at=retry_at,
            retry_after=self.retry_after,
            asked=False,
        )


class RobotsStore(Protocol):
    """Keeps robots.txt files for later processes."""

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
        retries: int = 3,
    ) -> None:
        """Start without any file.

        Args:
            get: fetches one URL; it may cut a body that has more than `MOST_READ` bytes.
            store: keeps the files.
            clock: returns seconds since 1970.
            agent: our product token.
            pause: seconds before a file that could not be reached is requested again; doubled
                after each further failure. If no server answered at all, it is a second at most:
                many such hosts are gone, or have no https.
            retries: after this many, all URLs of the origin fail for an hour, without a request.
        """
        self._get = get
        self._store = store
        self._clock = clock
        self._agent = agent
        self._pause = pause
        self._retries = retries
        self._origins: OrderedDict[str, _Known | _Unreachable] = OrderedDict()  # last used, last
        self._kept = 0  # bytes, about, that these take
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def check(self, url: str) -> Verdict:
        """Return whether a URL may be fetched, and the origin's crawl delay.

        Raises:
            FetchError: ``ROBOTS_UNREACHABLE`` while nothing may be fetched (section 2.3.1.4).
        """
        origin = origin_of(url)
        entry = self._current(origin)
        if is_new := entry is None:
            self._raise_failure(origin)
            async with self._locks.setdefault(origin, asyncio.Lock()):
                entry = self._current(origin)
                if entry is None:
                    entry = await self._load(origin)
        self._keep(origin, entry)
        if entry.length > _LARGE:
            allowed = await asyncio.to_thread(entry.rules.allow, url)
        else:
            allowed = entry.rules.allow(url)
        return Verdict(allowed, entry.rules.delay, entry.rules, is_new)

    def _current(self, origin: str) -> _Known | None:
        """Return the rules of an origin, if they are in memory and have not expired."""
        entry = self._origins.get(origin)
        if not isinstance(entry, _Known) or not _is_current(entry.expires_at, self._clock()):
            return None
        return entry

    def _failure(self, origin: str) -> _Unreachable | None:
        """Return the last failure of an origin, if nothing has been read since."""
        entry = self._origins.get(origin)
        return entry if isinstance(entry, _Unreachable) else None

    def _keep(self, origin: str, entry: _Known | _Unreachable) -> None:
        """Keep what is known of an origin, and forget those that were used longest ago."""
        before = self._origins.pop(origin, None)
        self._kept += _size(entry) - (0 if before is None else _size(before))
        self._origins[origin] = entry
        while self._kept > _MOST_KEPT and len(self._origins) > 1:
            self._kept -= _size(self._origins.popitem(last=False)[1])

    def _raise_failure(self, origin: str) -> None:
        """Raise an origin's last failure if no retry is due, or another visit is making it.

        So a dead origin holds up no more than one visit at a time.
        """
        failure, now = self._failure(origin), self._clock()
        if failure is None:
            return
        if failure.until > now:
            raise failure.error(failure.until)
        lock = self._locks.get(origin)
        if lock is not None and lock.locked():
            raise failure.error(now + self._pause_after(failure.cause, 1))

    async def _load(self, origin: str) -> _Known:
        """Return an origin's rules, from the store or from the origin."""
        now = self._clock()
        failure = self._failure(origin)
        if failure is not None and failure.until > now:  # another visit has just failed
            raise failure.error(failure.until)
        kept = await self._store.get_robots(origin)
        if kept is None or not _is_current(kept.expires_at, now):
            try:
                text = await self._fetch(f"{origin}/robots.txt")
            except FetchError as error:
                kept = await self._unreachable(origin, kept, error, now)
            else:
                kept = CachedRobots(text, now + DAY)
                await self._store.put_robots(origin, kept)
        text = kept.rules or ALLOW_ALL
        if len(text) > _LARGE:
            rules = await asyncio.to_thread(parse_robots, text, self._agent)
        else:
            rules = parse_robots(text, self._agent)
        return _Known(rules, len(text), kept.expires_at)

    async def _unreachable(
        self, origin: str, kept: CachedRobots | None, error: FetchError, began: float
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
        since = now if kept is None or kept.unreachable_since is None else kept.unreachable_since
        rules = None if kept is None else kept.rules
        if rules is None and now - since < _LONG:
            failed = self._failed(origin, error, began)
            self._keep(origin, failed)
            if kept is None:
                await self._store.put_robots(origin, CachedRobots(None, 0.0, since))
            raise _unreachable(
                failed.cause,
                retry_after=error.retry_after,
                busy=error.busy,
                final=failed.is_final,
                retry_at=None if failed.is_final else failed.until,
            ) from error
        kept = CachedRobots(rules, now + (_HOUR if rules is not None else DAY), since)
        await self._store.put_robots(origin, kept)
        return kept

    def _failed(self, origin: str, error: FetchError, began: float) -> _Unreachable:
        """Return the failure of an origin, after one more request that failed."""
        now = self._clock()
        is_slow = error.detail == Fault.TIMEOUT.label or now - began > _SLOW
        before = self._failure(origin)
        tries = 0 if before is None else before.tries
        tries += 2 if is_slow else 1
        if error.final or tries > self._retries:
            return _Unreachable(error.detail, tries, now + _HOUR, is_final=True)
        pause = max(self._pause_after(error.detail, tries), error.retry_after or 0.0)
        until = now + pause
        return _Unreachable(error.detail, tries, until, False, error.retry_after)  # noqa: FBT003

    def _pause_after(self, cause: str, tries: int) -> float:
        """Return the seconds to wait after some failed tries."""
        first = self._pause if cause.startswith(_STATUS) else min(self._pause, _SHORT)
        return min(first * 2.0 ** (tries - 1), _HOUR)

    async def _fetch(self, url: str) -> str:
        """Fetch a robots.txt; section 2.3.1 says what each status means."""
        for _ in range(_MAX_REDIRECTS + 1):
            try:
                response = await self._get(url)
            except FetchError as error:
                if error.fault is Fault.ADDRESS:
                    raise
                raise _unreachable(error.cause, final=error.final) from error
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
                wait = seconds_to_wait(response.headers.get("Retry-After"), self._clock())
                busy = status in OVERLOADED
                raise _unreachable(f"{_STATUS}{status}", retry_after=wait, busy=busy)
            return ALLOW_ALL  # section 2.3.1.3: "unavailable", like any 4xx
        return ALLOW_ALL  # section 2.3.1.2: more than five redirects are "unavailable" too


def _size(entry: _Known | _Unreachable) -> int:
    """Return how many bytes an origin takes in memory, about: at most, for a file of rules."""
    return _ORIGIN + _CHARACTER * entry.length


def _is_current(expires_at: float, now: float) -> bool:
    """Return True if a file need not be fetched: it has not expired, nor is it from the future.

    One that would be current for more than a day was fetched by a clock that was ahead.
    """
    return now < expires_at <= now + DAY


def _unreachable(cause: str, **more: Any) -> FetchError:  # noqa: ANN401 - as `FetchError` takes it
    """Return the error of a URL whose robots.txt could not be read."""
    return FetchError(Fault.ROBOTS_UNREACHABLE, cause, **more)


def _decode(body: bytes) -> str:
    """Decode a file; bytes that are not UTF-8 become escapes.

    A long file is cut after the last whole line within the limit.
    """
    if len(body) > MOST_READ:
        body = body[: max(body.rfind(b"\n", 0, MOST_READ), body.rfind(b"\r", 0, MOST_READ), 0)]
    return to_text(body.removeprefix(codecs.BOM_UTF8))


@lru_cache(1024)  # a visit needs the same one several times
def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL: the scope of a robots.txt."""
    parts = Parts.of(url)
    return str(Parts(parts.scheme, None, parts.host, parts.port, "", None, None))
