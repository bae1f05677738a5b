"""What a crawl was spared: duplicates by the rule that found them, each fetch counted once."""

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
from canonry.storage.rows import request_queue

SAME_URL = "same-url"  # asked before, under the very same URL
SAME_REQUEST = "same-request"  # the same method, URL and body
LEARNED = "learned"  # then a slash and the family of the rule
_FRAGMENT = "fragment"  # the rule; Scrapy itself ignores fragments, so no fetch is spared
_REMEMBERED = 1 << 17


class Duplicate(NamedTuple):
    """Why a request is a duplicate."""

    rule: str
    same_as: str  # the URL that was asked first
    is_new: bool  # False if this very request was a duplicate before


class DuplicateRules:
    """Names the rules that make requests duplicates, and counts them in Scrapy's stats.

    Most links of a site stand on many of its pages, so names are remembered, up to a number.
    """

    def __init__(self, canonicalizer: Canonicalizer, stats: StatsCollector | None) -> None:
        """Start with nothing counted."""
        self._canonicalizer = canonicalizer
        self._stats = stats
        self._names: dict[str, str] = {}
        self._drops_fragments = _FRAGMENT in canonicalizer.policy.practice
        self.spared: Counter[str] = Counter()

    def remembered(self, request: Request, key: bytes | None) -> Duplicate | None:
        """Return why a request is a duplicate, if it was one before; count it."""
        name = self._names.get(request.url) if key is not None else None
        if name is None and key is not None and self._drops_fragments:
            page, mark, _ = request.url.partition("#")
            if mark and self._names.get(page) == SAME_URL:  # links into a page that was asked
                name = _FRAGMENT
        return None if name is None else self._counted(request, Duplicate(name, "", is_new=False))

    def keep_first(self, request: Request, key: bytes | None) -> None:
        """Remember a request that is no duplicate: its URL again is the same one."""
        if key is not None:
            self._remember(request.url, SAME_URL)

    def _remember(self, url: str, name: str) -> None:
        if len(self._names) >= _REMEMBERED:
            self._names.clear()
        self._names[url] = name

    def find(self, connection: Connection, request: Request, key: bytes | None) -> Duplicate:
        """Return why a request is a duplicate; count it."""
        if key is None:
            return self._counted(request, Duplicate(SAME_REQUEST, request.url, is_new=False))
        first = request_queue.url_of(connection, key)
        same_as = first[1] if first is not None else request.url
        rules = merging_rules(self._canonicalizer, request.url, same_as)
        if not rules:
            return self._counted(request, Duplicate(SAME_URL, same_as, is_new=False))
        is_new = self._is_spared(connection, request, same_as)
        return self._counted(request, Duplicate(rules.replace(" + ", "+"), same_as, is_new))

    def held(self, connection: Connection, request: Request, rules: tuple[str, ...]) -> Duplicate:
        """Return why a request is a duplicate that learned rules hold; count it."""
        found = [rule for name in rules for rule in rule_rows.with_prefix(connection, name)]
        families = dict.fromkeys(rule.rewrite.family for rule in found)
        name = "/".join([LEARNED, *families])
        return self._counted(request, Duplicate(name, "", is_new=True))

    def _is_spared(self, connection: Connection, request: Request, same_as: str) -> bool:
        """Return True once for each request that Scrapy would have asked besides the first one."""
        own = scrapys_fingerprint(request)
        if own == scrapys_fingerprint(Request(same_as)):
            return False
        value = hashlib.blake2b(own, digest_size=16, person=b"spared").digest()
        return request_queue.remember(connection, [value]) == 1

    def _counted(self, request: Request, found: Duplicate) -> Duplicate:
        if found.rule != SAME_REQUEST:
            self._remember(request.url, found.rule)
        if found.is_new:
            self.spared[found.rule] += 1
        if self._stats is not None:
            self._stats.inc_value(f"dupefilter/canonry/{found.rule}")
            if found.is_new:
                self._stats.inc_value(f"canonry/spared/{found.rule}")
        return found
