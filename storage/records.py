"""Records: the plain values that go into the store and come out of it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from canonry.storage.http_status import PERMANENT_REDIRECTS
from canonry.storage.sql.schema import State

# Priorities: a host's URLs with smaller ones are requested first. URLs that the settings put first
# have odd ones, also after a promotion, so that a recrawl can tell which they were.
ALIAS = 2  # a learned rule says that it is another name of a page
ORDINARY = 0
FIRST = -1  # the settings put it first
QUESTION = -2  # its answer decides what a learned rule is worth
TARGET = -4  # another URL has redirected to it, or it tests a rule: so no rule may hold it

DEEPEST = 32_767  # links from a seed; the store has no larger number, also not of attempts
FEW_DEFERRED = 8  # URLs of one host with the priority ALIAS that are in memory at first
LONGEST_WAIT = 86_400.0  # seconds; no URL and no host has to wait longer, whatever its server asks

# Reasons for which people hold URLs, whatever the settings are.
HOST_BLOCKED = "host-blocked"
PATTERN_EXCLUDED = "pattern-excluded"
# The reason of what a wall hides, and of the one page that is kept to show it.
WALL = "wall"


class Candidate(NamedTuple):
    """A URL to admit, from a link, a seed or a redirect."""

    url: str  # what to request
    raw_url: str  # as written in the document, made absolute
    key: bytes  # of its identity
    host: str
    depth: int
    hops: int = 0
    source: int | None = None
    held: str | None = None  # the reason to hold it; None queues it
    listed: bool = False  # from a list: it has no source, but a learned rule may hold it
    priority: int = ORDINARY
    is_temporary: bool = False  # the target of a temporary redirect, such as a login form
    due: float = 0.0  # not before; seconds since 1970


class Admission(NamedTuple):
    """The answer for a candidate: the id of the URL that has its key."""

    url_id: int
    new: bool  # True for exactly one claim of the key, ever
    replaces: int | None = None  # the URL that left the queue because this one represents it


class Hop(NamedTuple):
    """A URL that names another, by a redirect or by ``rel=canonical``."""

    kind: str  # redirect or canonical
    status: int  # HTTP status
    target: Candidate


UNREAD = -1  # the number of links of a page whose body was not read


class Page(NamedTuple):
    """A response that is not a redirect; the columns of the table say what each field means."""

    status: int
    elapsed: float
    content_type: str | None
    size: int
    digest: bytes
    title: str | None
    canonical: str | None
    links: int
    charset: str | None = None
    etag: str | None = None
    modified: str | None = None
    use_statements: str | None = None
    use_reserved: str | None = None


NOFOLLOW = "nofollow"  # the reason of links that are not followed, because their page says so
NOT_A_PAGE = "not-a-page"  # the reason of links that do something else, and are no faults


NO_LINKS: Mapping[str, int] = MappingProxyType({})


class EarlierLinks(NamedTuple):
    """Counts of a page's links that were recorded before the page, since there are many."""

    links: int = 0
    new: int = 0  # of these


class RefusedLink(NamedTuple):
    """A link that no crawl can fetch: it is counted, and gets no row."""

    reason: str  # of the canonicalizer, of the URL filter, `NOFOLLOW` or `NOT_A_PAGE`
    link: str  # without a password


class Queued(NamedTuple):
    """A URL to fetch."""

    url_id: int
    url: str
    depth: int
    hops: int
    attempts: int
    etag: str | None = None  # of the page that the store has
    modified: str | None = None
    priority: int = ORDINARY


class Outcome(NamedTuple):
    """The result of one visit, with all that the store records about it.

    It is recorded in one transaction with its acknowledgement.
    """

    queued: Queued  # the URL that was visited
    state: State
    reason: str | None = None
    page: Page | None = None
    leads: tuple[Hop, ...] = ()  # redirects, and the canonical link
    links: tuple[Candidate, ...] = ()
    retry_at: float | None = None  # seconds since 1970
    hsts: bool = False  # the host asked for https, over https (RFC 6797)
    refused: tuple[RefusedLink, ...] = ()
    unread: Page | None = None  # what is known of a page whose body was not read
    unchanged: bool = False  # the stored page is still current (RFC 9110 section 15.4.5)
    not_before: float = 0.0  # the host wants no earlier request; seconds since 1970
    elapsed: float | None = None  # seconds that the host's last answer took
    detail: str | None = None  # of the reason, for people
    # False if no request was sent: the answer was known from another URL's.
    was_requested: bool = True
    # How many further links lead to URLs that the store is known to have, by the rules that merge
    # a link's raw URL with its URL's first one; "" if both are equal.
    known: Mapping[str, int] = NO_LINKS
    earlier: EarlierLinks = EarlierLinks()  # further ones, with rows of their own already
    blocks: bytes | None = None  # of text, of a page that answered 200; None: it is no text
    # Keys of what a sitemap or feed lists, each with when it has changed; for recrawls.
    listed: tuple[tuple[bytes, float], ...] = ()

    @property
    def url_id(self) -> int:
        """The id of the URL that was visited."""
        return self.queued.url_id


class LeasedHost(NamedTuple):
    """A host that this worker may fetch from, and the first of its URLs."""

    name: str
    ready_at: float
    delay: float | None
    urls: tuple[Queued, ...]
    has_more: bool = False  # more URLs can be fetched now, by this worker
    taken_over: bool = False  # another worker had it last


class CachedRobots(NamedTuple):
    """The cached robots.txt of an origin; the columns of the table say what each field means."""

    rules: str | None
    expires_at: float
    unreachable_since: float | None = None


class Budget(NamedTuple):
    """A limit for the number of queued URLs that have a pattern in common."""

    key: bytes  # 16 bytes
    pattern: str
    most: int  # URLs that may be queued
    reason: str  # for which further ones are held


class RecordedOutcome(NamedTuple):
    """An outcome with the store's admissions."""

    outcome: Outcome
    admissions: Sequence[Admission]  # first of its leads' targets, then of its links
    late: bool = False  # the URL stays as an earlier outcome left it: only links count

    @property
    def led(self) -> Iterator[tuple[Hop, Admission]]:
        """Where the URL leads, with the admissions."""
        return zip(self.outcome.leads, self.admissions, strict=False)


def is_temporary_target(hop: Hop, outcome: Outcome) -> bool:
    """Return True if a hop is a temporary redirect, and not that of a seed.

    Its target is the page only for now, or for this visitor. So a learned rule may hold the target
    if the page is known under another name.
    """
    temporary = hop.kind == "redirect" and hop.status not in PERMANENT_REDIRECTS
    return temporary and outcome.queued.depth > 0


def redirect_targets(recorded: Iterable[RecordedOutcome]) -> Iterator[Admission]:
    """Yield the admissions of redirect targets, but not those of late outcomes."""
    for one in recorded:
        if not one.late:
            yield from (admission for hop, admission in one.led if hop.kind == "redirect")
