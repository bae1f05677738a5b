"""Times for people and for other programs: moments in UTC, and their text (RFC 3339)."""

from datetime import UTC, datetime
from math import inf
from typing import Annotated

import msgspec

# A moment in UTC as text, as `text_of` writes it.
Moment = Annotated[str, msgspec.Meta(extra_json_schema={"format": "date-time"})]
_LAST = 253_402_300_799.0  # the end of the year 9999


def utc(at: float | None) -> datetime | None:
    """Return a moment, to the millisecond; None for None, 0 or -inf, which mean "never".

    Args:
        at: seconds since 1970.
    """
    if not at or at == -inf:
        return None
    found = datetime.fromtimestamp(min(max(at, 0.0), _LAST), UTC)
    return found.replace(microsecond=found.microsecond // 1000 * 1000)


def text_of(moment: datetime) -> str:
    """Return a moment in UTC as text: ``2026-11-22T04:08:45.963Z``."""
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def iso(at: float | None) -> str | None:
    """Return seconds since 1970 as text; None as `utc` does."""
    moment = utc(at)
    return None if moment is None else text_of(moment)


def moment(text: str | None) -> str:
    """Return a time for people: to the second, in UTC; "never" for None.

    Args:
        text: as `iso` writes it.
    """
    return "never" if text is None else f"{text[:10]} {text[11:19]}Z"
