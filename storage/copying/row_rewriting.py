"""Rows under another policy: new keys, one row for URLs that share a key now, and their aliases.

First every URL gets its new key in a work table of the new database. Of URLs that share one, the
best stays. Then the rows of all tables are copied as their columns say (`table_parts`): those of a
URL that is merged away go on with the one that stays, or go.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    LargeBinary,
    MetaData,
    Row,
    SmallInteger,
    Table,
    func,
    inspect,
    select,
    text,
    update,
)

from canonry.canon import Canonicalizer, InvalidURL, Refused
from canonry.storage.records import ORDINARY, TARGET, Candidate
from canonry.storage.rows import pages
from canonry.storage.rows.urls import columns_of, host_ids, raw_urls
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import (
    identity,
    insert_columns,
    insert_rows,
    join,
    next_id,
    rows_of,
)
from canonry.storage.sql.schema import aliases, keys, meta, url_rows
from canonry.storage.sql.tables.figure_tables import merges
from canonry.storage.sql.tables.guest_tables import requests
from canonry.storage.sql.tables.table_parts import FOLLOWS, RowId

_BATCH = 5_000  # rows in memory: the most that a killed process loses
GIVEN = frozenset({"redirect", "canonical"})  # kinds of aliases whose target was given as text
_work = MetaData()
new_keys = Table(
    "rekey_urls",
    _work,
    Column("url_id", RowId, primary_key=True, autoincrement=False),
    Column("key", LargeBinary(16), nullable=False, comment="under the new policy"),
    Column("rank", SmallInteger, nullable=False, comment="of URLs with one key, the first stays"),
)
merged = Table(
    "rekey_merged",
    _work,
    Column("old_id", RowId, primary_key=True, autoincrement=False),
    Column("new_id", RowId, nullable=False, comment="the URL that it becomes one with"),
)
# Of several URLs that become one, the first in this order stays: a page without an error, else a
# queued URL, so that no page is lost; then redirects, error pages, held and failed URLs.
_URLS = text("""
SELECT urls.id, urls.url, urls.raw_url,
    CASE WHEN urls.state = 1 AND coalesce(pages.status, 0) < 400 THEN 0 WHEN urls.state = 0 THEN 1
    WHEN urls.state = 2 THEN 2 WHEN urls.state = 1 THEN 3
    WHEN urls.state = 4 AND urls.reason <> 'learned' THEN 4 WHEN urls.state = 4 THEN 5 ELSE 6 END
    AS rank
