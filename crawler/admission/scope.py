"""Scope: where links may lead, as the seeds and the patterns define it."""

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from publicsuffixlist import PublicSuffixList

from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings.url_patterns import URLPatterns


class ScopeVerdict(NamedTuple):
    """Whether a URL is in scope, and which setting decides that."""

    reason: HoldReason | None  # None: it is in
    setting: str
    value: str = ""


class Scope:
    """The hosts, domains or directories that belong to a crawl, less what patterns exclude."""

    def __init__(
        self,
        kind: str,
        seeds: Iterable[str],
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> None:
        """Define a scope by seeds and by patterns.

        Args:
            kind: ``host``, ``domain`` (registrable domain), ``prefix`` (directory) or ``any``.
            seeds: URLs as they are requested. They are in scope, whatever the patterns say.
            include: patterns, of which one has to match; without any, all URLs match.
            exclude: patterns, of which none may match.

        Raises:
            ValueError: naming a pattern that cannot be used.
        """
        self._kind = kind
        self._places: set[str] = set()
        self._lengths: set[int] = set()  # of the places: few, however many seeds there are
        self._include, self._exclude = URLPatterns(include), URLPatterns(exclude)
        self._seeds: set[str] = set()  # kept only where patterns could keep them out
        for seed in seeds:
            self.extend(seed)

    def extend(self, url: str) -> None:
        """Add one more seed, and its place."""
        place = self._place(url)
        self._places.add(place)
        self._lengths.add(len(place))
        if self._include or self._exclude:
            self._seeds.add(url)

    def __contains__(self, url: str) -> bool:
        """Return True if a URL is in scope."""
        return self.judge(url).reason is None

    def judge(self, url: str) -> ScopeVerdict:
        """Return whether a URL is in scope, and why."""
        if not self.has_place(url):
            return ScopeVerdict(HoldReason.OUT_OF_SCOPE, "scope", self._kind)
        if url in self._seeds:
            return ScopeVerdict(None, "seed", url)
        if (pattern := self._exclude.find(url)) is not None:
            return ScopeVerdict(HoldReason.EXCLUDED, "exclude", pattern)
        if self._include:
            pattern = self._include.find(url)
            return ScopeVerdict(
                HoldReason.NOT_INCLUDED if pattern is None else None,
                "include",
                pattern or "none matches",
            )
        return ScopeVerdict(None, "scope", self._kind)

    def has_place(self, url: str) -> bool:
        """Return True if a URL is in the host, domain or directory of a seed."""
        if self._kind == "any":
            return True
        if self._kind == "prefix":
            return any(url[:length] in self._places for length in self._lengths)
        return self._place(url) in self._places

    def _place(self, url: str) -> str:
        """Return the host, domain or directory of a URL."""
        if self._kind == "prefix":
            bare = url.partition("?")[0]
            return bare[: bare.rindex("/") + 1]
        host = host_of(url)
        return registrable(host) if self._kind == "domain" else host


# A serialized URL has no bare "@" in its userinfo (URL Standard section 4.4).
_HOST = re.compile(r"[a-z][a-z0-9+.\-]*://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/:?#]*)")


def host_of(url: str) -> str:
    """Return the host of a requested URL, without its port; "" when it has none."""
    found = _HOST.match(url)
    return found[1] if found else ""


@cache
def _suffixes() -> PublicSuffixList:
    """Read the list on first use: few commands need it."""
    return PublicSuffixList()


@lru_cache(maxsize=65_536)
def registrable(host: str) -> str:
    """Return a host's registrable domain by the Public Suffix List; an address is its own."""
    if host.startswith("[") or host.replace(".", "").isdigit():
        return host
    return _suffixes().privatesuffix(host) or host


def is_public_suffix(host: str) -> bool:
    """Return True if a host is a public suffix: the hosts below it have different owners."""
    return bool(_suffixes().privatesuffix(host) is None)
