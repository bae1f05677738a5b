"""The answer about one URL, as plain data: what a store knows of it. Times are texts in UTC."""

from typing import Annotated

import msgspec

from canonry.storage.reading.export_rows import PageFacts
from canonry.storage.shown import Shown
from canonry.storage.timestamps import Moment, moment


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Where a URL was found."""

    at: Moment
    raw_url: str  # as written there
    on: list[str]  # the page, the page on which that was found ... to a seed; empty for a seed
    depth: int  # links from a seed
    hops: int  # redirects in a row that led to it
    named_by: list[str]  # URLs that redirect to it, or name it as canonical


class RevisitFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What crawls with --recrawl have seen of a page; older visits count less."""

    visits: int  # after the first one
    changes: int  # visits that found that it had changed
    interval: float  # seconds from the last visit to the next
    due: Moment | None
    listed: Moment | None  # its date in a sitemap or feed


class RedirectFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One step of a chain of redirects."""

    status: int
    to: str
    state: str  # of the target
    reason: str | None  # why that is held or failed
    answer: int | None  # HTTP status of the target's page
    last_seen: Moment | None


class RobotsFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the stored robots.txt says about a URL."""

    url: str
    agent: str  # the product token that was looked for
    line: int | None  # the line that decides, from 1; None: none is about the URL
    text: str | None  # that line
    allows: bool
    expires_at: Moment | None  # requested again after
    unreachable_since: Moment | None


class ScopeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The scope of the last crawl."""

    kind: str  # host, domain, prefix or any
    seeds: list[str]  # the first of them
    more_seeds: int
    pattern: str | None  # that of --exclude which keeps the URL out


class BudgetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A limit for URLs with something in common, and how far it is used up."""

    reason: str  # for which URLs beyond it are held
    setting: str
    common: str  # host, or host and path with "*" for what varies
    count: int
    limit: int


class RuleFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A learned rule that changes the URL."""

    id: str
    state: str
    says: str
    predicts: str  # the identity that the rules make of it
    key: str  # of that; hexadecimal


class StepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule of the policy did to a URL."""

    name: str
    before: str
    after: str
    why: str  # one sentence
    cites: str  # a section of a specification, or a decision page
    rung: str  # of the ladder of comparison
    lossless: bool  # False: it is a heuristic


def _reason(member: "MemberFacts") -> str:
    return f"{member.reason} {member.status or ''}".rstrip()


def _last_seen(member: "MemberFacts") -> str:
    return moment(member.last_seen)


class MemberFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is the same resource as another."""

    url: Annotated[str, Shown("other URL")]
    row: int  # in the store
    reason: Annotated[str, Shown("because of", _reason)]  # redirect, canonical, rule or content
    via: Annotated[str, Shown("leads to")]  # the URL that it leads to, one step
    status: int | None  # HTTP status of a redirect
    last_seen: Annotated[Moment | None, Shown("last seen", _last_seen)]


class ResourceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The resource of a URL: all its URLs, as far as they were looked for."""

    representative: str
    row: int  # of that; in the store
    members: list[MemberFacts]
    has_more: bool  # there may be more members


class CrawlFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The last crawl into the store."""

    state: str
    started_at: Moment | None
    ended_at: Moment | None


class URLAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """All that a store knows of one URL."""

    asked: str
    state: str  # queued, fetched, redirected, failed, held, never-seen or invalid
    reason: str | None = None  # the name that exports use
    because: str | None = None  # the same in a sentence
    url: str | None = None  # what is requested
    identity: str | None = None
    key: str | None = None  # hexadecimal
    surt: str | None = None
    steps: list[StepFacts] = []  # from the text to the identity, each with what it follows
    policy: str
    row: int | None = None  # in the store
    known_as: str | None = None  # the URL that the store has in its place
    merged_by: str | None = None  # the rules that make the two one
    found: Finding | None = None
    attempts: int = 0  # fetches that failed
    settled_at: Moment | None = None  # when it was fetched, failed or held
    not_before: Moment | None = None  # when it is tried (again) at the earliest
    waiting: int = 0  # queued URLs of its host
    page: PageFacts | None = None
    revisits: RevisitFacts | None = None  # null: no crawl with --recrawl has fetched it
    redirects: list[RedirectFacts] = []
    same_as: str | None = None  # the URL that represents it
    by_way_of: list[str] = []  # the URLs between the two, each the same as the next
    gone: list[str] = []  # names of its page that answered 404 or 410, if a rule holds it
    resource: ResourceFacts | None = None  # with all its URLs
    robots: RobotsFacts | None = None
    scope: ScopeFacts | None = None
    budgets: list[BudgetFacts] = []
    rules: list[RuleFacts] = []
    crawl: CrawlFacts | None = None
    remedies: list[str] = []  # the settings and commands that change its state
