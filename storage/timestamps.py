"""Times for people and other programs: seconds since 1970 as text (RFC 3339, in UTC)."""

from datetime import UTC, datetime

_LAST = 253_402_300_799.0  # the end of the year 9999


def iso(at: float | None) -> str | None:
    """Return a time as text, to the millisecond: ``2026-11-22T04:08:45.963Z``; None for none, or 0.

    Args:
        at: seconds since 1970.
    """
    if not at:
        return None
    text = datetime.fromtimestamp(min(max(at, 0.0), _LAST), UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
