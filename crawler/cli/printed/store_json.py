"""What the commands about a store, a crawl and its queue print as JSON."""

from typing import Any

import msgspec

from canonry import __version__
from canonry.canon.pipeline import is_compiled
from canonry.crawler.observe.progress import Progress
from canonry.storage.reading.report import StoreStatus


class ProgramJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The program that prints this."""

    version: str
    compiled: bool  # False: the kernel is not compiled, and the same answers take longer


def program() -> ProgramJSON:
    """Return what this program is."""
    return ProgramJSON(version=__version__, compiled=is_compiled())


class StatusJSON(StoreStatus):
    """What a store holds."""

    program: ProgramJSON
    unread: dict[str, int]  # pages whose body was not read, by reason


def told(store_status: StoreStatus) -> StatusJSON:
    """Return what a store holds as it is told to people and programs."""
    from canonry.crawler.run import bodies  # noqa: PLC0415 - loads what fetches

    return {**store_status, "program": program(), "unread": bodies.unread_in(store_status)}


class FailedSeedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A seed that gave no page."""

    url: str
    reason: str  # as exports have it
    leads_to: str | None  # where it redirects to: the URL that the reason is about
    because: str  # the reason in a sentence
    advice: str | None  # the option or setting that may help


class CrawlJSON(StatusJSON):
    """What a crawl did, and what its store holds."""

    seconds: float
    finished: bool  # False: interrupted, or no seed gave a page
    kept_options: dict[str, Any]  # of the crawl that this one resumes, by name
    failed_seeds: list[FailedSeedJSON]
    run: Progress


class ExampleJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Two URLs that would become one, or two."""

    url: str
    other: str
    rules: str  # that merge them, or did


class MovedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What was moved to another database."""

    rows: int
    before: int  # of these, by runs that were interrupted
    seconds: float


class UpgradeJSON(msgspec.Struct, frozen=True, kw_only=True, rename={"made": "from"}):
    """What a change of a store's policy did, or would do."""

    made: str  # the policy before: name/version
    to: str  # the policy now
    urls: int | None = None  # before; null: no key was changed
    merged: int = 0  # URLs that became one with another
    split: int = 0  # targets that became URLs of their own
    continued: bool = False  # an earlier try had begun
    dry_run: bool = False  # True: this is what would be done
    apart: int | None = None  # with --dry-run: merged links whose URLs would be two
    merged_examples: list[ExampleJSON] = []  # with --dry-run
    split_examples: list[ExampleJSON] = []  # with --dry-run
    apart_examples: list[ExampleJSON] = []  # with --dry-run


class JudgedJSON(msgspec.Struct, frozen=True, kw_only=True, rename={"inside": "in"}):
    """A URL, and whether a crawl would follow a link to it."""

    url: str
    inside: bool
    reason: str | None  # to hold it
    setting: str  # that decides
    value: str | None  # of the setting


class ScopeJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Which URLs a crawl would follow."""

    urls: list[JudgedJSON]


class SteeredJSON(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person has changed of the queue; what does not apply is left out."""

    reason: str | None = None  # whose URLs were released
    host: str | None = None  # that is blocked now, or not any more, or whose URLs were released
    pattern: str | None = None  # that is excluded now, or included again
    held: int | None = None  # queued URLs
    released: int | None = None  # URLs that went back to the queue
