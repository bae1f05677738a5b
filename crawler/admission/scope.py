"""Scope: where links may lead, as the seeds define it."""

import re
from collections.abc import Iterable
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList


class Scope:
    """The hosts, domains or directories that belong to a crawl."""

    def __init__(self, kind: str, seeds: Iterable[str]) -> None:
        """Define a scope by seeds.

        Args:
            kind: ``host``, ``domain`` (registrable domain), ``prefix`` (directory) or ``any``.
            seeds: URLs as they are requested.
        """
        self._kind = kind
        self._places: set[str] = set()
        for seed in seeds:
            self.extend(seed)

    def extend(self, url: str) -> None:
        """Add the place of one more seed."""
        self._places.add(self._place(url))

    def __contains__(self, url: str) -> bool:
        """Return True if a URL is in scope."""
        if self._kind == "any":
            return True
        if self._kind == "prefix":
            return any(url.startswith(place) for place in self._places)
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
