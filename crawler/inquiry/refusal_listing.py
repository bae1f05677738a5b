"""Held and failed URLs for people: how many for each reason, and what would release them."""

from collections.abc import Collection, Iterable, Sequence
from typing import Annotated

import msgspec
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.crawler.inquiry import remedies
from canonry.crawler.inquiry.last_crawl import LastCrawl, last_crawl, settings_of
from canonry.crawler.inquiry.remedies import Case
from canonry.crawler.settings import SettingsError
from canonry.storage.shown import Shown
from canonry.storage.steering import releases, steered_patterns
from canonry.storage.steering.releases import Refusal, RefusedURL
from canonry.storage.timestamps import Moment, iso, moment

_EXAMPLES = 3
_WITH_EXAMPLES = 30  # reasons; for rarer ones the number is enough


def _example(row: "RefusalAnswer") -> str:
    return next(iter(row.examples), "")


class RefusalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for which URLs are refused."""

    state: Annotated[str, Shown("state")]  # held or failed
    reason: Annotated[str, Shown("reason")]  # as the store has it
    sentence: str | None  # the reason in words
    urls: Annotated[int, Shown("URLs")]
    remedy: Annotated[str | None, Shown("what releases them")]  # for the first example
    can_be_released: bool
    examples: Annotated[list[str], Shown("example", _example)]


class RefusalListing(msgspec.Struct, frozen=True, kw_only=True):
    """The reasons for which URLs of a store are held, or have failed."""

    reasons: Annotated[list[RefusalAnswer], Shown("Refused URLs")]


def _at(row: "RefusedURLAnswer") -> str:
    return moment(row.at)


class RefusedURLAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A refused URL."""

    url: Annotated[str, Shown("URL")]
    host: str
    depth: Annotated[int, Shown("depth")]
    attempts: Annotated[int, Shown("tries")]
    at: Annotated[Moment | None, Shown("at", _at)]  # when it failed, or was found


class RefusalPage(msgspec.Struct, frozen=True, kw_only=True):
    """The newest URLs of one reason."""

    about: RefusalAnswer
    urls: list[RefusedURLAnswer]
    has_more: bool


def needs_person(refusal: Refusal) -> bool:
    """Return True if a person should look at what is refused for a reason."""
    row = remedies.row_of(refusal.reason)
    return refusal.state == "failed" or (row is not None and row.is_looked_at)


def refusals_of(connection: Connection) -> list[RefusalAnswer]:
    """Return for what reasons URLs are held or have failed, the most frequent first."""
    return answers(connection, releases.refusals(connection))


def answers(connection: Connection, found: Iterable[tuple[Refusal, int]]) -> list[RefusalAnswer]:
    """Return reasons in words.

    Args:
        connection: to a store.
        found: reasons, each with the number of its URLs.
    """
    crawl = last_crawl(connection)
    excluded = steered_patterns.holding(connection)
    told = []
    for place, (refusal, number) in enumerate(found):
        rows: Sequence[RefusedURL] = ()
        if place < _WITH_EXAMPLES:
            rows, _more = releases.urls_of(connection, refusal, most=_EXAMPLES)
        told.append(_answer(refusal, number, rows, crawl, excluded))
    return told


def urls_of(connection: Connection, refusal: Refusal) -> RefusalPage:
    """Return the newest URLs of a reason.

    Args:
        connection: to a store.
        refusal: state and reason.
    """
    number = dict(releases.refusals(connection)).get(refusal, 0)
    rows, has_more = releases.urls_of(connection, refusal)
    return RefusalPage(
        about=_answer(
            refusal,
            number,
            rows[:_EXAMPLES],
            last_crawl(connection),
            steered_patterns.holding(connection),
        ),
        urls=[
            RefusedURLAnswer(
                url=redact(row.url),
                host=row.host,
                depth=row.depth,
                attempts=row.attempts,
                at=iso(row.at) if row.at else None,
            )
            for row in rows
        ],
        has_more=has_more,
    )


def to_release(state: str, reason: str) -> Refusal:
    """Return a reason that can be released.

    Raises:
        SettingsError: if it cannot; the message says what to do instead.
    """
    if state not in {"held", "failed"}:
        raise SettingsError(f"{state!r}: URLs are held or failed")
    refusal = Refusal(state, reason)
    if not _can_be_released(refusal):
        said = remedies.remedy(reason, Case("http://host/", 0, 0, settings_of(None), (), ()))
        raise SettingsError(f"URLs held for {reason!r} are not released by their reason: {said}")
    return refusal


def _can_be_released(refusal: Refusal) -> bool:
    row = remedies.row_of(refusal.reason)
    return refusal.state == "failed" or row is None or row.is_released


def _answer(
    refusal: Refusal,
    number: int,
    rows: Sequence[RefusedURL],
    crawl: LastCrawl | None,
    excluded: Collection[str],
) -> RefusalAnswer:
    """Return a reason in words."""
    remedy = None
    if rows:
        first = rows[0]
        seeds = crawl.seeds if crawl is not None else ()
        case = Case(
            redact(first.url), first.depth, first.hops, settings_of(crawl), seeds, (), excluded
        )
        remedy = remedies.remedy(refusal.reason, case)
    return RefusalAnswer(
        state=refusal.state,
        reason=refusal.reason,
        sentence=remedies.sentence(refusal.reason),
        urls=number,
        remedy=remedy,
        can_be_released=_can_be_released(refusal),
        examples=[redact(row.url) for row in rows],
    )
