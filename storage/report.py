"""What a store holds, read without touching it: counts for people, rows for export."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Select, func, select
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError

from canon import redact
from storage.engine import open_engine
from storage.errors import StoreError
from storage.schema import State, aliases, hosts, jobs, keys, merges, pages, refusals, urls
from storage.store import read_facts


@contextmanager
def reading(url: str) -> Iterator[Connection]:
    """Open a store for reading, at one moment of its life, also while a crawl writes to it.

    Raises:
        StoreError: when there is none.
    """
    database = make_url(url).database
    if database and not Path(database).exists():
        raise StoreError(
            f"there is no store {database}; 'canonry crawl' makes one, --store names it"
        )
    engine = open_engine(url, read_only=True)
    try:
        with engine.begin() as connection:
            read_facts(connection)
            yield connection
    except DatabaseError as error:
        raise StoreError(f"store {url}: {error.orig}") from None
    finally:
        engine.dispose()


def status(connection: Connection) -> dict[str, Any]:
    """Return what the store holds, as plain data."""
    states = _counts(connection, urls.c.state)
    why = (
        select(urls.c.state, urls.c.reason, func.count())
        .where(urls.c.state.in_([State.HELD, State.FAILED]))
        .group_by(urls.c.state, urls.c.reason)
    )
    held: dict[str, int] = {}
    failed: dict[str, int] = {}
    for state, reason, count in connection.execute(why):
        (held if state == State.HELD else failed)[reason] = count
    facts = read_facts(connection)
    job = connection.execute(select(jobs).order_by(jobs.c.id.desc()).limit(1)).mappings().first()
    return {
        "policy": facts["policy"],
        "job": dict(job) if job else None,
        "urls": {state.name.lower(): states.get(str(int(state)), 0) for state in State},
        "hosts": connection.scalar(select(func.count()).select_from(hosts)),
        "keys": connection.scalar(select(func.count()).select_from(keys)),
        "pages_by_status": _counts(connection, pages.c.status),
        "held": held,
        "failed": failed,
        "aliases": {
            f"{kind} {status}": count
            for kind, status, count in connection.execute(
                select(aliases.c.kind, aliases.c.status, func.count())
                .group_by(aliases.c.kind, aliases.c.status)
                .order_by(aliases.c.kind.desc(), aliases.c.status)
            )
        },
        "merged": [
            {
                "rules": row.rules,
                "links": row.count,
                "link": redact(row.spelling),
                "same_as": redact(row.same_as),
            }
            for row in connection.execute(select(merges).order_by(merges.c.count.desc()))
        ],
        "refused": [
            {"reason": row.reason, "links": row.count, "link": redact(row.sample)}
            for row in connection.execute(select(refusals).order_by(refusals.c.count.desc()))
        ],
    }


def _counts(connection: Connection, column: Any) -> dict[str, int]:  # noqa: ANN401 - any column
    """Return how many rows have each value of a column."""
    rows = connection.execute(select(column, func.count()).group_by(column).order_by(column))
    return {str(value): count for value, count in rows}


_SOURCE = urls.alias("source")
_TARGET = urls.alias("target")

EXPORTS: dict[str, Select[Any]] = {
    "pages": select(
        urls.c.url,
        pages.c.status,
        pages.c.fetched_at,
        pages.c.elapsed,
        pages.c.content_type,
        pages.c.size,
        pages.c.digest,
        pages.c.title,
        pages.c.canonical,
        pages.c.links,
        urls.c.depth,
    )
    .join_from(pages, urls)
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
    "aliases": select(
        _SOURCE.c.url,
        _TARGET.c.url.label("same_as"),
        aliases.c.kind,
        aliases.c.status,
        aliases.c.located,
        aliases.c.first_seen,
        aliases.c.last_seen,
        aliases.c.count,
    )
    .join_from(aliases, _SOURCE, aliases.c.from_id == _SOURCE.c.id)
    .join(_TARGET, aliases.c.to_id == _TARGET.c.id)
    .order_by(aliases.c.id),
}
_URL_COLUMNS = frozenset({"url", "same_as", "located", "found_on", "canonical"})


def rows(connection: Connection, what: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of an export as plain data: states by name, digests in hexadecimal.

    Passwords in URLs are replaced by ``***``.
    """
    result = connection.execution_options(yield_per=5_000).execute(EXPORTS[what])
    for row in result.mappings():
        plain = dict(row)
        for column in _URL_COLUMNS & plain.keys():
            if plain[column] is not None:
                plain[column] = redact(plain[column])
        if "digest" in plain:
            plain["digest"] = plain["digest"].hex()
        if "state" in plain:
            plain["state"] = State(plain["state"]).name.lower()
        yield plain
