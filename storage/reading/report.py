"""Reports: what a store holds, read without changing it; counts for people, rows for export."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType
from typing import Annotated, Any, TypedDict

from sqlalchemy import Connection, Integer, RowMapping, Select, case, func, select

from canonry.canon import redact, redaction
from canonry.storage.clusters import equivalences
from canonry.storage.facts import check_schema, read_facts
from canonry.storage.http_status import OK
from canonry.storage.reading.export_rows import (
    ExportedAlias,
    ExportedPage,
    ExportedRefusal,
    ExportedRule,
    ExportedURL,
)
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
from canonry.storage.timestamps import Moment, iso, moment, utc


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
    started_at: Moment
    ended_at: Moment | None
    seconds: float | None  # that it took; null while it runs, or if it was killed
    settings: dict[str, Any]  # seeds, settings and options, without passwords


def _until(row: "WaitingRow") -> str:
    return moment(row["until"])


def _delay(row: "WaitingRow") -> str:
    return row["reason"] or "its delay"


class WaitingRow(TypedDict):
    """A host that waits for longer than its delay."""

    host: Annotated[str, Shown("host")]
    until: Annotated[Moment | None, Shown("until", _until)]
    reason: Annotated[str | None, Shown("because of", _delay)]  # null: its delay
    urls: Annotated[int, Shown("URLs")]  # that are queued


class MergedRow(TypedDict):
    """Links that rules merged with known URLs."""

    rules: str  # joined by " + "
    links: int
    link: str  # an example
    same_as: str  # what it was merged with


class RefusedLinksRow(TypedDict):
    """Refused links: they are invalid, or were not followed. Held and failed URLs are apart."""

    reason: str
    links: int
    link: str  # an example


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


def status(connection: Connection) -> StoreStatus:
    """Return what the store holds, as plain data."""
    states: Counter[str] = Counter()
    reasons: dict[str, dict[str, int]] = {"held": {}, "failed": {}, "fetched": {}}
    for state, reason, count in counts.read(connection, "urls"):
        states[state] += count
        if state in reasons and reason:
            reasons[state][reason] = count
    facts = read_facts(connection)
    links = connection.execute(select(refusals).order_by(refusals.c.count.desc())).mappings().all()
    job = connection.execute(select(jobs).order_by(jobs.c.id.desc()).limit(1)).mappings().first()
    return {
        "policy": facts["policy"],
        "job": _job(connection, job) if job else None,
        "urls": {state.name.lower(): states[state.name.lower()] for state in State},
        "hosts": connection.scalar(select(func.max(hosts.c.id))) or 0,  # ids count up from 1
        "keys": sum(states.values()),  # each URL has one
        "pages_by_status": {name: n for name, _, n in counts.read(connection, "pages")},
        "repeated_bodies": counts.total_of(connection, counts.REPEATED),
        "little_new": little_new.read(connection),
        "use_reserved": {use: n for use, _, n in counts.read(connection, counts.RESERVED)},
        "held": reasons["held"],
        "failed": reasons["failed"],
        "not_again": {why: n for why, n in reasons["fetched"].items() if why != WALL},
        "waiting": [
            {"host": one.host, "until": iso(one.until), "reason": one.reason, "urls": one.urls}
            for one in waiting_hosts(connection, time.time())
        ],
        "aliases": [
            {"kind": one.kind, "status": one.status or None, "aliases": one.aliases}
            for one in sorted(counts.alias_counts(connection), reverse=True)
        ],
        "merged": merged(connection),
        "refused": [
            {"reason": row["reason"], "links": row["count"], "link": redact(row["sample"])}
            for row in links
            if row["reason"] != NOT_A_PAGE
        ],
        "not_pages": sum(row["count"] for row in links if row["reason"] == NOT_A_PAGE),
        "recrawl": recrawl_report.read(connection),
        "due": revisit_rows.number_due(connection, time.time()),
    }


def merged(connection: Connection) -> list[MergedRow]:
    """Return how many links each set of rules merged, with an example, the most first."""
    return [
        {
            "rules": row["rules"],
            "links": row["count"],
            "link": redact(row["raw_url"]),
            "same_as": redact(row["same_as"]),
        }
        for row in connection.execute(select(merges).order_by(merges.c.count.desc())).mappings()
    ]


def _job(connection: Connection, row: RowMapping) -> JobRow:
    """Return a job, with its times as text and the seconds that it took.

    It ended when the last worker of its run did: all of them began at the same time. Its settings
    lose the passwords of its seeds.
    """
    settings: Any = redaction.redact_all(stored_json(row["settings"], "jobs", row["id"]))
    ended = row["ended_at"]
    if ended is not None:
        its_run = select(func.max(jobs.c.ended_at)).where(jobs.c.started_at == row["started_at"])
        ended = connection.scalar(its_run)
    return {
        "id": row["id"],
        "command": row["command"],
        "state": row["state"],
        "settings": settings,
        "started_at": iso(row["started_at"]) or "",
        "ended_at": iso(ended),
        "seconds": None if ended is None else round(ended - row["started_at"], 3),
    }


_SOURCE = urls.alias("source")
_TARGET = urls.alias("target")
_other = pages.alias("other")
_FIRST_OF_BODY = (
    select(func.min(_other.c.url_id))
    .where(_other.c.digest == pages.c.digest, _other.c.status == OK)
    .correlate(pages)
    .scalar_subquery()
)

EXPORTS: dict[str, Select[Any]] = {
    "pages": select(
        urls.c.url,
        pages.c.status,
        pages.c.fetched_at,
        pages.c.elapsed,
        pages.c.content_type,
        case((pages.c.links != UNREAD, pages.c.size)).label("size"),
        case((pages.c.links != UNREAD, pages.c.digest)).label("digest"),
        pages.c.title,
        pages.c.canonical,
        func.nullif(pages.c.links, UNREAD, type_=Integer).label("links"),
        pages.c.charset,
        pages.c.etag,
        pages.c.modified,
        select(urls.c.url)
        .where(urls.c.id == _FIRST_OF_BODY, pages.c.size > 0, urls.c.id < pages.c.url_id)
        .correlate(pages)
        .scalar_subquery()
        .label("same_body_as"),
        urls.c.depth,
        _SOURCE.c.url.label("found_on"),
        case((pages.c.links == UNREAD, urls.c.reason)).label("unread"),
        pages.c.use_reserved,
        pages.c.use_statements,
    )
    .join_from(pages, urls, urls.c.id == pages.c.url_id)
    .join(_SOURCE, urls.c.source_id == _SOURCE.c.id, isouter=True)
    .order_by(pages.c.url_id),
    "urls": select(
        urls.c.url,
        urls.c.state,
        urls.c.reason,
        urls.c.depth,
        urls.c.attempts,
        urls.c.found_at,
        _SOURCE.c.url.label("found_on"),
    )
    .join_from(urls, _SOURCE, urls.c.source_id == _SOURCE.c.id, isouter=True)
    .order_by(urls.c.id),
    "refused": select(
        urls.c.url,
        urls.c.state,
        urls.c.reason,
        urls.c.depth,
        urls.c.hops,
        _SOURCE.c.url.label("found_on"),
    )
    .where(urls.c.state.in_([State.HELD, State.FAILED]))
    .join_from(urls, _SOURCE, urls.c.source_id == _SOURCE.c.id, isouter=True)
    .order_by(urls.c.id),
    "rules": select(
        rules.c.id,
        rules.c.host,
        rules.c.definition,
        rules.c.state,
        rules.c.agree,
        rules.c.disagree,
        rules.c.first_seen,
        rules.c.last_seen,
    ).order_by(rules.c.host, rules.c.id),
    "aliases": select(
        aliases.c.from_id,
        _SOURCE.c.url,
        _TARGET.c.url.label("same_as"),
        aliases.c.kind,
        aliases.c.status,
        aliases.c.target_url,
        aliases.c.first_seen,
        aliases.c.last_seen,
        aliases.c.count,
    )
    .join_from(aliases, _SOURCE, aliases.c.from_id == _SOURCE.c.id)
    .join(_TARGET, aliases.c.to_id == _TARGET.c.id)
    .order_by(aliases.c.id),
}
_URL_COLUMNS = frozenset(
    {"url", "same_as", "target_url", "found_on", "canonical", "same_body_as", "representative"}
    | {"definition"}
)
_AT_ONCE = 5_000  # rows
_TIMES = frozenset({"fetched_at", "found_at", "first_seen", "last_seen"})


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


def _prepared(
    parts: Iterable[Sequence[RowMapping]], known: equivalences.Equivalences, what: str
) -> Iterator[RowMapping]:
    """Yield rows; for aliases, read the classes of each batch beforehand."""
    for part in parts:
        if what == "aliases":
            known.prepare({row["from_id"] for row in part})
        yield from part


def rows(connection: Connection, what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export as plain data: state names, hexadecimal digests, datetimes.

    Passwords in URLs are replaced by ``***``. An alias also has the representative of its class,
    which is the URL itself if it belongs to none.
    """
    known = equivalences.Equivalences(connection)
    result = connection.execute(EXPORTS[what].execution_options(yield_per=_AT_ONCE))
    for row in map(dict, _prepared(result.mappings().partitions(), known, what)):
        if what == "aliases":
            row["representative"] = known.representative(row.pop("from_id")).url
        for column in _URL_COLUMNS & row.keys():
            if row[column] is not None:
                row[column] = redact(row[column])
        for column in _TIMES & row.keys():
            row[column] = utc(row[column])
        if "elapsed" in row:
            row["elapsed"] = round(row["elapsed"], 6)
        if row.get("digest") is not None:
            row["digest"] = row["digest"].hex()
        if isinstance(row.get("state"), int):
            row["state"] = State(row["state"]).name.lower()
        yield row
