"""Dates in sitemaps (W3C Date and Time Formats), Atom (RFC 3339) and RSS (RFC 822)."""

import re
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

_DAY = re.compile(r"([0-9]{4})(-[0-9]{2})?(-[0-9]{2})?")
_LONGEST = 64  # characters


def seconds_of(text: str) -> float | None:
    """Return a date as seconds since 1970, UTC; None if it is none.

    A date without a time zone is in UTC, one without a time is the beginning of its day.
    """
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    try:
        if (found := _DAY.fullmatch(text)) is not None:
            year, month, day = found[1], found[2] or "-01", found[3] or "-01"
            moment = datetime.fromisoformat(f"{year}{month}{day}")
        elif text[0].isdigit() and text[4:5] == "-":
            moment = datetime.fromisoformat(text)
        else:
            moment = parsedate_to_datetime(text)
        return (moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment).timestamp()
    except (ValueError, OverflowError):
        return None
