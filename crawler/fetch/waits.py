"""Waits before a retry: our own, and those that servers ask for (RFC 9110 section 10.2.3)."""

import random
from email.utils import parsedate_to_datetime

LONGEST = 86_400.0  # seconds; no server and no fault makes a URL wait for longer
_JITTER = 0.25  # the largest random part that is added to a wait


def seconds_to_wait(value: str | None, now: float) -> float | None:
    """Read a Retry-After in either of its forms.

    Args:
        value: of the header; None where there is none.
        now: seconds since 1970.

    Returns:
        Seconds, at most `LONGEST`; None if the header is missing or cannot be read.
    """
    if value is None:
        return None
    if value.strip().isdecimal():
        return min(float(value), LONGEST)
    try:
        seconds = parsedate_to_datetime(value).timestamp() - now
    except (ValueError, OverflowError):
        return None
    return min(max(seconds, 0.0), LONGEST)


def seconds_before_retry(first: float, attempts: int) -> float:
    """Return how long a URL waits before its next attempt: each wait is twice the one before.

    A part of it is random, so that not all URLs are retried at once.

    Args:
        first: seconds before the first retry.
        attempts: earlier attempts that failed.
    """
    jitter = _JITTER * random.random()  # noqa: S311 - no secret
    return min(first * 2.0**attempts * (1 + jitter), LONGEST)


def longest_retry(first: float, retries: int) -> float:
    """Return the longest time, in seconds, for which `seconds_before_retry` makes a URL wait."""
    return min(first * 2.0**retries * (1 + _JITTER), LONGEST)
