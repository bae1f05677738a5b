"""The door: what a raw link comes to, and whether it is to be fetched.

Seeds, links and redirects all pass here.
"""

import fnmatch
import re
from functools import lru_cache, partial
from typing import NamedTuple

from canonry.canon import Canonicalizer
from canonry.canon.syntax import Parts
from canonry.crawler.admission import traps
from canonry.crawler.admission.scope import Scope, host_of
from canonry.crawler.fetch.ports import is_web_port
from canonry.crawler.refusal import Refusal
from canonry.crawler.settings import Settings
from canonry.storage import Candidate
from canonry.storage.records import Budget

_FETCHED = ("http://", "https://")
_ANY_BASE = "http://any.invalid/"
_REMEMBERED = 32_768  # links whose targets are known: most stand on many pages of a site
_CANDIDATE = partial(tuple.__new__, Candidate)  # a third of the time of calling the class
# A base's authority, and its path up to the last slash (RFC 3986 section 5.2.3).
_BASE = re.compile(r"(https?://[^/?#\\]+)(/(?:[^?#\\]*/)?)[^/?#\\]*(?:[?#].*)?", re.DOTALL)


class _Target(NamedTuple):
    """What a reference leads to, whichever page it stands on."""

    url: str
    key: bytes
    host: str
    refusal: Refusal | None  # by where it lies and how it looks
    spelling: str  # of the reference, made absolute
    priority: int


class URLFilter:
    """Turns references into candidates for the store."""

    def __init__(self, canonicalizer: Canonicalizer, scope: Scope, settings: Settings) -> None:
        """Bind what it judges by."""
        self.canonicalizer = canonicalizer
        self._scope = scope
        self._crawl = settings.crawl
        self._traps = settings.traps
        patterns = [fnmatch.translate(pattern) for pattern in settings.crawl.first]
        self._first = re.compile("|".join(patterns)) if patterns else None
        self._target = lru_cache(_REMEMBERED)(self._find_target)

    def extend_scope(self, seed: str) -> None:
        """Take the place of one more seed into the scope."""
        self._scope.extend(seed)
        self._target.cache_clear()

    def candidate(
        self, reference: str, base: str | None, *, depth: int, hops: int, source: int | None
    ) -> Candidate | Refusal:
        """Return what a reference asks to be remembered as.

        Args:
            reference: as written in the document or header.
            base: what it is relative to.
            depth: links from a seed.
            hops: redirects in a row that led to it.
            source: the row of the URL that named it.

        Returns:
            A candidate, held where a limit says so; or `Refusal.SCHEME` for what is never fetched.

        Raises:
            InvalidURL: when the reference is no URL.
        """
        # Two fragments of one page are never two requests, whatever the policy makes of them.
        bare, mark, _fragment = reference.partition("#")
        url, key, host, refusal, spelling, first = self._target(bare, base and nearest(bare, base))
        if refusal is Refusal.SCHEME:
            return refusal
        if mark:
            spelling = spelled(reference, url)
        refusal = self._limit(depth, hops) or refusal
        held = None if refusal is None else refusal.label
        return _CANDIDATE((url, spelling, key, host, depth, hops, source, held, False, first))

    def _find_target(self, reference: str, base: str | None) -> _Target:
        """Return what a reference leads to; a fault is not remembered."""
        canonical = self.canonicalizer(reference, base)
        url = canonical.url
        place = self._judge_place(url)
        first = -1 if self._first is not None and self._first.match(url) else 0
        return _Target(url, canonical.key, host_of(url), place, spelled(reference, url), first)

    def judge(self, url: str, depth: int, hops: int) -> Refusal | None:
        """Return why a URL is not to be fetched under the limits of this crawl, or None."""
        return self._limit(depth, hops) or self._judge_place(url)

    def _limit(self, depth: int, hops: int) -> Refusal | None:
        """Judge the way that led to a URL."""
        if hops > self._crawl.max_hops:
            return Refusal.TOO_MANY_HOPS
        if 0 <= self._crawl.max_depth < depth:
            return Refusal.TOO_DEEP
        return None

    def _judge_place(self, url: str) -> Refusal | None:
        """Judge a URL by where it lies and how it looks."""
        if not is_fetched(url):
            return Refusal.SCHEME
        if url.count(":") > 1 and not is_web_port(Parts.of(url).port):
            return Refusal.PORT
        if url not in self._scope:
            return Refusal.OUT_OF_SCOPE
        return traps.judge(url, self._traps)

    def budgets_of(self, url: str) -> list[Budget]:
        """Return the budgets that a URL draws on when it is let into the queue."""
        return traps.budgets_of(url, self._traps)


def nearest(reference: str, base: str) -> str:
    """Return as little of a base as leads a reference to the same target.

    So what stands on many pages is resolved once: an absolute URL needs any base at all (to have
    its dot segments removed), a path the authority, and other references the directory (RFC 3986
    section 5.2.2).
    """
    if reference.startswith(_FETCHED):
        return _ANY_BASE
    first = reference[:1]
    if not ("!" < first <= "~") or first in "?\\" or ":" in reference.partition("/")[0]:
        return base  # the base itself with another query, or what browsers mend, as "http:x"
    authority, directory = _parts(base)
    return f"{authority}/" if first == "/" and authority else authority + directory


@lru_cache(1024)
def _parts(base: str) -> tuple[str, str]:
    """Return a base's authority with its scheme, and its directory; "" and all of what has none."""
    found = _BASE.fullmatch(base)
    return ("", base) if found is None else (found[1], found[2])


def is_fetched(url: str) -> bool:
    """Say whether a URL, as it is requested, is of a scheme that is fetched."""
    return url.startswith(_FETCHED)


def spelled(reference: str, url: str) -> str:
    """Return how a link was spelled, made absolute: rules act on this, not on where it stood."""
    bare = reference.strip()
    if is_fetched(bare[:8].lower()):
        return bare
    _, mark, fragment = bare.partition("#")
    return f"{url}{mark}{fragment}"
