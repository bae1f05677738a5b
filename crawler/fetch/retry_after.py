"""Retry-After: how long a server asks us to wait (RFC 9110 section 10.2.3)."""

from email.utils import parsedate_to_datetime

LONGEST = 86_400.0  # seconds; a server may not stop a crawl for longer


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
