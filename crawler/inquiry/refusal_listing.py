"""Held and failed URLs for people: how many for each reason, and what would release them."""

from collections.abc import Iterable
from typing import Annotated

import msgspec
from sqlalchemy import Connection

from canonry.canon import redact
from canonry.crawler.inquiry import remedies
from canonry.crawler.inquiry.last_crawl import last_crawl, settings_of
from canonry.crawler.inquiry.remedies import Case
from canonry.crawler.settings import SettingsError
from canonry.storage.reading.row_structs import URLText, struct_of
from canonry.storage.shown import Shown
from canonry.storage.steering import releases, steered_patterns
from canonry.storage.steering.releases import Refusal
from canonry.storage.timestamps import Moment, moment

_EXAMPLES = 3
_WITH_EXAMPLES = 30  # reasons; for rarer ones the number is enough
_AT = Shown("at", lambda row: moment(row.at))


class RefusalAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A reason for which URLs are refused."""

    state: Annotated[str, Shown("state")]  # held or failed
    reason: Annotated[str, Shown("reason")]  # as the store has it
    sentence: str | None  # the reason in words
    urls: Annotated[int, Shown("URLs")]
    remedy: Annotated[str | None, Shown("what releases them")]  # for the first example
    can_be_released: bool
    examples: Annotated[list[str], Shown("example", lambda row: next(iter(row.examples), ""))]


class RefusalListing(msgspec.Struct, frozen=True, kw_only=True):
    """The reasons for which URLs of a store are held, or have failed."""

    reasons: Annotated[list[RefusalAnswer], Shown("Refused URLs")]


class RefusedURLAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A refused URL."""

    url: Annotated[URLText, Shown("URL")]
    host: str
    depth: Annotated[int, Shown("depth")]
    attempts: Annotated[int, Shown("tries")]
    at: Annotated[Moment | None, _AT]  # when it failed, or was found


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
    """Return reasons in words, each given with the number of its URLs."""
    crawl = last_crawl(connection)
    settings, seeds = settings_of(crawl), () if crawl is None else crawl.seeds
    excluded = steered_patterns.holding(connection)
    told = []
    for place, (refusal, number) in enumerate(found):
        most = _EXAMPLES if place < _WITH_EXAMPLES else 0
        rows, _more = releases.urls_of(connection, refusal, most) if most else ([], False)
        remedy = None
        for one in rows[:1]:
            url = redact(one.url)
            case = Case(url, one.depth, one.hops, settings, seeds, (), excluded)
            remedy = remedies.remedy(refusal.reason, case)
        told.append(
            RefusalAnswer(
                state=refusal.state,
                reason=refusal.reason,
                sentence=remedies.sentence(refusal.reason),
                urls=number,
                remedy=remedy,
                can_be_released=_can_be_released(refusal),
                examples=[redact(row.url) for row in rows],
            )
        )
    return told


def urls_of(connection: Connection, refusal: Refusal) -> RefusalPage:
    """Return the newest URLs of a state and reason."""
    number = dict(releases.refusals(connection)).get(refusal, 0)
    [about] = answers(connection, [(refusal, number)])
    rows, has_more = releases.urls_of(connection, refusal)
    urls = [struct_of(RefusedURLAnswer, row) for row in rows]
    return RefusalPage(about=about, urls=urls, has_more=has_more)


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
