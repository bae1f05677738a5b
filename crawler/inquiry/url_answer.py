"""The answer about one URL: what a store knows of it, as plain data, and each fact as a line.

The lines are the same in a terminal and on a page. Times are texts in UTC.
"""

from collections.abc import Iterator
from typing import Annotated, NamedTuple, Protocol, TypeAlias

import msgspec

from canonry.canon import redact
from canonry.crawler.plurals import counted, lasting
from canonry.storage.reading.row_structs import EnumName, MaybeURL, StoredAs, URLText
from canonry.storage.shown import Shown
from canonry.storage.timestamps import Moment, iso, moment

_MEMBERS = 5  # URLs of its resource that are shown
_WAY = 4  # pages that are shown between a URL and its seed


class LinkedURL(str):
    """A URL in a line: a page links it to what the store knows of it."""

    __slots__ = ()


class RuleId(str):
    """The id of a learned rule in a line: a page links it to the rule."""

    __slots__ = ()


class URLLine(NamedTuple):
    """A fact with its name; "" goes on with the fact before."""

    name: str
    parts: tuple[str, ...]  # which make the text

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join(self.parts)


_Lines: TypeAlias = Iterator[tuple[str, ...]]  # the name of each fact, and the parts of its text


class _Fact(Protocol):
    def lines(self, answer: "URLAnswer") -> _Lines: ...


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Where a URL was found."""

    at: Annotated[Moment, StoredAs(iso, "found_at")]
    raw_url: str  # as written there
    on: list[str]  # the page, the page on which that was found ... to a seed; empty for a seed
    depth: int  # links from a seed
    hops: int  # redirects in a row that led to it
    named_by: list[str]  # URLs that redirect to it, or name it as canonical

    def lines(self, answer: "URLAnswer") -> _Lines:
        """Yield where it was found, back to the seed."""
        hops = f" and {counted(self.hops, 'redirect')}" if self.hops else ""
        where = f", {moment(self.at)}, {counted(self.depth, 'link')}{hops} from a seed"
        if self.on:
            yield "found on", LinkedURL(self.on[0]), where
        elif self.depth:
            yield "found", f"on a page that the store does not have{where}"
        else:
            yield "found", f"as a seed, or in a list, {moment(self.at)}"
        for page in self.on[1 : 1 + _WAY]:
            yield "", "which was found on ", LinkedURL(page)
        if len(self.on) > 1 + _WAY:
            more = len(self.on) - 2 - _WAY
            yield "", f"… {more:,} more …" if more else "…"
            yield "", "which was found on ", LinkedURL(self.on[-1])
        if self.raw_url != answer.shown:
            yield "written", self.raw_url
        for at, other in enumerate(self.named_by):
            yield "" if at else "named by", LinkedURL(other)


class PageFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The page of a URL."""

    status: int
    fetched_at: Moment | None
    content_type: str | None
    size: int | None  # bytes of the decoded body; None: it was not read
    title: str | None
    canonical: MaybeURL
    links: int | None

    def lines(self, answer: "URLAnswer") -> _Lines:
        """Yield what was fetched, and when it is fetched again."""
        size = "body not read" if self.size is None else f"{self.size:,} bytes"
        what = [f"status {self.status}", size, self.content_type or "no type"]
        what += [] if self.links is None else [counted(self.links, "link")]
        yield "page", ", ".join([*what, f"fetched {moment(self.fetched_at)}"])
        if (found := answer.revisits) is not None:
            seen = f"changed at {found.changes:,} of {counted(found.visits, 'later visit')}"
            every = lasting(found.interval)
            yield "recrawl", f"{seen}; asked every {every}, next after {moment(found.due)}"
        if self.title:
            yield "title", " ".join(self.title.split())
        if self.canonical is not None and self.canonical != answer.shown:
            yield "canonical", LinkedURL(self.canonical)


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
    to: Annotated[str, StoredAs(redact, "url")]
    state: EnumName  # of the target
    reason: str | None  # why that is held or failed
    answer: int | None  # HTTP status of the target's page
    last_seen: Annotated[Moment | None, StoredAs(name="led_at")]

    def lines(self, _answer: "URLAnswer") -> _Lines:
        """Yield the step, and what became of its target."""
        end = "" if self.answer is None else f" with status {self.answer}"
        reason = "" if self.reason is None else f" ({self.reason})"
        to = LinkedURL(self.to)
        yield "redirect", f"{self.status} to ", to, f", which is {self.state}{end}{reason}"


class RobotsFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What the stored robots.txt says about a URL."""

    url: str
    agent: str  # the product token that was looked for
    line: int | None  # the line that decides, from 1; None: none is about the URL
    text: str | None  # that line
    allows: bool
    expires_at: Moment | None  # requested again after
    unreachable_since: Moment | None

    def lines(self, _answer: "URLAnswer") -> _Lines:
        """Yield the line that decides, and if the file could not be read."""
        if self.line is not None:
            verb = "allows" if self.allows else "disallows"
            yield "robots", f"line {self.line} of {self.url} {verb} it: {self.text}"
        if self.unreachable_since is not None:
            since = moment(self.unreachable_since)
            yield "robots", f"{self.url} could not be read since {since}"


class ScopeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The scope of the last crawl."""

    kind: str  # host, domain, prefix or any
    seeds: list[str]  # the first of them
    more_seeds: int
    pattern: str | None  # that of --exclude which keeps the URL out

    def lines(self, answer: "URLAnswer") -> _Lines:
        """Yield what keeps the URL out."""
        if answer.reason == "out-of-scope":
            more = f" and {self.more_seeds:,} more" if self.more_seeds else ""
            yield "scope", f"{self.kind} of {', '.join(self.seeds)}{more}"
        if self.pattern is not None:
            yield "exclude", self.pattern


class BudgetFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A limit for URLs with something in common, and how far it is used up."""

    reason: str  # for which URLs beyond it are held
    setting: str
    common: str  # host, or host and path with "*" for what varies
    count: int
    limit: int

    def lines(self, answer: "URLAnswer") -> _Lines:
        """Yield the limit, if it holds the URL."""
        like = "" if self.common.startswith("hosts of ") else "URLs like "
        if answer.reason == self.reason:
            spent = f"{self.count:,} of {self.limit:,} {like}{self.common}"
            yield "limit", f"{spent} ({self.setting})"


class RuleFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A learned rule that changes the URL."""

    id: str
    state: str
    says: str
    predicts: str  # the identity that the rules make of it
    key: str  # of that; hexadecimal

    def lines(self, _answer: "URLAnswer") -> _Lines:
        """Yield what the rule says, and what it predicts."""
        yield "rule", RuleId(self.id), f" ({self.state}): {self.says}"
        yield "", f"it predicts {self.predicts}"


class StepFacts(msgspec.Struct, frozen=True, kw_only=True):
    """What one rule of the policy did to a URL."""

    name: str
    before: URLText
    after: URLText
    why: str  # one sentence
    cites: str  # a section of a specification, or a decision page
    rung: EnumName  # of the ladder of comparison
    lossless: bool  # False: it is a heuristic


_Kind = Annotated[str, StoredAs(name="kind")]


def _reason(member: "MemberFacts") -> str:
    return f"{member.reason} {member.status or ''}".rstrip()


def _last_seen(member: "MemberFacts") -> str:
    return moment(member.last_seen)


class MemberFacts(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is the same resource as another."""

    url: Annotated[URLText, Shown("other URL")]
    row: Annotated[int, StoredAs(name="url_id")]  # in the store
    reason: Annotated[_Kind, Shown("because of", _reason)]  # redirect, canonical, rule or content
    via: Annotated[URLText, Shown("leads to")]  # the URL that it leads to, one step
    status: int | None  # HTTP status of a redirect
    last_seen: Annotated[Moment | None, Shown("last seen", _last_seen)]


class ResourceFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The resource of a URL: all its URLs, as far as they were looked for."""

    representative: str
    row: int  # of that; in the store
    members: list[MemberFacts]
    has_more: bool  # there may be more members

    def lines(self, answer: "URLAnswer") -> _Lines:
        """Yield the other URLs, if this one represents them."""
        if self.row != answer.row:
            return
        for member in self.members[:_MEMBERS]:
            status = "" if member.status is None else f" {member.status}"
            yield "also", LinkedURL(member.url), f" ({member.reason}{status})"
        if self.has_more or len(self.members) > _MEMBERS:
            yield "", "… and more: canonry export clusters"


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

    @property
    def shown(self) -> str | None:
        """The URL that the store has."""
        return self.known_as or self.url


def lines(answer: URLAnswer) -> Iterator[URLLine]:
    """Yield the facts that are known."""
    for name, *parts in _facts(answer):
        yield URLLine(name, tuple(parts))


def _facts(answer: URLAnswer) -> _Lines:
    at = f", {moment(answer.settled_at)}" if answer.settled_at else ""
    reason = "" if answer.reason is None else f" ({answer.reason})"
    if answer.state == "held" and answer.reason == "learned":
        yield "state", f"held for a learned rule{at}"
    else:
        yield "state", "never seen" if answer.state == "never-seen" else answer.state + reason + at
    if answer.because is not None:
        yield "because", answer.because
    if answer.known_as is not None:
        by = f" (merged by {answer.merged_by})" if answer.merged_by else ""
        yield "known as", LinkedURL(answer.known_as), by
    facts: tuple[_Fact | None, ...] = (answer.found, answer.page, *answer.redirects)
    for fact in filter(None, facts):
        yield from fact.lines(answer)
    if answer.same_as is not None:
        way = f", by way of {', '.join(answer.by_way_of)}" if answer.by_way_of else ""
        yield "same as", LinkedURL(answer.same_as), way
    for url in answer.gone[:_MEMBERS]:
        yield "gone", LinkedURL(url), ", another name of its page"
    if more := len(answer.gone[_MEMBERS:]):
        yield "", f"… and {counted(more, 'name')} more"
    facts = (answer.resource, *answer.rules, answer.robots, answer.scope, *answer.budgets)
    for fact in filter(None, facts):
        yield from fact.lines(answer)
    yield from _tries(answer)
    for remedy in answer.remedies:
        yield "to change", remedy


def _tries(answer: URLAnswer) -> _Lines:
    if answer.attempts:
        yield "attempts", f"{counted(answer.attempts, 'attempt')} failed"
    if answer.state == "queued":
        running = answer.crawl is not None and answer.crawl.state == "running"
        who = "the crawl that is running" if running else "the next crawl"
        when = f"not before {moment(answer.not_before)}" if answer.not_before else "in its turn"
        yield "next try", f"by {who}, {when}; queued on its host: {answer.waiting:,}"
