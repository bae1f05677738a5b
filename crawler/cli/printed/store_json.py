"""What the commands about a store, a crawl and its queue print as JSON."""

from typing import Any

import msgspec

from canonry import __version__
from canonry.canon.pipeline import is_compiled
from canonry.crawler.observe.progress import Progress
from canonry.storage.rows.little_new import LittleNew
from canonry.storage.timestamps import Moment


class ProgramJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The program that prints this."""

    version: str
    compiled: bool  # False: the kernel is not compiled, and the same answers take longer


def program() -> ProgramJSON:
    """Return what this program is."""
    return ProgramJSON(version=__version__, compiled=is_compiled())


class JobJSON(msgspec.Struct, frozen=True, kw_only=True):
    """The last crawl."""

    id: int
    command: str
    state: str  # running, interrupted, finished or failed
    started_at: Moment
    ended_at: Moment | None
    seconds: float | None  # that it took; null while it runs, or if it was killed
    settings: dict[str, Any]  # seeds, settings and options, without passwords


class WaitingJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A host that waits for longer than its delay."""

    host: str
    until: Moment | None
    reason: str | None  # null: its delay
    urls: int  # that are queued


class MergedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Links that rules merged with known URLs."""

    rules: str  # joined by " + "
    links: int
    link: str  # an example
    same_as: str  # what it was merged with


class RefusedLinksJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Refused links: they are invalid, or were not followed. Held and failed URLs are apart."""

    reason: str
    links: int
    link: str  # an example


class AliasesJSON(msgspec.Struct, frozen=True, kw_only=True):
    """Aliases of a kind and an HTTP status."""

    kind: str  # redirect, canonical or rule
    status: int | None  # HTTP status; null for a rule
    aliases: int


class RecrawlJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What the last recrawl has found, in pages unless it says otherwise."""

    began: str | None  # null: no run had ended before
    new: int  # of URLs that were found in it
    changed: int
    unchanged: int
    gone: int  # answered with an error
    moved: int  # redirect now
    unseen: int  # could not be fetched again, and are kept
    rules_begun: int  # rules that act since then
    rules_ended: int  # rules that it has revoked, or suspended


class StatusJSON(msgspec.Struct, kw_only=True):
    """What a store holds."""

    program: ProgramJSON
    policy: str  # name/version
    job: JobJSON | None  # null: no crawl has used the store
    urls: dict[str, int]  # by state: queued, fetched, redirected, failed, held
    hosts: int
    keys: int
    pages_by_status: dict[int, int]  # by HTTP status
    repeated_bodies: int  # pages with the body of another one
    little_new: list[LittleNew]
    use_reserved: dict[str, int]  # pages, by the use that their sites reserve
    held: dict[str, int]  # by reason
    failed: dict[str, int]  # by reason
    not_again: dict[str, int]  # pages that could not be fetched again, by reason; they stay
    waiting: list[WaitingJSON]
    aliases: list[AliasesJSON]
    merged: list[MergedJSON]
    refused: list[RefusedLinksJSON]
    not_pages: int  # links that lead to no page, such as mailto:
    recrawl: RecrawlJSON | None = None  # null: none has ended
    due: int | None  # pages that --recrawl would fetch again; null: there was no such crawl
    unread: dict[str, int]  # pages whose body was not read, by reason


class FailedSeedJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A seed that gave no page."""

    url: str
    reason: str  # as exports have it
    leads_to: str | None  # where it redirects to: the URL that the reason is about
    because: str  # the reason in a sentence
    advice: str | None  # the option or setting that may help


class CrawlJSON(StatusJSON, kw_only=True):
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


class DemoJSON(msgspec.Struct, frozen=True, kw_only=True):
    """A crawl of the demo site, compared with the truth."""

    policy: str
    resources: int  # on the site
    fetched: int  # of these
    missed: list[str]
    fetched_again: int
    again_for_want_of: dict[str, int]  # by the rule that would have suppressed the request
    repeated: int  # requests for a URL that was requested before: to learn what changes by itself
    disallowed: int  # requests that robots.txt disallows
    endless: int  # pages of crawler traps that were fetched
    requests: int
    seconds: float
    links: int
    merged: list[MergedJSON]
    aliases: list[AliasesJSON]
    is_right: bool  # none missed, none disallowed, none twice for which the policy has a rule


class SteeredJSON(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a person has changed of the queue; what does not apply is left out."""

    reason: str | None = None  # whose URLs were released
    host: str | None = None  # that is blocked now, or not any more, or whose URLs were released
    pattern: str | None = None  # that is excluded now, or included again
    held: int | None = None  # queued URLs
    released: int | None = None  # URLs that went back to the queue


class DemosJSON(msgspec.Struct, frozen=True, kw_only=True):
    """What the demo has found, under each policy."""

    crawls: list[DemoJSON]
