"""The last step of a policy change: it replaces rows and keys in one transaction."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, Select, case, delete, func, insert, inspect, select, update

from canonry.storage.http_status import OK
from canonry.storage.policy_change import new_keys, worktables
from canonry.storage.records import ORDINARY, TARGET, Candidate
from canonry.storage.rows.urls import columns_of, host_ids
from canonry.storage.sql import counts as counted
from canonry.storage.sql.bulk import insert_columns, insert_rows, next_id
from canonry.storage.sql.schema import (
    State,
    aliases,
    classes,
    hosts,
    keys,
    meta,
    pages,
    url_rows,
    urls,
)
from canonry.storage.sql.tables.figure_tables import counts, exports, members

_BATCH = 10_000

# Of several URLs that become one, the first in this order stays: a page without an error, else a
# queued URL, so that no page is lost; then redirects, error pages, held and failed URLs.
_RANK = """
CASE WHEN urls.state = 1 AND coalesce(pages.status, 0) < 400 THEN 0 WHEN urls.state = 0 THEN 1
WHEN urls.state = 2 THEN 2 WHEN urls.state = 1 THEN 3
WHEN urls.state = 4 AND urls.reason <> 'learned' THEN 4 WHEN urls.state = 4 THEN 5 ELSE 6 END
"""
_MERGE = f"""
INSERT INTO rekey_merged (old_id, new_id)
SELECT url_id, one FROM (
    SELECT rekey_urls.url_id, first_value(rekey_urls.url_id) OVER (
        PARTITION BY rekey_urls.key ORDER BY {_RANK}, rekey_urls.url_id) AS one
    FROM rekey_urls JOIN urls ON urls.id = rekey_urls.url_id
    LEFT JOIN pages ON pages.url_id = urls.id
    WHERE rekey_urls.key IN (SELECT key FROM rekey_urls GROUP BY key HAVING count(*) > 1)
) AS chosen WHERE url_id <> one
"""  # noqa: S608 - no values of others
# The row that stays gets the shortest path from a seed to any of the merged rows.
_BEST = """
INSERT INTO rekey_best (one, depth, hops, source_id, found_at, priority)
SELECT one, depth, hops, source_id, earliest, first FROM (
    SELECT members.one, urls.depth, urls.hops, urls.source_id,
        row_number() OVER (PARTITION BY members.one ORDER BY depth, hops, urls.id) AS place,
        min(urls.found_at) OVER (PARTITION BY members.one) AS earliest,
        min(CASE WHEN urls.state = 0 THEN urls.priority END) OVER (PARTITION BY members.one)
            AS first
    FROM (SELECT new_id AS one, old_id AS id FROM rekey_merged
          UNION SELECT new_id, new_id FROM rekey_merged) AS members
    JOIN urls ON urls.id = members.id
) AS ranked WHERE place = 1
"""
_TAKE_BEST = """
UPDATE url_rows SET depth = rekey_best.depth, hops = rekey_best.hops,
    source_id = rekey_best.source_id, found_at = rekey_best.found_at,
    priority = CASE WHEN url_rows.state = 0 THEN coalesce(rekey_best.priority, url_rows.priority)
        ELSE url_rows.priority END
