"""The rows of exports, as JSONL, CSV and Parquet."""

from datetime import datetime

import msgspec


class ExportedPage(msgspec.Struct, frozen=True):
    """A page that answered."""

    url: str
    status: int  # HTTP status
    fetched_at: datetime
    elapsed: float  # seconds from request to end of body
    content_type: str | None  # Content-Type as sent
    size: int | None  # bytes of the decoded body; null: it was not read
    digest: str | None  # BLAKE2b-128 of the decoded body; null: it was not read
    title: str | None
    canonical: str | None  # its rel=canonical, resolved
    links: int | None  # found in it; null: its body was not read
    charset: str | None  # encoding it was read in
    etag: str | None  # its entity tag
    modified: str | None  # its Last-Modified
    same_body_as: str | None  # the first page with the same body, if that is another
    depth: int  # links from a seed, not counting redirects
    found_on: str | None  # the page or redirect that named it first; null: a seed
    unread: str | None  # reason why its body was not read
    use_reserved: str | None  # the uses that its site reserves: search, ai-train ...
    use_statements: str | None  # what its site says of its use, a statement a line


class ExportedURL(msgspec.Struct, frozen=True):
    """A URL of a store."""

    url: str
    state: str  # queued, fetched, redirected, failed or held
    reason: str | None  # why it is held, failed or waits; of a page: wall, or not fetched again
    depth: int  # links from a seed, not counting redirects
    attempts: int  # fetches that failed so far
    found_at: datetime
    found_on: str | None  # the page or redirect that named it first; null: a seed


class ExportedRefusal(msgspec.Struct, frozen=True):
    """A refused URL: it is held, or has failed."""

    url: str
    state: str  # held or failed
    reason: str | None  # why
    depth: int  # links from a seed, not counting redirects
    hops: int  # redirects in a row that led here
    found_on: str | None  # the page or redirect that named it first; null: a seed


class ExportedRule(msgspec.Struct, frozen=True):
    """A learned rule."""

    id: str
    host: str  # with its port, unless that is the default
    definition: str  # family and parameters, as JSON in a text: a row of a table has no objects
    state: str  # candidate, active, suspended or revoked
    agree: int  # pages that agree, each with all of its names
    disagree: int  # pages that do not
    first_seen: datetime | None  # first evidence
    last_seen: datetime | None  # last evidence


class ExportedAlias(msgspec.Struct, frozen=True):
    """A URL that names another, as was seen."""

    url: str
    same_as: str  # the URL that it names
    kind: str  # redirect, canonical or rule
    status: int  # HTTP status; 0 for a rule
    target_url: str  # the target as given, resolved
    first_seen: datetime | None
    last_seen: datetime | None
    count: int  # how many times it was seen
    representative: str  # of its class: the URL that it leads to in the end, or itself
