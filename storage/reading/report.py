"""Reports: what a store holds, read without changing it; counts for people, rows for export."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from types import MappingProxyType
from typing import Annotated, Any, NamedTuple, TypedDict

import msgspec
from sqlalchemy import ColumnElement, Connection, FromClause, Select, case, func, select

from canonry.canon import redaction
from canonry.storage.clusters import equivalences
from canonry.storage.facts import check_schema, read_facts
from canonry.storage.http_status import OK
from canonry.storage.reading.known_url import OF_BODY
from canonry.storage.reading.row_structs import MaybeURL, StoredAs, URLText, stored_as, struct_of
from canonry.storage.records import NOT_A_PAGE, UNREAD, WALL
from canonry.storage.recrawls import recrawl_report, revisit_rows
from canonry.storage.recrawls.recrawl_report import RecrawlRow
from canonry.storage.rows import little_new
from canonry.storage.rows.little_new import LittleNew
from canonry.storage.rows.waiting import waiting_hosts
from canonry.storage.shown import Shown
from canonry.storage.sql import counts
from canonry.storage.sql.database_faults import explaining, naming
from canonry.storage.sql.engine import open_engine, without_password
from canonry.storage.sql.schema import State, aliases, hosts, jobs, pages, rules, urls
from canonry.storage.sql.sqlite_engine import file_version
from canonry.storage.sql.store_errors import StoreError
from canonry.storage.sql.stored_json import stored_json
from canonry.storage.sql.tables.figure_tables import merges, refusals
from canonry.storage.timestamps import Moment, iso, moment


@contextmanager
def reading(url: str) -> Iterator[Connection]:
    """Open a snapshot of a store for reading, even while a crawl writes to it.

    Raises:
        StoreError: if there is no store, or it has another schema.
    """
    engine = open_engine(url, read_only=True)
    before = file_version(engine.url)
    try:
        with explaining(engine), engine.begin() as connection:
            with naming(engine):
                check_schema(read_facts(connection))
            yield connection
    finally:
        engine.dispose()
    if before != file_version(engine.url):
        raise StoreError(
            f"store {without_password(engine.url)}: it was changed while it was read; read it again"
        )


class JobRow(TypedDict):
    """The last crawl."""

    id: int
    command: str
    state: str  # running, interrupted, finished or failed
    settings: dict[str, Any]  # seeds, settings and options, without passwords
    started_at: Moment
    ended_at: Moment | None
    seconds: float | None  # that it took; null while it runs, or if it was killed


def _cause(row: "WaitingRow") -> str:
    return row["reason"] or "its delay"


class WaitingRow(TypedDict):
    """A host that waits for longer than its delay."""

    host: Annotated[str, Shown("host")]
    until: Annotated[Moment | None, Shown("until", lambda row: moment(row["until"]))]
    reason: Annotated[str | None, Shown("because of", _cause)]  # null: its delay
    urls: Annotated[int, Shown("URLs")]  # that are queued


class MergedRow(TypedDict):
    """Links that rules merged with known URLs."""

    rules: str  # joined by " + "
    links: int
    link: URLText  # an example
    same_as: URLText  # what it was merged with


class RefusedLinksRow(TypedDict):
    """Refused links: they are invalid, or were not followed. Held and failed URLs are apart."""

    reason: str
    links: int
    link: URLText  # an example


class AliasesRow(TypedDict):
    """Aliases of a kind and an HTTP status."""

    kind: str  # redirect, canonical or rule
    status: int | None  # HTTP status; null for a rule
    aliases: int


class StoreStatus(TypedDict):
    """What a store holds."""

    policy: str  # name/version
    job: JobRow | None  # null: no crawl has used the store
    urls: dict[str, int]  # by state: queued, fetched, redirected, failed, held
    hosts: int
    keys: int
    pages_by_status: dict[str, int]  # by HTTP status
    repeated_bodies: int  # pages with the body of another one
    little_new: list[LittleNew]
    use_reserved: dict[str, int]  # pages, by the use that their sites reserve
    held: dict[str, int]  # by reason
    failed: dict[str, int]  # by reason
    not_again: dict[str, int]  # pages that could not be fetched again, by reason; they stay
    waiting: list[WaitingRow]
    aliases: list[AliasesRow]
    merged: list[MergedRow]
    refused: list[RefusedLinksRow]
    not_pages: int  # links that lead to no page, such as mailto:
    recrawl: RecrawlRow | None  # null: none has ended
    due: int | None  # pages that --recrawl would fetch again; null: there was no such crawl


class StoreFigures(NamedTuple):
    """What a store holds, in numbers that it keeps: as fast in a store of any size."""

    urls: dict[str, int]  # by state
    reasons: dict[str, dict[str, int]]  # by state, why URLs are held, failed or not fetched again
    pages_by_status: dict[str, int]
    merged: list[MergedRow]


def figures(connection: Connection) -> StoreFigures:
    """Return the numbers that a store keeps."""
    states = dict.fromkeys((state.name.lower() for state in State), 0)
    reasons: dict[str, dict[str, int]] = {"held": {}, "failed": {}, "fetched": {}}
    for state, reason, count in counts.read(connection, "urls"):
        states[state] += count
        if state in reasons and reason:
            reasons[state][reason] = count
    statuses = {name: n for name, _, n in counts.read(connection, "pages")}
    return StoreFigures(states, reasons, statuses, merged(connection))


def status(connection: Connection) -> StoreStatus:
    """Return what the store holds, as plain data."""
    states, reasons, statuses, by_rules = figures(connection)
    facts = read_facts(connection)
    number, link = refusals.c.count.label("links"), refusals.c.sample.label("link")
    query = select(refusals.c.reason, number, link).order_by(refusals.c.count.desc())
    links = [struct_of(RefusedLinksRow, row) for row in connection.execute(query)]
    return {
        "policy": facts["policy"],
        "job": _job(connection),
        "urls": states,
        "hosts": connection.scalar(select(func.max(hosts.c.id))) or 0,  # ids count up from 1
        "keys": sum(states.values()),  # each URL has one
        "pages_by_status": statuses,
        "repeated_bodies": counts.total_of(connection, counts.REPEATED),
        "little_new": little_new.read(connection),
        "use_reserved": {use: n for use, _, n in counts.read(connection, counts.RESERVED)},
        "held": reasons["held"],
        "failed": reasons["failed"],
        "not_again": {why: n for why, n in reasons["fetched"].items() if why != WALL},
        "waiting": [struct_of(WaitingRow, one) for one in waiting_hosts(connection, time.time())],
        "aliases": [
            struct_of(AliasesRow, one, status=one.status or None)
            for one in sorted(counts.alias_counts(connection), reverse=True)
        ],
        "merged": by_rules,
        "refused": [row for row in links if row["reason"] != NOT_A_PAGE],
        "not_pages": sum(row["links"] for row in links if row["reason"] == NOT_A_PAGE),
        "recrawl": recrawl_report.read(connection),
        "due": revisit_rows.number_due(connection, time.time()),
    }


def merged(connection: Connection) -> list[MergedRow]:
    """Return how many links each set of rules merged, with an example, the most first."""
    link = merges.c.raw_url.label("link")
    query = select(merges.c.rules, merges.c.count.label("links"), link, merges.c.same_as)
    found = connection.execute(query.order_by(merges.c.count.desc()))
    return [struct_of(MergedRow, row) for row in found]


def _job(connection: Connection) -> JobRow | None:
    """Return the last job, with the seconds that it took; None if there is none.

    It ended when the last worker of its run did: all of them began at the same time. Its settings
    lose the passwords of its seeds.
    """
    row = connection.execute(select(jobs).order_by(jobs.c.id.desc()).limit(1)).first()
    if row is None:
        return None
    settings: Any = redaction.redact_all(stored_json(row.settings, "jobs", row.id))
    ended = row.ended_at
    if ended is not None:
        its_run = select(func.max(jobs.c.ended_at)).where(jobs.c.started_at == row.started_at)
        ended = connection.scalar(its_run)
    seconds = None if ended is None else round(ended - row.started_at, 3)
    return struct_of(JobRow, row, settings=settings, ended_at=iso(ended), seconds=seconds)


StateName = Annotated[str, StoredAs(lambda state: State(state).name.lower())]
_Seconds = Annotated[float, StoredAs(lambda seconds: round(seconds, 6))]
_Digest = Annotated[str | None, StoredAs(bytes.hex)]


class ExportedPage(msgspec.Struct, frozen=True):
    """A page that answered."""

    url: URLText
    status: int  # HTTP status
    fetched_at: datetime
    elapsed: _Seconds  # seconds from request to end of body
    content_type: str | None  # Content-Type as sent
    size: int | None  # bytes of the decoded body; null: it was not read
    digest: _Digest  # BLAKE2b-128 of the decoded body; null: it was not read
    title: str | None
    canonical: MaybeURL  # its rel=canonical, resolved
    links: int | None  # found in it; null: its body was not read
    charset: str | None  # encoding it was read in
    etag: str | None  # its entity tag
    modified: str | None  # its Last-Modified
    same_body_as: MaybeURL  # of status 200: the first page with the same body, if that is another
    depth: int  # links from a seed, not counting redirects
    found_on: MaybeURL  # the page or redirect that named it first; null: a seed
    unread: str | None  # reason why its body was not read
    use_reserved: str | None  # the uses that its site reserves: search, ai-train ...
    use_statements: str | None  # what its site says of its use, a statement a line


class ExportedURL(msgspec.Struct, frozen=True):
    """A URL of a store."""

    url: URLText
    state: StateName  # queued, fetched, redirected, failed or held
    reason: str | None  # why it is held, failed or waits; of a page: wall, or not fetched again
    depth: int  # links from a seed, not counting redirects
    attempts: int  # fetches that failed so far
    found_at: datetime
    found_on: MaybeURL  # the page or redirect that named it first; null: a seed


class ExportedRefusal(msgspec.Struct, frozen=True):
    """A refused URL: it is held, or has failed."""

    url: URLText
    state: StateName  # held or failed
    reason: str | None  # why
    depth: int  # links from a seed, not counting redirects
    hops: int  # redirects in a row that led here
    found_on: MaybeURL  # the page or redirect that named it first; null: a seed


class ExportedRule(msgspec.Struct, frozen=True):
    """A learned rule."""

    id: str
    host: str  # with its port, unless that is the default
    definition: URLText  # family and parameters, as JSON in a text: a row of a table has no objects
    state: str  # candidate, active, suspended or revoked
    agree: int  # pages that agree, each with all of its names
    disagree: int  # pages that do not
    first_seen: datetime | None  # first evidence
    last_seen: datetime | None  # last evidence


class ExportedAlias(msgspec.Struct, frozen=True):
    """A URL that names another, as was seen."""

    url: URLText
    same_as: URLText  # the URL that it names
    kind: str  # redirect, canonical or rule
    status: int  # HTTP status; 0 for a rule
    target_url: URLText  # the target as given, resolved
    first_seen: datetime | None
    last_seen: datetime | None
    count: int  # how many times it was seen
    representative: URLText  # of its class: the URL that it leads to in the end, or itself


# The row of each export, as it is written.
ROWS: Mapping[str, type] = MappingProxyType(
    {
        "pages": ExportedPage,
        "urls": ExportedURL,
        "refused": ExportedRefusal,
        "rules": ExportedRule,
        "aliases": ExportedAlias,
    }
)
_AT_ONCE = 5_000  # rows
_source = urls.alias("source")
_target = urls.alias("target")
_other = pages.alias("other")
_FIRST_OF_BODY = (
    select(func.min(_other.c.url_id))
    .where(_other.c.digest == pages.c.digest, _other.c.status == OK)
    .correlate(pages)
    .scalar_subquery()
)
# Not of errors: a site has one body for all of its missing pages, and each would read all others.
_FIRST_OF_BODY_IF_OK = case((pages.c.status == OK, _FIRST_OF_BODY))
# What is no column of the first table that has one of that name.
_COLUMNS: dict[str, ColumnElement[Any]] = {
    **OF_BODY,
    "same_body_as": select(urls.c.url)
    .where(urls.c.id == _FIRST_OF_BODY_IF_OK, pages.c.size > 0, urls.c.id < pages.c.url_id)
    .correlate(pages)
    .scalar_subquery(),
    "unread": case((pages.c.links == UNREAD, urls.c.reason)),
    "found_on": _source.c.url,
    "same_as": _target.c.url,
    "representative": aliases.c.from_id,
}


def _selected(what: str, *tables: FromClause) -> Select[Any]:
    """Return a query for the columns of an export, each from the first table that has it."""
    places = {name: column for table in reversed(tables) for name, column in table.c.items()}
    return select(*((places | _COLUMNS)[name].label(name) for name in stored_as(ROWS[what])))


_is_source = urls.c.source_id == _source.c.id
_URLS = _selected("urls", urls).join_from(urls, _source, _is_source, isouter=True)
_REFUSED = _selected("refused", urls).join_from(urls, _source, _is_source, isouter=True)
EXPORTS: dict[str, Select[Any]] = {
    "pages": _selected("pages", pages, urls)
    .join_from(pages, urls, urls.c.id == pages.c.url_id)
    .join(_source, _is_source, isouter=True)
    .order_by(pages.c.url_id),
    "urls": _URLS.order_by(urls.c.id),
    "refused": _REFUSED.where(urls.c.state.in_([State.HELD, State.FAILED])).order_by(urls.c.id),
    "rules": _selected("rules", rules).order_by(rules.c.host, rules.c.id),
    "aliases": _selected("aliases", aliases, _source)
    .join_from(aliases, _source, aliases.c.from_id == _source.c.id)
    .join(_target, aliases.c.to_id == _target.c.id)
    .order_by(aliases.c.id),
}


def rows(connection: Connection, what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export as plain data: state names, hexadecimal digests, datetimes.

    Passwords in URLs are replaced by ``***``. An alias also has the representative of its class,
    which is the URL itself if it belongs to none.
    """
    classes = equivalences.Equivalences(connection)
    converters = {name: by for name, (by, _name) in stored_as(ROWS[what]).items() if by is not None}
    result = connection.execute(EXPORTS[what].execution_options(yield_per=_AT_ONCE))
    for part in result.mappings().partitions():
        if what == "aliases":
            classes.prepare({row["representative"] for row in part})
        for row in map(dict, part):
            if what == "aliases":
                row["representative"] = classes.representative(row["representative"]).url
            for name, by in converters.items():
                if row[name] is not None:
                    row[name] = by(row[name])
            yield row