FROM rekey_best WHERE rekey_best.one = url_rows.id
"""
_CLEAN = (
    "DELETE FROM pages WHERE url_id IN (SELECT old_id FROM rekey_merged)",
    """UPDATE url_rows SET source_id = (SELECT new_id FROM rekey_merged WHERE old_id = source_id)
    WHERE source_id IN (SELECT old_id FROM rekey_merged)""",
    "UPDATE url_rows SET source_id = NULL WHERE source_id = id",
    "DELETE FROM url_rows WHERE id IN (SELECT old_id FROM rekey_merged)",
)
_FORGET = "DELETE FROM {} WHERE url_id IN (SELECT old_id FROM rekey_merged)"
_MOVE_REQUESTS = """
UPDATE requests SET url_id = (SELECT new_id FROM rekey_merged WHERE old_id = url_id)
WHERE url_id IN (SELECT old_id FROM rekey_merged)
"""
_KEPT = frozenset(
    {"requests", "pages", "keys"}
)  # tables with ids of URLs that are not just deleted
_KEYS = """
INSERT INTO keys (key, url_id)
SELECT key, url_id FROM rekey_urls
WHERE url_id NOT IN (SELECT old_id FROM rekey_merged) ORDER BY key
"""
_KINDS = ("urls", "levels", "pages", "aliases", "bodies", counted.RESERVED)


class Target(NamedTuple):
    """A target that becomes a URL of its own."""

    url: str  # to request
    host: str
    held: str | None  # the reason, if no crawl may fetch it


Read = Callable[[str], Target]  # from the text of a URL to its target


class MergedURL(NamedTuple):
    """A URL that is merged into another, as both were first written."""

    spelling: str
    same_as: str


def split(connection: Connection, read: Read) -> int:
    """Give a row to each alias target that is no known URL under the new policy.

    The old policy merged it with a known URL, so it was never fetched: it joins the queue.

    Args:
        connection: in the transaction of the change.
        read: returns what to request for the text of a target.

    Returns:
        How many there were.
    """
    found = 0
    while rows := connection.execute(_unknown_targets(_BATCH)).all():
        found += _add(connection, rows, read)
    return found


def _unknown_targets(most: int) -> Select[Any]:
    """Return the query for keys of targets that no row has, each with its first alias."""
    links, new_keys = worktables.links, worktables.new_keys
    known = select(new_keys.c.key).where(new_keys.c.key == links.c.key)
    query = select(links.c.key, func.min(links.c.alias_id).label("alias_id"))
    query = query.join(aliases, aliases.c.id == links.c.alias_id)
    return query.where(links.c.key.is_not(None), ~known.exists()).group_by(links.c.key).limit(most)


def _add(
    connection: Connection, unknown_targets: Sequence[Row[*tuple[Any, ...]]], read: Read
) -> int:
    """Insert the rows of targets, and their keys."""
    by_alias = {row.alias_id: bytes(row.key) for row in unknown_targets}
    query = select(
        *(aliases.c.id, aliases.c.located, aliases.c.kind, aliases.c.from_id, aliases.c.first_seen),
        *(urls.c.depth, urls.c.hops),
    ).join(urls, urls.c.id == aliases.c.from_id)
    rows: list[Row[*tuple[Any, ...]]] = []
    for start in range(0, len(unknown_targets), 500):
        some = [row.alias_id for row in unknown_targets[start : start + 500]]
        rows += connection.execute(query.where(aliases.c.id.in_(some))).all()
    new = [(row, read(row.located)) for row in rows]
    ids = host_ids(connection, dict.fromkeys(target.host for _row, target in new))
    first = next_id(connection, url_rows)
    targets = []
    for at, (row, target) in enumerate(new, first):
        redirected = row.kind == "redirect"
        candidate = Candidate(
            url=target.url,
            spelling=row.located,
            key=by_alias[row.id],
            host=target.host,
            depth=row.depth,
            hops=row.hops + redirected,
            source=row.from_id,
            held=target.held,
            priority=ORDINARY + TARGET * redirected,
        )
        targets.append((candidate, at))
    insert_columns(connection, url_rows, columns_of(targets, ids, [row.first_seen for row in rows]))
    new_rows = [(at, candidate.key) for candidate, at in targets]
    insert_rows(connection, worktables.new_keys, ("url_id", "key"), new_rows)
    return len(new)


def merge(connection: Connection) -> int:
    """Find the URLs that are merged into another; return how many there are."""
    connection.exec_driver_sql(_MERGE)
    return connection.scalar(select(func.count()).select_from(worktables.merged)) or 0


def pairs(connection: Connection) -> Iterator[MergedURL]:
    """Yield the URLs that are merged into another, before their rows are deleted."""
    old, survivor = urls.alias("old"), urls.alias("one")
    last_id = 0
    while True:
        query = (
            select(
                worktables.merged.c.old_id,
                func.coalesce(old.c.spelling, old.c.url).label("spelling"),
                func.coalesce(survivor.c.spelling, survivor.c.url).label("same_as"),
            )
            .join(old, old.c.id == worktables.merged.c.old_id)
            .join(survivor, survivor.c.id == worktables.merged.c.new_id)
            .where(worktables.merged.c.old_id > last_id)
            .order_by(worktables.merged.c.old_id)
        )
        rows = connection.execute(query.limit(_BATCH)).all()
        if not rows:
            return
        yield from (MergedURL(row.spelling, row.same_as) for row in rows)
        last_id = rows[-1].old_id


def apply(connection: Connection, policy: str, fingerprint: str) -> None:
    """Write the new keys, and merge rows; delete learned classes and the export log.

    Args:
        connection: in a transaction that holds the write lock, in which `merge` has run.
        policy: ``name/version`` of the new policy.
        fingerprint: of its content.
    """
    connection.exec_driver_sql(_BEST)
    new_keys.move(connection)
    connection.exec_driver_sql(_TAKE_BEST)
    for table in (classes, exports, members):  # readers of exports start again: clusters changed
        connection.execute(delete(table))
    _forget_merged(connection)
    for statement in _CLEAN:
        connection.exec_driver_sql(statement)
    connection.execute(delete(keys))
    connection.exec_driver_sql(_KEYS)
    recount(connection)
    for name, value in (("policy", policy), ("fingerprint", fingerprint)):
        connection.execute(update(meta).where(meta.c.name == name).values(value=value))


def _forget_merged(connection: Connection) -> None:
    """Delete what any table says of URLs that are merged away: their ids may be given again."""
    inspector = inspect(connection)
    tables = {
        name: {column["name"] for column in inspector.get_columns(name)}
        for name in inspector.get_table_names()
    }
    if "requests" in tables:  # they go on with the URL that stays
        connection.exec_driver_sql(_MOVE_REQUESTS)
    for name in tables.keys() - _KEPT:
        if "url_id" in tables[name] and not name.startswith("rekey_"):
            connection.exec_driver_sql(_FORGET.format(name))


def recount(connection: Connection) -> None:
    """Count all URLs, pages and aliases, and the queued URLs of each host.

    Args:
        connection: in a writing transaction.
    """
    numbers: dict[counted.Counted, int] = {}
    reason = case((urls.c.state == State.QUEUED, ""), else_=func.coalesce(urls.c.reason, ""))
    by_state = select(urls.c.state, reason.label("why"), func.count()).group_by("state", "why")
    for state, why, number in connection.execute(by_state):
        numbers[counted.url(State(state), why)] = number
    queued = urls.c.state == State.QUEUED
    by_depth = select(urls.c.depth, func.count()).where(queued).group_by(urls.c.depth)
    numbers |= {counted.level(depth): number for depth, number in connection.execute(by_depth)}
    by_status = select(pages.c.status, func.count()).group_by(pages.c.status)
    numbers |= {counted.page(status): number for status, number in connection.execute(by_status)}
    kind = aliases.c.kind, aliases.c.status
    by_kind = select(*kind, func.count()).group_by(*kind)
    numbers |= {counted.alias(*group): number for *group, number in connection.execute(by_kind)}
    with_body = pages.c.status == OK, pages.c.size > 0
    bodies = select(func.count(), func.count(pages.c.digest.distinct())).where(*with_body)
    number, distinct = connection.execute(bodies).one()
    numbers[counted.REPEATED] = number - distinct
    by_uses = select(pages.c.use_reserved, func.count()).group_by(pages.c.use_reserved)
    for uses, number in connection.execute(by_uses):
        for use in counted.reserved(uses):
            numbers[use] = numbers.get(use, 0) + number
    connection.execute(delete(counts).where(counts.c.kind.in_(_KINDS)))
    rows = [{**key._asdict(), "count": number} for key, number in numbers.items() if number]
    if rows:
        connection.execute(insert(counts), rows)
    pending = select(func.count()).where(urls.c.host_id == hosts.c.id, queued)
    connection.execute(update(hosts).values(pending=pending.scalar_subquery()))
