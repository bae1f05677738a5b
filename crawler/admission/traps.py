"""Traps: links that an endless site makes, told by their shape, or by how many are alike."""

import hashlib
import re
from collections import Counter

from canonry.canon.syntax import Parts
from canonry.crawler.refusal import Refusal
from canonry.crawler.settings import Traps
from canonry.storage.records import Budget

# What differs between URLs that one program makes: ids, with digits among their letters, or as
# UUIDs have them; then numbers, as in dates.
_BLANKS = re.compile(
    r"(?<![A-Za-z0-9])(?:(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9])|[0-9]+"
)


def judge(url: str, limits: Traps) -> Refusal | None:
    """Return why a URL looks endless, or None.

    Heritrix draws the same three lines (TooManyPathSegments, PathologicalPath, and a length).
    """
    if len(url) > limits.max_url:
        return Refusal.TOO_LONG
    if url.count("/") <= limits.max_repeats + 2:  # the two behind the scheme
        return None
    path = Parts.of(url).path
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > limits.max_segments:
        return Refusal.TOO_MANY_SEGMENTS
    if max(Counter(segments).values(), default=0) > limits.max_repeats:
        return Refusal.REPEATING_PATH
    return None


def pattern(url: str) -> str:
    """Return what a URL has in common with those that the same program makes.

    That is its host, and its path with blanks for numbers and ids. Of a query it is only kept that
    there is one: endless sites vary the parameters, and which of them there are.
    """
    parts = Parts.of(url)
    path = _BLANKS.sub("*", parts.path)
    return f"{parts.host or ''}{path}{'' if parts.query is None else '?'}"


def budgets_of(url: str, limits: Traps) -> list[Budget]:
    """Return the budgets that a URL draws on."""
    found = []
    if limits.max_per_pattern:
        common = pattern(url)
        found.append((common, limits.max_per_pattern, Refusal.PATTERN_BUDGET))
    if limits.max_per_host:
        found.append((Parts.of(url).host or "", limits.max_per_host, Refusal.HOST_BUDGET))
    return [
        Budget(hashlib.blake2b(name.encode(), digest_size=16).digest(), name, most, why.label)
        for name, most, why in found
    ]
