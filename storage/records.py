"""What goes into the store and comes out of it, as plain values."""

from typing import NamedTuple

from canonry.storage.sql.schema import State


class Candidate(NamedTuple):
    """A URL at the door: what a link, a seed or a redirect asks to be remembered."""

    url: str  # what to request
    spelling: str  # as it stood in the document, made absolute
    key: bytes  # of its identity
    host: str
    depth: int
    hops: int = 0
    source: int | None = None
    held: str | None = None  # why it is not to be fetched; None queues it
    listed: bool = False  # of a list: nothing names it, and yet a learned rule may hold it
    priority: int = 0  # of a host's URLs those with a smaller one are asked first


class Admission(NamedTuple):
    """The door's answer: the row that the URL stands for, and whether it is new."""

    row: int
    new: bool


class Hop(NamedTuple):
    """One URL naming another: by a redirect, or by ``rel=canonical``."""

    kind: str
    status: int
    target: Candidate


class Page(NamedTuple):
    """An answer that was no redirect; see the columns of the table for the meaning of each."""

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


class RefusedLink(NamedTuple):
    """A link that no crawl can fetch: it is counted, and gets no row."""

    reason: str
    link: str  # without a password


class Queued(NamedTuple):
    """A URL to fetch."""

    row: int
    url: str
    depth: int
    hops: int
    attempts: int
    etag: str | None = None  # of the page that the store has
    modified: str | None = None
    priority: int = 0


class Outcome(NamedTuple):
    """The result of one visit, from the answer to the store.

    It is recorded in one transaction with its acknowledgement.
    """

    queued: Queued  # the URL that was visited
    state: State
    reason: str | None = None
    page: Page | None = None
    hops: tuple[Hop, ...] = ()
    links: tuple[Candidate, ...] = ()
    retry_at: float | None = None  # seconds since 1970
    hsts: bool = False  # the host asked for https, over https (RFC 6797)
    refused: tuple[RefusedLink, ...] = ()
    unchanged: bool = False  # the stored page is still current (RFC 9110 section 15.4.5)
    not_before: float = 0.0  # the host wants no request before, in seconds since 1970
    elapsed: float | None = None  # seconds that the host's last answer took

    @property
    def row(self) -> int:
        """The row of the URL that was visited."""
        return self.queued.row


class LeasedHost(NamedTuple):
    """A host that this worker may fetch from, and the first of its URLs."""

    name: str
    ready_at: float
    delay: float | None
    urls: tuple[Queued, ...]


class Robots(NamedTuple):
    """What is kept of an origin's robots.txt; see the columns of the table."""

    rules: str | None
    expires_at: float
    unreachable_since: float | None = None


class Share(NamedTuple):
    """A budget that a URL draws on, with all that have a pattern in common."""

    key: bytes  # 16 bytes
    pattern: str
    most: int  # URLs that are let into the queue
    reason: str  # why further ones are held
