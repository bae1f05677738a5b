"""Scope: where links may lead, told by the seeds."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


class Scope:
    """Says whether a URL belongs to the crawl."""

    def __init__(self, kind: str, seeds: Iterable[str]) -> None:
        """Begin with seeds.

        Args:
            kind: ``host``, ``domain`` (registrable domain), ``prefix`` (directory) or ``any``.
            seeds: URLs as they are requested.
        """
        self.kind = kind
        self._places: set[str] = set()
        for seed in seeds:
            self.extend(seed)

    def extend(self, url: str) -> None:
        """Take in the place of one more seed."""
        self._places.add(self._place(url))

    def __contains__(self, url: str) -> bool:
        """Say whether a URL lies inside."""
        if self.kind == "any":
            return True
        if self.kind == "prefix":
            return any(url.startswith(place) for place in self._places)
        return self._place(url) in self._places

    def _place(self, url: str) -> str:
        """Return the place that a URL speaks for."""
        if self.kind == "prefix":
            bare = url.partition("?")[0]
            return bare[: bare.rindex("/") + 1]
        host = host_of(url)
        return registrable(host) if self.kind == "domain" else host


# Userinfo holds no bare "@" in a URL that was serialized (URL Standard section 4.4).
_HOST = re.compile(r"[a-z][a-z0-9+.\-]*://(?:[^/?#@]*@)?(\[[^\]]*\]|[^/:?#]*)")


def host_of(url: str) -> str:
    """Return the host of a URL as it is requested, without port; "" when it has none."""
    found = _HOST.match(url)
    return found[1] if found else ""


@cache
def _suffixes() -> PublicSuffixList:
    """Read the list when it is first asked: few commands do."""
    return PublicSuffixList()


@lru_cache(maxsize=65_536)
def registrable(host: str) -> str:
    """Return a host's registrable domain by the Public Suffix List; addresses are their own."""
    if host.startswith("[") or host.replace(".", "").isdigit():
        return host
    return _suffixes().privatesuffix(host) or host


def is_public_suffix(host: str) -> bool:
    """Say whether the names below a host belong to different people, by the Public Suffix List."""
    return bool(_suffixes().privatesuffix(host) is None)
