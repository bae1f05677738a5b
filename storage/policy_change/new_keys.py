"""New keys of every known URL and of every alias target, and new ends for aliases."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, Row, bindparam, func, inspect, select, update

from canonry.canon import Canonicalizer, InvalidURL, Refused
from canonry.storage.policy_change import worktables
from canonry.storage.requests.request_tables import requests
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql.bulk import insert_rows
from canonry.storage.sql.schema import aliases, urls

_BATCH = 5_000  # rows in memory: the most that a killed process loses
GIVEN_KINDS = ("redirect", "canonical")  # of aliases whose target was given as text
# The new ends of each edge: the target by the key of its text, then both ends by merged rows.
_MOVED = """
INSERT INTO rekey_edges (id, from_id, to_id, kind, status)
SELECT id, new_from, new_to, kind, status FROM (
    SELECT id, kind, status, from_id, to_id,
        coalesce((SELECT new_id FROM rekey_merged WHERE old_id = from_id), from_id) AS new_from,
        coalesce((SELECT new_id FROM rekey_merged WHERE old_id = given), given) AS new_to
    FROM (
        SELECT aliases.id, kind, status, from_id, aliases.to_id, coalesce(
            (SELECT min(rekey_urls.url_id) FROM rekey_links
             JOIN rekey_urls ON rekey_urls.key = rekey_links.key
             WHERE rekey_links.alias_id = aliases.id),
            aliases.to_id) AS given
        FROM aliases
    ) AS by_text
) AS by_row
WHERE new_from <> from_id OR new_to <> to_id
"""
# The edge of a rule is needless once both its ends are one row.
_SELF = "SELECT id FROM rekey_edges WHERE kind = 'rule' AND from_id = to_id"
_MET = """
INSERT INTO rekey_edges (id, from_id, to_id, kind, status)
SELECT aliases.id, aliases.from_id, aliases.to_id, aliases.kind, aliases.status FROM aliases
JOIN (SELECT DISTINCT from_id, to_id, kind, status FROM rekey_edges) AS moved
ON moved.from_id = aliases.from_id AND moved.to_id = aliases.to_id
AND moved.kind = aliases.kind AND moved.status = aliases.status
WHERE aliases.id NOT IN (SELECT id FROM rekey_edges)
"""
_JOIN = """
INSERT INTO rekey_joined (id, from_id, to_id, first_seen, last_seen, count)
SELECT min(aliases.id), rekey_edges.from_id, rekey_edges.to_id,
    min(first_seen), max(last_seen), sum(count)
FROM rekey_edges JOIN aliases ON aliases.id = rekey_edges.id
GROUP BY rekey_edges.from_id, rekey_edges.to_id, rekey_edges.kind, rekey_edges.status
"""
_GONE = """
DELETE FROM aliases WHERE id IN (SELECT id FROM rekey_edges)
AND id NOT IN (SELECT id FROM rekey_joined)
"""
# In two steps: an edge may take the place of another that moves, too.
_LIFT = "UPDATE aliases SET from_id = -id WHERE id IN (SELECT id FROM rekey_joined)"
_SET = """
UPDATE aliases SET from_id = rekey_joined.from_id, to_id = rekey_joined.to_id,
    first_seen = rekey_joined.first_seen, last_seen = rekey_joined.last_seen,
    count = rekey_joined.count
