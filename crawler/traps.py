"""Traps: links that an endless site makes, told by their shape alone."""

from collections import Counter

from canon.parts import Parts
from crawler.refusal import Refusal
from crawler.settings import Traps


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
