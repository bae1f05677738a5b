"""What a row of a table is as JSON: what ``export``, ``dedup`` and ``migrate`` write as JSONL.

The columns of CSV and Parquet have the same names and types; in CSV, lists are JSON.
"""

import msgspec

from canonry.storage.timestamps import Moment


class ExportedPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page that answered."""

    url: str
    status: int  # HTTP status
    fetched_at: Moment
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


class ExportedURL(msgspec.Struct, frozen=True, kw_only=True):
    """A URL of a store."""

    url: str
    state: str  # queued, fetched, redirected, failed or held
    reason: str | None  # why it is held, failed or waits; of a page: wall, or not fetched again
    depth: int  # links from a seed, not counting redirects
    attempts: int  # fetches that failed so far
    found_at: Moment
    found_on: str | None  # the page or redirect that named it first; null: a seed


class ExportedRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A refused URL: it is held, or has failed."""

    url: str
    state: str  # held or failed
    reason: str | None  # why
    depth: int  # links from a seed, not counting redirects
    hops: int  # redirects in a row that led here
    found_on: str | None  # the page or redirect that named it first; null: a seed


class ExportedRule(msgspec.Struct, frozen=True, kw_only=True):
    """A learned rule."""

    id: str
    host: str  # with its port, unless that is the default
    definition: str  # family and parameters, as JSON in a text: a row of a table has no objects
    state: str  # candidate, active, suspended or revoked
    agree: int  # pages that agree, each with all of its names
    disagree: int  # pages that do not
    first_seen: Moment | None  # first evidence
    last_seen: Moment | None  # last evidence


class ExportedAlias(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that names another, as was seen."""

    url: str
    same_as: str  # the URL that it names
    kind: str  # redirect, canonical or rule
    status: int  # HTTP status; 0 for a rule
    target_url: str  # the target as given, resolved
    first_seen: Moment | None
    last_seen: Moment | None
    count: int  # how many times it was seen
    representative: str  # of its class: the URL that it leads to in the end, or itself


class ExportedMember(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is the same as the representative of its cluster."""

    url: str
    reason: str  # redirect, canonical, rule or content
    via: str  # the URL that it leads to: the representative, or another member
    status: int | None  # HTTP status of a redirect
    rules: list[str]  # ids of the learned rules, if the reason is a rule
    last_seen: Moment | None


class ExportedCluster(msgspec.Struct, frozen=True, kw_only=True):
    """A resource with its URLs, or a tombstone for one."""

    action: str  # upsert or delete
    id: str  # the representative's key, in hexadecimal
    url: str  # the representative
    status: int | None  # HTTP status of its page
    title: str | None
    content_type: str | None
    digest: str | None  # BLAKE2b-128 of the decoded body
    last_seen: Moment | None  # when it was last fetched
    reason: str | None  # why its page could not be fetched again
    members: list[ExportedMember]
    left: list[str]  # URLs that were members, and are no more
    same_as: str | None  # of a tombstone: the representative that its URL has now
    use_reserved: str | None  # the uses that its site reserves: search, ai-train ...


class ExportedMerge(msgspec.Struct, frozen=True, kw_only=True):
    """A URL that is another one, with the evidence."""

    url: str
    same_as: str  # the representative of its cluster
    reason: str  # redirect, canonical, rule, content or policy
    via: str  # the URL that it leads to, one step
    status: int | None  # HTTP status of a redirect
    rules: list[str]  # ids of learned rules, or names of the policy's rules
    evidence: str
    times: int  # how many times it was seen; of a policy's rules: links
    first_seen: Moment | None
    last_seen: Moment | None


class ExportedSimilarPage(msgspec.Struct, frozen=True, kw_only=True):
    """A page of a group of near-duplicates: its representative, or one that is similar to it."""

    group: int  # counts up in this export
    url: str
    representative: str  # the page of the group with the shortest URL; itself in its own row
    score: float  # share of the own text of both pages that both have; 1: it is equal
    containment: float  # share of the shorter text that is in the other one
    same_host: bool  # whether it is on the representative's host
    words: int  # of its own: without what most pages of its site have
    only_here: str  # excerpts of what the representative has not
    only_there: str  # excerpts of what only the representative has


class DistinctURL(msgspec.Struct, frozen=True, kw_only=True):
    """The first line of a resource."""

    url: str  # as read
    canonical: str  # the canonical form
    key: str  # 32 hexadecimal digits
    source: str  # the file
    line: int  # in the file


class MappedLine(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a line."""

    url: str  # as read
    same_as: str  # the line that it duplicates, or itself
    rules: str  # first, repeated, seen, "refused:" and the reason, or the rules that merged it
    source: str  # the file; "-" is standard input
    line: int  # in that file, counted from 1, with a line of column names


class MigratedURL(msgspec.Struct, frozen=True, kw_only=True):
    """A URL with its old key and its new one."""

    old: str
    new: str  # the canonical form
    key: str  # 32 hexadecimal digits
    url: str  # to request
    text: str  # the URL as read
