"""Stores and candidates for tests: real SQLite files, real keys."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from sqlalchemy import Connection, func, inspect, select
from support.databases import url_of

import canonry
from canonry.canon.learned import LearnedRule
from canonry.canon.pipeline import merging_rules
from canonry.canon.policies import preset
from canonry.crawler.admission.scope import host_of
from canonry.crawler.learn.rules import rule_store
from canonry.storage import (
    Admission,
    Candidate,
    Hop,
    LeasedHost,
    Outcome,
    Page,
    Queued,
    State,
    Store,
)
from canonry.storage.rows import leases as rows
from canonry.storage.sql.schema import metadata, url_rows

MAKE = canonry.Canonicalizer("web")


def open_store(folder: Path, policy: str = "web", notify: list[str] | None = None) -> Store:
    """Open the store in a folder; its notices go to a list."""
    found = preset(policy)
    notices = [] if notify is None else notify
    return Store(
        url_of(folder),
        policy=found.label,
        fingerprint=found.fingerprint,
        merging_rules=partial(merging_rules, MAKE),
        notify=notices.append,
    )


def candidate(url: str, depth: int = 0, held: str | None = None) -> Candidate:
    """Return a URL as the URL filter would give it."""
    found = MAKE(url)
    return Candidate(found.url, url, found.key, host_of(found.url), depth, held=held)


def admit_names(store: Store, pages: int) -> None:
    """Admit three names of each of some pages of h.example, linked by the store's first URL."""
    for n in range(pages):
        page = f"http://h.example/p{n}"
        names = (page, f"{page}/", f"{page}?ref=1")
        store.admit([candidate(name)._replace(source=1, depth=1) for name in names], 1.0)


def hold_a_name(folder: Path) -> None:
    """Make a store of a page with two names, one of which a learned rule holds."""
    store = open_store(folder)
    admit_names(store, 1)
    rule = LearnedRule(host="h.example", family="trailing-slash", new="bare")
    with store.transaction() as connection:
        rule_store.import_rules(connection, [rule], MAKE, 3.0)
    store.close()


def visited(
    url_id: int,
    state: State,
    reason: str | None = None,
    *,
    page: Page | None = None,
    hops: Sequence[Hop] = (),
    retry_at: float | None = None,
) -> Outcome:
    """Return the outcome of a visit to the URL with an id."""
    queued = Queued(url_id, f"http://h/{url_id}", 0, 0, 0)
    return Outcome(queued, state, reason, page, tuple(hops), retry_at=retry_at)


def admit(store: Store, urls: Sequence[str], now: float = 0.0, depth: int = 0) -> list[Admission]:
    """Admit URLs."""
    return store.admit([candidate(url, depth) for url in urls], now)


def lease_names(connection: Connection, owner: str, limit: int = 100) -> set[str]:
    """Lease hosts inside a transaction, and return their names."""
    found = rows.lease(
        connection,
        owner,
        now=0.0,
        seconds=60,
        limit=limit,
        per_host=10,
        loaded={},
        level_by_level=False,
    )
    return {host.name for host in found}


def lease(
    store: Store,
    owner: str = "me",
    now: float = 0.0,
    loaded: dict[str, set[int]] | None = None,
    *,
    level_by_level: bool = False,
    per_host: int = 100,
) -> list[LeasedHost]:
    """Lease hosts for sixty seconds."""
    with store.transaction() as connection:
        return rows.lease(
            connection,
            owner,
            now=now,
            seconds=60,
            limit=10,
            per_host=per_host,
            loaded=loaded or {},
            level_by_level=level_by_level,
        )


def assert_counts_are_right(connection: Connection) -> None:
    """Count the rows, and compare them with the stored counts."""

    def counted(sql: str) -> dict[tuple[object, ...], int]:
        return {tuple(row[:-1]): row[-1] for row in connection.exec_driver_sql(sql) if row[-1]}

    kept = "SELECT name, reason, count FROM counts WHERE kind = '{}'"
    reason = "CASE WHEN state = 0 THEN '' ELSE coalesce(reason, '') END"  # why it waits is no count
    states = counted(f"SELECT state, {reason}, count(*) FROM urls GROUP BY 1, 2")  # noqa: S608 - ours
    assert counted(kept.format("urls")) == {
        (State(state).name.lower(), reason): n for (state, reason), n in states.items()
    }
    depths = counted("SELECT depth, count(*) FROM urls WHERE state = 0 GROUP BY 1")
    assert counted(kept.format("levels")) == {(str(depth), ""): n for (depth,), n in depths.items()}
    pending = counted("SELECT host_id, count(*) FROM urls WHERE state = 0 GROUP BY 1")
    assert counted("SELECT id, pending FROM hosts") == pending
    statuses = counted("SELECT status, count(*) FROM pages GROUP BY 1")
    assert counted(kept.format("pages")) == {(str(s), ""): n for (s,), n in statuses.items()}
    kinds = counted("SELECT kind, status, count(*) FROM aliases GROUP BY 1, 2")
    assert counted(kept.format("aliases")) == {(f"{k} {s}", ""): n for (k, s), n in kinds.items()}
    bodies = "SELECT count(*), count(DISTINCT digest) FROM pages WHERE status = 200 AND size > 0"
    number, distinct = connection.exec_driver_sql(bodies).one()
    repeated = {("repeated", ""): number - distinct} if number > distinct else {}
    assert counted(kept.format("bodies")) == repeated
    sizes = connection.exec_driver_sql("SELECT count(*), coalesce(max(id), 0) FROM hosts")
    assert len(set(sizes.one())) == 1, "ids count up from 1 without a gap"
    whole = (
        "SELECT count(*), count(urls.id), count(DISTINCT urls.id) "
        "FROM keys LEFT JOIN urls ON urls.id = url_id"
    )
    assert len(set(connection.exec_driver_sql(whole).one())) == 1, "each key has a URL of its own"


def faults_of(connection: Connection) -> list[str]:
    """Return what is wrong with a store's rows: ids of URLs that are not there, missing indexes."""
    found = []
    inspector = inspect(connection)
    for table in metadata.sorted_tables:
        if not table.primary_key:
            continue
        for column in table.columns:
            names_url = any(key.column.table is url_rows for key in column.foreign_keys)
            if column.info.get("url") or names_url:
                there = select(url_rows.c.id).where(url_rows.c.id == column)
                if table is url_rows:
                    other = url_rows.alias("other")
                    there = select(other.c.id).where(other.c.id == column)
                lost = select(func.count()).where(column.is_not(None), ~there.exists())
                if number := connection.scalar(lost):
                    found.append(f"{table.name}.{column.name}: {number} ids of no URL")
        known = {index["name"] for index in inspector.get_indexes(table.name)}
        mine = {
            str(index.name)
            for index in table.indexes
            if index._ddl_if is None or index._ddl_if.dialect == connection.dialect.name  # noqa: SLF001
        }
        found += [f"{table.name}: no index {name}" for name in sorted(mine - known)]
    return found


@contextmanager
def counted_steps(connection: Connection) -> Iterator[list[int]]:
    """Count the steps of SQLite's machine that statements take in a block, in tens."""
    raw = connection.connection.dbapi_connection
    assert raw is not None
    counted = [0]

    def count() -> None:
        counted[0] += 1

    raw.set_progress_handler(count, 10)
    yield counted
    raw.set_progress_handler(None, 0)