FROM rekey_joined WHERE rekey_joined.id = aliases.id
"""


class Policies(NamedTuple):
    """The policies of a change, each as its canonicalizer."""

    new: Canonicalizer
    old: Canonicalizer | None  # None: its file is not known


def fill_urls(source: Connection, work: Connection, policies: Policies, most: int = _BATCH) -> int:
    """Write the new keys of the next URLs; return how many there were, 0 at the end.

    Args:
        source: to the store.
        work: to the database of the work tables; the store, or another.
        policies: the old one and the new one.
        most: URLs at a time.
    """
    done = work.scalar(select(func.max(worktables.new_keys.c.url_id))) or 0
    query = select(urls.c.id, urls.c.url, urls.c.spelling).where(urls.c.id > done)
    rows = source.execute(query.order_by(urls.c.id).limit(most)).all()
    texts = _texts(source, rows, policies)
    keys = [key_of(policies.new, text) for text in texts]
    found = [(row.id, key) for row, key in zip(rows, keys, strict=True)]
    insert_rows(work, worktables.new_keys, ("url_id", "key"), found)
    return len(rows)


def rekey_requests(connection: Connection, policies: Policies) -> None:
    """Give the waiting requests of other crawlers the keys of the new policy."""
    if not inspect(connection).has_table(requests.name):
        return
    query = select(requests.c.id, requests.c.url).where(requests.c.key.is_not(None))
    query = query.order_by(requests.c.id).limit(_BATCH)
    new = update(requests).where(requests.c.id == bindparam("row"))
    new = new.values(key=bindparam("made"))
    after = 0
    while rows := connection.execute(query.where(requests.c.id > after)).all():
        after = rows[-1].id
        made = [{"row": row.id, "made": key_of(policies.new, row.url)} for row in rows]
        connection.execute(new, made)


def key_of(make: Canonicalizer, text: str) -> bytes:
    """Return the key of a text; a text without a canonical form is its own identity."""
    try:
        return make(text).key
    except InvalidURL:
        return make.key_of(text)


def _texts(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], policies: Policies
) -> list[str]:
    """Return the texts from which the keys of URLs were made.

    Mostly that is the URL. But a policy may keep fragments, or read what browsers repair; then the
    key can be that of the spelling. The text whose old key leads to the URL is the right one.
    """
    texts = [row.url for row in rows]
    old = policies.old
    if old is not None and old.policy.dialect == "whatwg" and "fragment" in old.policy.practice:
        return texts
    for place, row in enumerate(rows):
        if row.spelling is not None:
            texts[place] = _source(connection, row.id, row.url, row.spelling, policies)
    return texts


def _source(
    connection: Connection, url_id: int, url: str, spelling: str, policies: Policies
) -> str:
    """Return the text from which the key of one URL was made."""
    if policies.old is None:  # the spelling counts if the new policy requests the URL for it
        found = next(iter(policies.new.many([spelling])))
        return url if isinstance(found, Refused) or found.url != url else spelling
    by_key = {
        key_of(policies.old, text): text for text in (spelling.partition("#")[0], spelling, url)
    }
    known = url_ids_of_keys(connection, list(by_key))
    return next((by_key[key] for key, at in known.items() if at == url_id), url)


def fill_links(source: Connection, work: Connection, policies: Policies, most: int = _BATCH) -> int:
    """Write the new keys of the next targets; return how many there were, 0 at the end."""
    done = work.scalar(select(func.max(worktables.links.c.alias_id))) or 0
    query = select(aliases.c.id, aliases.c.to_id, aliases.c.located).where(
        aliases.c.id > done, aliases.c.kind.in_(GIVEN_KINDS)
    )
    rows = source.execute(query.order_by(aliases.c.id).limit(most)).all()
    found = zip(rows, policies.new.many([row.located for row in rows]), strict=True)
    keyed = [(row.id, row.to_id, None if isinstance(f, Refused) else f.key) for row, f in found]
    insert_rows(work, worktables.links, ("alias_id", "to_id", "key"), keyed)
    return len(rows)


def fill(
    step: Callable[[Callable[[Connection, Connection, Policies], int]], int],
) -> Iterator[int]:
    """Yield the number of URLs done so far, step by step, until all keys are made.

    Args:
        step: runs `fill_urls` or `fill_links` in a transaction of its own.
    """
    done = 0
    while number := step(fill_urls):
        done += number
        yield done
    while step(fill_links):
        yield done


def move(connection: Connection) -> None:
    """Let all edges lead from and to the rows that remain after the change.

    Args:
        connection: in the transaction of the change, before rows are deleted.
    """
    connection.exec_driver_sql(_MOVED)
    connection.exec_driver_sql(f"DELETE FROM aliases WHERE id IN ({_SELF})")  # noqa: S608 - ours
    connection.exec_driver_sql("DELETE FROM rekey_edges WHERE kind = 'rule' AND from_id = to_id")
    for statement in (_MET, _JOIN, _GONE, _LIFT, _SET):
        connection.exec_driver_sql(statement)
