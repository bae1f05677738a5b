"""The patterns of URLs against their budgets, and a preview of an exclusion."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.inquiry import pattern_listing
from canonry.crawler.inquiry.pattern_listing import ExclusionPreview, PatternListing
from canonry.crawler.settings import SettingsError
from canonry.crawler.web.panel import Asked, BadQuestionError
from canonry.storage import StoreError


class Patterns(msgspec.Struct, frozen=True, kw_only=True):
    """Patterns, and what the exclusion of one would hold."""

    listing: PatternListing
    preview: ExclusionPreview | None  # of the pattern that the query names


def view(connection: Connection, asked: Asked) -> Patterns:
    """Return a page of patterns; the query has ``match``, ``after`` and ``pattern``."""
    named = asked.text("pattern")
    try:
        return Patterns(
            listing=pattern_listing.patterns_of(
                connection, part=asked.text("match"), after=asked.text("after")
            ),
            preview=pattern_listing.preview(connection, named) if named else None,
        )
    except (SettingsError, StoreError) as error:
        raise BadQuestionError(str(error)) from None
