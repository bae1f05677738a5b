"""Count duplicates by the rule that found them, and the fetches that were suppressed."""

import hashlib
from collections import Counter
from typing import NamedTuple

from scrapy import Request
from scrapy.statscollectors import StatsCollector
from scrapy.utils.request import fingerprint as scrapys_fingerprint
from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.pipeline import merging_rules
from canonry.storage.learned import rule_rows
from canonry.storage.requests import request_queue

SAME_URL = "same-url"  # requested before under the very same URL
SAME_REQUEST = "same-request"  # the same method, URL and body
LEARNED = "learned"  # then a slash and the family of the rule
_FRAGMENT = "fragment"  # the rule; Scrapy itself ignores fragments, so no fetch is suppressed
_REMEMBERED = 1 << 15  # spellings; few come again much later


class Duplicate(NamedTuple):
    """Why a request is a duplicate."""

    rule: str
    same_as: str  # the URL that was requested first; "" if it was not looked up
    is_suppressed: bool  # True if Scrapy alone would have sent it


class _Merged(NamedTuple):
    """How a spelling without its fragment merges with the URL that was requested first."""

    rules: str  # "" if it is the same
    fragment: str  # of that URL


class DuplicateRules:
    """Names the rules that make requests duplicates, and counts them in Scrapy's stats.

    Most links of a site are on many of its pages, so the rules of recent spellings are remembered,
    without the fragments.
    """

    def __init__(self, canonicalizer: Canonicalizer, stats: StatsCollector | None) -> None:
        """Start with nothing counted."""
        self._canonicalizer = canonicalizer
        self._increment = None if stats is None else stats.inc_value
        self._merged: dict[str, _Merged] = {}
        self._drops_fragments = _FRAGMENT in canonicalizer.policy.practice
        self.suppressed: Counter[str] = Counter()

    def remembered(self, request: Request, key: bytes | None) -> Duplicate | None:
        """Count a request as a duplicate if its spelling is remembered; else return None."""
        if key is None:
            return None
        page, fragment = self._split(request.url)
        found = self._merged.get(page)
        if found is None:
            return None
        return self._counted(Duplicate(_named(found, fragment), "", is_suppressed=False))

    def keep_first(self, request: Request, key: bytes | None) -> None:
        """Remember a request that is not a duplicate, so that its URL will be recognized."""
        if key is not None:
            page, fragment = self._split(request.url)
            self._remember(page, _Merged("", fragment))

    def _split(self, url: str) -> tuple[str, str]:
        """Return a URL without its fragment, and the fragment, if the policy drops fragments."""
        if not self._drops_fragments:
            return url, ""
        page, _, fragment = url.partition("#")
        return page, fragment

    def _remember(self, page: str, merged: _Merged) -> None:
        if len(self._merged) >= _REMEMBERED:
            self._merged.clear()
        self._merged[page] = merged

    def find(self, connection: Connection, request: Request, key: bytes | None) -> Duplicate:
        """Look up why a request is a duplicate, and count it."""
        if key is None:
            return self._counted(Duplicate(SAME_REQUEST, request.url, is_suppressed=False))
        same_as = request_queue.url_of(connection, key) or request.url
        (page, fragment), (other, its) = self._split(request.url), self._split(same_as)
        merged = _Merged(merging_rules(self._canonicalizer, page, other).replace(" + ", "+"), its)
        self._remember(page, merged)
        is_suppressed = merged.rules != "" and self._is_suppressed(connection, request, same_as)
        return self._counted(Duplicate(_named(merged, fragment), same_as, is_suppressed))

    def held(self, connection: Connection, request: Request, rules: tuple[str, ...]) -> Duplicate:
        """Count a request that learned rules hold, and return it as a duplicate."""
        found = [rule for name in rules for rule in rule_rows.with_prefix(connection, name)]
        families = dict.fromkeys(rule.rewrite.family for rule in found)
        page, fragment = self._split(request.url)
        merged = _Merged("/".join([LEARNED, *families]), fragment)
        self._remember(page, merged)
        return self._counted(Duplicate(merged.rules, "", is_suppressed=True))

    def _is_suppressed(self, connection: Connection, request: Request, same_as: str) -> bool:
        """Return True once for each request that Scrapy itself would have sent."""
        own = scrapys_fingerprint(request)
        if own == scrapys_fingerprint(Request(same_as)):
            return False
        value = hashlib.blake2b(own, digest_size=16, person=b"suppressed").digest()
        return request_queue.remember(connection, [value]) == 1

    def _counted(self, found: Duplicate) -> Duplicate:
        if found.is_suppressed:
            self.suppressed[found.rule] += 1
            self.count(f"canonry/suppressed/{found.rule}")
        self.count(f"dupefilter/canonry/{found.rule}")
        return found

    def count(self, name: str) -> None:
        """Add 1 to one of Scrapy's stats."""
        if self._increment is not None:
            self._increment(name)


def _named(merged: _Merged, fragment: str) -> str:
    """Return the rules that merge a spelling, with its fragment, with the first URL."""
    rules, other = merged
    if fragment == other:
        return rules or SAME_URL
    return f"{rules}+{_FRAGMENT}" if rules else _FRAGMENT
