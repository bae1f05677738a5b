"""Patterns of URLs for people: how many were queued, and how many may be."""

from typing import Annotated, Any

import msgspec
from sqlalchemy import Connection, Row

from canonry.crawler.admission import exclusions
from canonry.crawler.admission.url_filter import pattern
from canonry.crawler.inquiry.last_crawl import last_crawl, settings_of
from canonry.crawler.plurals import counted
from canonry.crawler.settings import Settings
from canonry.crawler.settings.host_tables import HostTables
from canonry.storage.reading.row_structs import StoredAs, struct_of
from canonry.storage.rows.budgets import ALL_HELD, EXCLUDING, INCLUDING
from canonry.storage.shown import Shown
from canonry.storage.steering import steered_patterns

_MOST = 1_000  # excluded patterns
_LIMIT = Shown("limit", lambda row: "none" if row.limit is None else f"{row.limit:,}")
_STATES = {
    0: "counted",
    EXCLUDING: "being excluded",
    ALL_HELD: "excluded",
    INCLUDING: "being included again",
}


class PatternAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern, or a whole host, and its budget."""

    pattern: Annotated[str, Shown("pattern")]
    queued: Annotated[int, Shown("ever queued")]  # URLs that were ever queued
    limit: Annotated[int | None, _LIMIT]  # of these; None: there is none
    state: Annotated[str, Shown("state")]
    is_host: bool  # True: a budget of a whole host, which can be blocked instead


class PatternListing(msgspec.Struct, frozen=True, kw_only=True):
    """The patterns of the most URLs."""

    patterns: Annotated[list[PatternAnswer], Shown("Patterns")]
    excluded: Annotated[list[PatternAnswer], Shown("Excluded")]
    has_more: bool


class ExclusionPreview(msgspec.Struct, frozen=True, kw_only=True):
    """What the exclusion of a pattern would hold."""

    pattern: str
    host: str
    would_hold: Annotated[
        int, StoredAs(name="held")
    ]  # queued URLs that were found to have the pattern
    at_least: bool  # True: there may be more
    looked_at: int  # queued URLs of the host
    queued_on_host: Annotated[int, StoredAs(name="queued")]
    ever_queued: int  # URLs with the pattern: it cannot be more
    state: str


def patterns_of(connection: Connection, *, part: str = "", most: int = 50) -> PatternListing:
    """Return the first patterns, the most frequent first; with ``part``, those that contain it."""
    settings = settings_of(last_crawl(connection))
    rows, has_more = steered_patterns.patterns_in(connection, part=part, most=most)
    return PatternListing(
        patterns=[_answer(row, settings) for row in rows],
        excluded=[_answer(row, settings) for row in steered_patterns.excluded(connection, _MOST)],
        has_more=has_more,
    )


def preview(connection: Connection, text: str) -> ExclusionPreview:
    """Return what the exclusion of a pattern would hold; the text is as for `exclusions.named`."""
    pattern = exclusions.named(text)
    exclusion = steered_patterns.preview(connection, pattern)
    row = steered_patterns.pattern_with(connection, pattern.key)
    return struct_of(
        ExclusionPreview,
        exclusion,
        pattern=pattern.text,
        host=pattern.host,
        at_least=not exclusion.is_exact,
        ever_queued=0 if row is None else row.number,
        state=_STATES[0 if row is None else row.excluded],
    )


def said(exclusion: ExclusionPreview) -> str:
    """Return a preview as a sentence."""
    if not exclusion.at_least:
        return f"{exclusion.pattern}: it would hold {counted(exclusion.would_hold, 'queued URL')}"
    return (
        f"{exclusion.pattern}: it would hold {exclusion.would_hold:,} of the first "
        f"{exclusion.looked_at:,} URLs that are queued on {exclusion.host}, which has "
        f"{exclusion.queued_on_host:,}; {exclusion.ever_queued:,} with this pattern "
        "were ever queued"
    )


def _answer(row: Row[Any], settings: Settings) -> PatternAnswer:
    """Return a pattern with its limit."""
    is_host = "/" not in row.pattern and "?" not in row.pattern
    if is_host:
        own = HostTables(settings.hosts).of(row.pattern).max_pages
        limit = settings.traps.max_per_host if own is None else own
    elif pattern(f"http://{row.pattern}") == row.pattern:
        limit = settings.traps.max_per_pattern
    else:  # a shape has none: the limit is for all queries of the path
        limit = 0
    return PatternAnswer(
        pattern=row.pattern,
        queued=row.number,
        limit=limit or None,
        state=_STATES[row.excluded],
        is_host=is_host,
    )
