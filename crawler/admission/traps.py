"""Traps: the links of endless sites, known by their shape or by how many are alike."""

import hashlib
import re
from collections import Counter

from canonry.canon.syntax import Parts
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import TrapSettings
from canonry.storage.records import Budget

# The parts in which URLs of one program differ: ids (letters and digits, or UUIDs), and numbers, as
# in dates.
_VARIABLE = re.compile(
    r"(?<![A-Za-z0-9])(?:(?=[A-Za-z]*[0-9])[A-Za-z0-9]{16,}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?![A-Za-z0-9])|[0-9]+"
)

NO_LIMIT = 1 << 62


def reason_to_hold(url: str, limits: TrapSettings) -> HoldReason | None:
    """Return the reason to hold a URL that looks like a trap's; None when it does not.

    Heritrix has the same three rules (TooManyPathSegments, PathologicalPath, and a length).
    """
    if len(url) > limits.max_url:
        return HoldReason.TOO_LONG
    if url.count("/") <= limits.max_repeats + 2:  # the two behind the scheme
        return None
    path = Parts.of(url).path
    segments = [segment for segment in path.split("/") if segment]
    if len(segments) > limits.max_segments:
        return HoldReason.TOO_MANY_SEGMENTS
    if max(Counter(segments).values(), default=0) > limits.max_repeats:
        return HoldReason.REPEATING_PATH
    return None


def pattern(url: str) -> str:
    """Return what a URL has in common with other URLs of the same program.

    That is its host, and its path with "*" for numbers and ids. A query counts only as "?":
    endless sites vary both the parameters and their values.
    """
    parts = Parts.of(url)
    path = _VARIABLE.sub("*", parts.path)
    return f"{parts.host or ''}{path}{'' if parts.query is None else '?'}"


def budgets_of(url: str, limits: TrapSettings, most: int | None = None) -> list[Budget]:
    """Return the budgets that a URL counts against.

    Args:
        url: as it is requested.
        limits: of the crawl.
        most: URLs of its host; None: what the limits say.
    """
    # Without a limit, patterns are counted all the same: people may exclude one.
    found = [(pattern(url), limits.max_per_pattern or NO_LIMIT, HoldReason.PATTERN_BUDGET)]
    per_host = limits.max_per_host if most is None else most
    if per_host:
        found.append((Parts.of(url).host or "", per_host, HoldReason.HOST_BUDGET))
    return [Budget(budget_key(name), name, most, reason.label) for name, most, reason in found]


def budget_key(name: str) -> bytes:
    """Return the key of the budget of a pattern, or of a host."""
    return hashlib.blake2b(name.encode(), digest_size=16).digest()