FROM urls LEFT JOIN pages ON pages.url_id = urls.id
WHERE urls.id > :after ORDER BY urls.id LIMIT :most
""")
_MERGE = """
INSERT INTO rekey_merged (old_id, new_id)
SELECT url_id, one FROM (
    SELECT url_id, first_value(url_id) OVER (PARTITION BY key ORDER BY rank, url_id) AS one
    FROM rekey_urls
    WHERE key IN (SELECT key FROM rekey_urls GROUP BY key HAVING count(*) > 1)
) AS chosen WHERE url_id <> one
"""
_KEYS = """
INSERT INTO keys (key, url_id) SELECT key, url_id FROM rekey_urls
WHERE url_id NOT IN (SELECT old_id FROM rekey_merged) ORDER BY key
"""
# Tables in which two rows may meet that were none of one URL before: by what a target is now.
_MEETING = frozenset({aliases.name, merges.name, requests.name})


class Target(NamedTuple):
    """A target that becomes a URL of its own."""

    url: str  # to request
    host: str
    held: str | None  # the reason, if no crawl may fetch it


class NewPolicy(NamedTuple):
    """The policies of a change, and what the crawler contributes to it."""

    new: Canonicalizer
    old: Canonicalizer | None  # None: its file is not known
    read: Callable[[str], Target]  # what to request for a target that becomes a URL of its own
    merging_rules: Callable[[str, str], str]  # the rules that merge two raw URLs
    check: Callable[[Connection], None]  # raises if a crawl uses the store
    learned: Callable[[Connection], None]  # applies learned rules to the new keys


class Rewriting:
    """Writes the rows of a store under another policy.

    Attributes:
        label: the policy, with its fingerprint.
        changed: once all is written, how many URLs there were, how many were merged away, and how
            many targets of aliases became URLs of their own.
    """

    def __init__(self, reading: Connection, plan: NewPolicy) -> None:
        """Bind the store, which is only read, and the change."""
        self._reading = reading
        self._plan = plan
        policy = plan.new.policy
        self.label = f"{policy.label} {policy.fingerprint}"
        self.changed = (0, 0, 0)

    def passes(self, table: Table) -> tuple[bool, ...]:
        """Return how often a table is read: the rows of URLs that were merged away come last."""
        is_again = any(column.info == FOLLOWS for column in identity(table))
        return (False, True) if is_again else (False,)

    @staticmethod
    def drop_work(connection: Connection) -> None:
        """Drop the work tables."""
        _work.drop_all(connection)

    def prepare(self, new: Engine) -> Iterator[tuple[int, int]]:
        """Make all keys; yield how many were made now, and how many an earlier try had made."""
        with new.begin() as connection:
            new_keys.create(connection, checkfirst=True)
            known = connection.scalar(select(func.count()).select_from(new_keys)) or 0
            is_done = inspect(connection).has_table(merged.name)
        yield 0, known
        while not is_done:
            with new.begin() as connection:
                number = fill(self._reading, connection, self._plan)
                is_done = not number
                if is_done:
                    index(connection)
                    merged.create(connection)
                    connection.exec_driver_sql(_MERGE)
                    connection.exec_driver_sql(_KEYS)
            yield number, 0

    def put(
        self,
        connection: Connection,
        table: Table,
        rows: Sequence[tuple[Any, ...]],
        *,
        again: bool,
    ) -> None:
        """Write rows of a table: of URLs that stay, or again, of those that are merged away."""
        columns = [column.name for column in table.columns]
        urls_at = [n for n, column in enumerate(table.columns) if "url" in column.info]
        own_at = {columns.index(column.name) for column in identity(table)}
        url_ids = {row[n] for row in rows for n in urls_at if row[n] is not None}
        survivors = survivors_of(connection, url_ids)
        written = []
        for row in rows:
            moved = [n for n in urls_at if row[n] in survivors]
            is_merged = not own_at.isdisjoint(moved)
            if is_merged and any(table.columns[columns[n]].info != FOLLOWS for n in moved):
                continue
            if is_merged == again:
                values = list(row)
                for n in moved:
                    values[n] = survivors[row[n]]
                written.append(tuple(values))
        made = self._made(connection, table, columns, written)
        if table is url_rows and again:
            self._tally(connection, [row[0] for row in rows if row[0] in survivors], survivors)
        if again or table.name in _MEETING:
            join(connection, table, [dict(zip(columns, row, strict=True)) for row in made])
        else:
            insert_rows(connection, table, columns, made)

    def _made(
        self,
        connection: Connection,
        table: Table,
        columns: Sequence[str],
        rows: Sequence[tuple[Any, ...]],
    ) -> list[tuple[Any, ...]]:
        """Return rows with what else the policy makes of them."""
        if table not in {aliases, requests, url_rows}:
            return list(rows)
        found = [dict(zip(columns, row, strict=True)) for row in rows]
        if table is requests:
            for one in found:
                if (old := one["key"]) is not None:  # a plain GET
                    key = key_of(self._plan.new, one["url"])
                    same = [n for n in ("key", "fingerprint", "claim") if one[n] == old]
                    one.update(dict.fromkeys(same, key))
        elif table is url_rows:
            for one in found:
                if one["source_id"] == one["id"]:
                    one["source_id"] = None
        else:
            self._lead(connection, found)
            found = [o for o in found if o["kind"] != "rule" or o["from_id"] != o["to_id"]]
        return [tuple(one.values()) for one in found]

    def _lead(self, connection: Connection, edges: Sequence[dict[str, Any]]) -> None:
        """Let aliases lead to the URLs that their targets are now; new ones get a row."""
        given = [edge for edge in edges if edge["kind"] in GIVEN]
        made = targets_of(self._plan.new, [edge["target_url"] for edge in given])
        pairs = [(edge, key) for edge, key in zip(given, made, strict=True) if key is not None]
        known = url_ids_of_keys(connection, list({key for _edge, key in pairs}))
        unknown: dict[bytes, dict[str, Any]] = {}
        for edge, key in pairs:
            if key not in known:
                unknown.setdefault(key, edge)
        if unknown:
            known |= self._split(connection, unknown)
        for edge, key in pairs:
            edge["to_id"] = known[key]

    def _split(
        self, connection: Connection, edges: Mapping[bytes, Mapping[str, Any]]
    ) -> dict[bytes, int]:
        """Give a row to targets that are no known URL under the new policy; return their ids.

        The old policy merged them with known URLs, so they were never fetched: they are queued.
        """
        sources = [edge["from_id"] for edge in edges.values()]
        question = "SELECT id, depth, hops FROM url_rows WHERE id"
        places = {url_id: at for url_id, *at in rows_of(connection, question, sources)}
        targets = [self._plan.read(edge["target_url"]) for edge in edges.values()]
        hosts = host_ids(connection, dict.fromkeys(target.host for target in targets))
        first = max(next_id(connection, url_rows), next_id(self._reading, url_rows))
        new = []
        for at, (target, (key, edge)) in enumerate(zip(targets, edges.items(), strict=True), first):
            depth, hops = places[edge["from_id"]]
            redirected = edge["kind"] == "redirect"
            candidate = Candidate(
                url=target.url,
                raw_url=edge["target_url"],
                key=key,
                host=target.host,
                depth=depth,
                hops=hops + redirected,
                source=edge["from_id"],
                held=target.held,
                priority=ORDINARY + TARGET * redirected,
            )
            new.append((candidate, at))
        times = [edge["first_seen"] for edge in edges.values()]
        insert_columns(connection, url_rows, columns_of(new, hosts, times))
        insert_rows(connection, keys, ("key", "url_id"), [(c.key, at) for c, at in new])
        return {candidate.key: at for candidate, at in new}

    def _tally(
        self, connection: Connection, old: Iterable[int], survivors: Mapping[int, int]
    ) -> None:
        """Count URLs that are merged away as merged links, by the rules that merge them."""
        ids = list(old)
        texts = raw_urls(self._reading, {*ids, *(survivors[one] for one in ids)})
        tally = pages.Tally()
        for one in ids:
            raw_url, same_as = texts[one], texts[survivors[one]]
            if rules := self._plan.merging_rules(raw_url, same_as):
                tally.add(rules, raw_url, same_as)
        pages.put_merges(connection, tally)

    def finish(self, connection: Connection) -> None:
        """Count again, write the new policy, and apply learned rules to the new keys."""
        before, gone, now = (
            connection.scalar(select(func.count()).select_from(table)) or 0
            for table in (new_keys, merged, url_rows)
        )
        self.changed = before, gone, now - (before - gone)
        counts.remake(connection)
        policy = self._plan.new.policy
        for name, value in (("policy", policy.label), ("fingerprint", policy.fingerprint)):
            connection.execute(update(meta).where(meta.c.name == name).values(value=value))
        self._plan.learned(connection)
        self.drop_work(connection)


def survivors_of(connection: Connection, url_ids: Iterable[int]) -> dict[int, int]:
    """Return for those of some URLs that are merged away the ids of the URLs that stay."""
    question = "SELECT old_id, new_id FROM rekey_merged WHERE old_id"
    return dict(rows_of(connection, question, sorted(url_ids)))


def fill(source: Connection, work: Connection, plan: NewPolicy) -> int:
    """Write the new keys of the next URLs; return how many there were, 0 at the end.

    Args:
        source: to the store.
        work: to the database of the work table.
        plan: the change.
    """
    after = work.scalar(select(func.max(new_keys.c.url_id))) or 0
    rows = source.execute(_URLS, {"after": after, "most": _BATCH}).all()
    texts = _texts(source, rows, plan)
    found = plan.new.many(texts)
    made = [
        (row.id, key_of(plan.new, text) if isinstance(one, Refused) else one.key, row.rank)
        for row, text, one in zip(rows, texts, found, strict=True)
    ]
    insert_rows(work, new_keys, ("url_id", "key", "rank"), made)
    return len(rows)


def index(work: Connection) -> None:
    """Index the keys once all are inserted: before that, it takes several times as long."""
    work.exec_driver_sql("CREATE INDEX IF NOT EXISTS rekey_urls_by_key ON rekey_urls (key)")


def targets_of(make: Canonicalizer, target_urls: Sequence[str]) -> list[bytes | None]:
    """Return the keys of the targets of aliases; None for those that are no URL."""
    return [None if isinstance(found, Refused) else found.key for found in make.many(target_urls)]


def key_of(make: Canonicalizer, text: str) -> bytes:
    """Return the key of a text; a text without a canonical form is its own identity."""
    try:
        return make(text).key
    except InvalidURL:
        return make.key_of(text)


def _texts(
    connection: Connection, rows: Sequence[Row[*tuple[Any, ...]]], plan: NewPolicy
) -> list[str]:
    """Return the texts from which the keys of URLs were made.

    Mostly that is the URL. But a policy may keep fragments, or read what browsers repair; then the
    key can be that of the raw URL. The text whose old key leads to the URL is the right one.
    """
    texts = [row.url for row in rows]
    old = plan.old
    if old is not None and old.policy.dialect == "whatwg" and "fragment" in old.policy.practice:
        return texts
    for place, row in enumerate(rows):
        if row.raw_url is not None:
            texts[place] = _source(connection, row.id, row.url, row.raw_url, plan)
    return texts


def _source(connection: Connection, url_id: int, url: str, raw_url: str, plan: NewPolicy) -> str:
    """Return the text from which the key of one URL was made."""
    if plan.old is None:  # the raw URL counts if the new policy requests the URL for it
        found = next(iter(plan.new.many([raw_url])))
        return url if isinstance(found, Refused) or found.url != url else raw_url
    by_key = {key_of(plan.old, text): text for text in (raw_url.partition("#")[0], raw_url, url)}
    known = url_ids_of_keys(connection, list(by_key))
    return next((by_key[key] for key, at in known.items() if at == url_id), url)
