"""Patterns whose pages repeat the bodies of other pages: endless spaces, and what holds them."""

from collections import Counter

import msgspec
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.crawler.admission import exclusions
from canonry.crawler.admission.url_filter import shape
from canonry.storage.steering import steered_patterns


class RepeatAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A pattern of which pages repeat others."""

    pattern: str
    pages: int  # of the newest ones
    repeats: int  # of these: with the body of an earlier page
    queued: int  # URLs with the pattern that were ever queued
    is_excluded: bool
    example: str  # a page that repeats another


class RepeatListing(msgspec.Struct, frozen=True, kw_only=True):
    """Patterns of which pages repeat others, the one with the most repeats first."""

    patterns: list[RepeatAnswer]
    looked_at: int  # pages


def repeats_of(connection: Connection, *, last: int, most: int = 50) -> RepeatListing:
    """Return the patterns of which the newest pages repeat bodies the most.

    Args:
        connection: to a store.
        last: so many of the newest fetched URLs are looked at.
        most: patterns to list.
    """
    pages: Counter[str] = Counter()
    repeats: Counter[str] = Counter()
    examples: dict[str, str] = {}
    for page in steered_patterns.newest_pages(connection, last):
        pages[pattern := shape(page.url)] += 1
        if page.repeats:
            repeats[pattern] += 1
            examples.setdefault(pattern, page.url)
    excluded = exclusions.keeps(connection)
    answers = []
    for pattern, number in repeats.most_common(most):
        row = steered_patterns.pattern_with(connection, exclusions.named(pattern).key)
        answers.append(
            RepeatAnswer(
                pattern=pattern,
                pages=pages[pattern],
                repeats=number,
                queued=0 if row is None else row.number,
                is_excluded=excluded(examples[pattern]),
                example=redact(examples[pattern]),
            )
        )
    return RepeatListing(patterns=answers, looked_at=pages.total())
