"""Classes: URLs that learned rules merge. One of them is fetched and represents the others.

A URL that is held because of a rule keeps a row and a key of its own. So nothing is lost when a
rule turns out to be wrong: what it held goes back to the queue.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, select

from canonry.canon.pipeline import Rewritten
from canonry.storage.http_status import FIRST_ERROR, OK
from canonry.storage.learned import deferral
from canonry.storage.learned.rule_rows import add_spared
from canonry.storage.records import ALIAS, ORDINARY, UNREAD, Candidate
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows, chunks, insert_rows, put, rows_of
from canonry.storage.sql.schema import State, aliases, classes, hosts, url_rows
from canonry.storage.sql.transitions import QUEUED, Transition

LEARNED = "learned"  # the reason of URLs that rules hold
HELD = (State.HELD, LEARNED)
_MAY_REPRESENT = frozenset({int(State.QUEUED), int(State.FETCHED), int(State.REDIRECTED)})
_EDGE = ("from_id", "to_id", "kind", "status", "target_url", "first_seen", "last_seen", "count")
_RELEASED = (
    f"SELECT id, host_id, depth, priority FROM url_rows WHERE state = {int(State.HELD)} "  # noqa: S608 - ours
    f"AND reason = '{LEARNED}' AND id"
)
_DELETE_EDGES = "DELETE FROM aliases WHERE kind = 'rule' AND from_id"


class RuleSource(Protocol):
    """What the store needs of learned rules."""

    def refresh(self, connection: Connection) -> None:
        """Load rules that have changed in the store."""
        ...

    def forget(self) -> None:
        """Forget what came from a transaction that was rolled back."""
        ...

    def rewrite(self, url: str) -> Rewritten | None:
        """Return what active rules make of a URL; None if no rule is about its host."""
        ...

    def choose_as_test(self, rewritten: Rewritten, now: float) -> bool:
        """Return True if a URL is fetched to check the rules that could spare it."""
        ...

    def is_gone(self, rewritten: Rewritten) -> bool:
        """Return True if a page need not be looked for under more names: too many were gone."""
        ...


class HeldURL(NamedTuple):
    """A URL that is held because another one represents it."""

    url_id: int
    same_as: int
    rewritten: Rewritten


class Placement(NamedTuple):
    """What rules say about new URLs."""

    held: list[HeldURL]  # new URLs
    deferred: set[int]  # ids of new URLs that are requested later
    replaced: list[HeldURL]  # queued representatives that new URLs replace


def place(
    connection: Connection,
    new: Sequence[tuple[Candidate, int]],
    rules: RuleSource,
    now: float,
    host_ids: Callable[[str], int],
) -> Placement:
    """Find the new URLs whose page is fetched, or queued, under another URL.

    The first URL of a class represents it. If rules change that URL, it is deferred; a URL that
    fewer rules change replaces it, if one is found in time.

    A URL that failed no longer represents its class: the next URL does, unless several were gone.

    Seeds and targets of redirects are never held or deferred: seeds were asked for, and a redirect
    leads to the page itself. One exception: the target of a temporary redirect is held if rules
    change it and its representative was fetched. Else each members-only page could add a login URL.

    Args:
        connection: in a transaction with the write lock that has inserted the keys, not the rows.
        new: candidates and the ids of their URLs, in order.
        rules: the rules.
        now: seconds since 1970.
        host_ids: from a host's name to its id.
    """
    placed = Placement([], set(), [])
    rewritten_urls = [
        (candidate, url_id, rewritten)
        for candidate, url_id in new
        if candidate.held is None and (rewritten := rules.rewrite(candidate.url))
    ]
    if not rewritten_urls:
        return placed
    wanted = list({rewritten.key for _candidate, _url_id, rewritten in rewritten_urls})
    representatives = dict(rows_of(connection, "SELECT key, url_id FROM classes WHERE key", wanted))
    changed = list(
        {rewritten.key for _candidate, _url_id, rewritten in rewritten_urls if rewritten.rules}
    )
    ids_by_key = url_ids_of_keys(connection, changed)
    alive_urls = alive_among(connection, {*representatives.values(), *ids_by_key.values()})
    alive = {*alive_urls, *(url_id for candidate, url_id in new if candidate.held is None)}
    new_representatives: dict[bytes, tuple[int, int]] = {}
    for candidate, url_id, rewritten in sorted(rewritten_urls, key=lambda one: len(one[2].rules)):
        representative: int | None = representatives.get(
            rewritten.key, ids_by_key.get(rewritten.key) if rewritten.rules else None
        )
        if representative is None and not rewritten.rules:
            continue
        is_linked = (candidate.listed or candidate.source is not None) and not candidate.hops
        if (
            representative in alive_urls
            and alive_urls[representative].is_deferred
            and candidate.source != representative
        ):
            other = rules.rewrite(alive_urls[representative].url)
            if other is not None and len(rewritten.rules) < len(other.rules):
                placed.replaced.append(HeldURL(representative, url_id, other))
                representative = None
        dead = (
            representative is not None
            and representative not in alive
            and not rules.is_gone(rewritten)
        )
        is_page = representative in alive_urls and alive_urls[representative].is_page
        is_temporary_target = candidate.is_temporary and is_page and bool(rewritten.rules)
        if representative is None or dead or (candidate.hops and not is_temporary_target):
            representatives[rewritten.key] = url_id
            new_representatives[rewritten.key] = url_id, host_ids(candidate.host)
            if is_linked and _may_wait(candidate, rewritten, rules, now):
                placed.deferred.add(url_id)
        elif (is_linked or is_temporary_target) and not rules.choose_as_test(rewritten, now):
            placed.held.append(HeldURL(url_id, representative, rewritten))
            alive.discard(url_id)
    represent(connection, new_representatives)
    return placed


def represent(connection: Connection, by_key: Mapping[bytes, tuple[int, int]]) -> None:
    """Make URLs the representatives of classes.

    Args:
        connection: in a writing transaction.
        by_key: by the key of each class, the id of its URL and that of the URL's host.
    """
    rows = [
        {"key": key, "url_id": url_id, "host_id": host_id}
        for key, (url_id, host_id) in sorted(by_key.items())
    ]
    put(connection, classes, rows)


class AliveURL(NamedTuple):
    """A URL that may represent others."""

    url: str
    is_deferred: bool  # it is queued, and another name of its page is preferred
    is_page: bool  # it was fetched


def alive_among(connection: Connection, url_ids: Collection[int]) -> dict[int, AliveURL]:
    """Return by id the URLs that may represent: queued, redirected, or fetched without error."""
    question = (
        "SELECT urls.id, urls.url, urls.state, urls.priority, pages.status FROM urls "
        "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
    )
    return {
        url_id: AliveURL(url, state == State.QUEUED and priority == ALIAS, state == State.FETCHED)
        for url_id, url, state, priority, status in rows_of(connection, question, list(url_ids))
        if state in _MAY_REPRESENT and (status is None or status < FIRST_ERROR)
    }


def alive_url_ids(connection: Connection, url_ids: Collection[int]) -> set[int]:
    """Return just the ids that `alive_among` would return."""
    question = (
        "SELECT url_rows.id, url_rows.state, pages.status FROM url_rows "
        "LEFT JOIN pages ON pages.url_id = url_rows.id WHERE url_rows.id"
    )
    return {
        url_id
        for url_id, state, status in rows_of(connection, question, list(url_ids))
        if state in _MAY_REPRESENT and (status is None or status < FIRST_ERROR)
    }


def _may_wait(candidate: Candidate, rewritten: Rewritten, rules: RuleSource, now: float) -> bool:
    """Return True if a new representative is to be deferred: rules change it.

    URLs with a special priority are not deferred, nor those that check rules.
    """
    ordinary = candidate.priority == ORDINARY and bool(rewritten.rules)
    return ordinary and not rules.choose_as_test(rewritten, now)


def record_held(
    connection: Connection, held: Sequence[HeldURL], rules: RuleSource, now: float
) -> None:
    """Record which URLs represent the held ones, and which rules spared the fetches.

    If no rule changed the held URL itself, the rules that changed its representative count.
    """
    if not held:
        return
    put_edges(connection, [(h.url_id, h.same_as, h.rewritten.identity) for h in held], now)
    plain = {h.same_as for h in held if not h.rewritten.rules}
    found = dict(rows_of(connection, "SELECT id, url FROM urls WHERE id", list(plain)))
    by_other = {url_id: rules.rewrite(url) for url_id, url in found.items()}
    spared: Counter[str] = Counter()
    for one in held:
        used = one.rewritten if one.rewritten.rules else by_other.get(one.same_as)
        spared.update(used.rules if used is not None else ())
    add_spared(connection, spared)


def put_edges(connection: Connection, edges: Sequence[tuple[int, int, str]], now: float) -> None:
    """Record that rules merge URLs into others; this replaces earlier records.

    Args:
        connection: in a writing transaction.
        edges: the id of a URL, that of its representative, and the identity that rules made.
        now: seconds since 1970.
    """
    delete_edges(connection, [url_id for url_id, _one, _identity in edges])
    rows = [(url_id, one, "rule", 0, identity, now, now, 1) for url_id, one, identity in edges]
    insert_rows(connection, aliases, _EDGE, rows)
    counts.add(connection, Counter({counts.alias("rule", 0): len(rows)}))


def edges_of(connection: Connection, url_ids: Sequence[int]) -> dict[int, tuple[int, str]]:
    """Return what `put_edges` recorded for some URLs: by id, the other id and the identity."""
    question = "SELECT from_id, to_id, target_url, kind FROM aliases WHERE from_id"
    found = rows_of(connection, question, url_ids)
    return {url_id: (one, target_url) for url_id, one, target_url, kind in found if kind == "rule"}


def further_names(connection: Connection, url_ids: Sequence[int], most: int) -> list[int]:
    """Return the ids of other URLs that rules merge with some, of so many at most."""
    known = {*url_ids, *(one for one, _identity in edges_of(connection, url_ids).values())}
    question = "SELECT from_id FROM aliases WHERE kind = 'rule' AND to_id"
    found = {url_id for (url_id,) in rows_of(connection, question, list(known))}
    return sorted(found - known)[:most]


def represented_by_pages(connection: Connection, url_ids: Sequence[int]) -> set[int]:
    """Return the URLs that rules hold for a page that was fetched without an error."""
    edges = edges_of(connection, url_ids)
    known = alive_among(connection, {one for one, _identity in edges.values()})
    return {
        url_id for url_id, (one, _identity) in edges.items() if one in known and known[one].is_page
    }


def delete_edges(connection: Connection, url_ids: Sequence[int]) -> None:
    """Delete what `put_edges` recorded for some URLs."""
    if gone := change_rows(connection, _DELETE_EDGES, url_ids):
        counts.add(connection, Counter({counts.alias("rule", 0): -gone}))


def release(connection: Connection, url_ids: Iterable[int]) -> list[int]:
    """Put the URLs that rules hold back in the queue; return those that were held."""
    found = list(rows_of(connection, _RELEASED, list(url_ids)))
    moved = {
        url_id: Transition(host_id, depth, HELD, QUEUED) for url_id, host_id, depth, _ in found
    }
    transitions.move(connection, moved)
    deferred = [url_id for url_id, _host_id, _depth, priority in found if priority == ALIAS]
    deferral.restore(connection, deferred)
    delete_edges(connection, list(moved))
    return list(moved)


def release_for(connection: Connection, gone: Iterable[int], most: int | None = None) -> list[int]:
    """Release the URLs whose representatives turned out not to be there.

    Args:
        connection: in a writing transaction.
        gone: the ids of these representatives.
        most: how many to release for each, the earliest first; None: all.
    """
    waiting: dict[int, list[int]] = {}
    for part in chunks(list(gone)):
        edge = select(aliases.c.to_id, aliases.c.from_id).where(
            aliases.c.kind == "rule", aliases.c.to_id.in_(part)
        )
        for one, url_id in connection.execute(edge):
            waiting.setdefault(one, []).append(url_id)
    return release(
        connection, [url_id for url_ids in waiting.values() for url_id in sorted(url_ids)[:most]]
    )


def held_of(connection: Connection, names: Sequence[str], most: int) -> list[int]:
    """Return the ids of URLs that rules hold on hosts, of so many at most.

    Args:
        connection: to a store with the index of `host_urls`.
        names: of the hosts, without ports.
        most: how many.
    """
    query = (
        select(url_rows.c.id)
        .join(hosts, hosts.c.id == url_rows.c.host_id)
        .where(hosts.c.name.in_(names), url_rows.c.state == State.HELD)
        .where(url_rows.c.reason == LEARNED)
        .order_by(url_rows.c.id)
        .limit(most)
    )
    return list(connection.scalars(query))


def bodies(
    connection: Connection, keys: Sequence[bytes], *, by_rules: bool = False
) -> dict[bytes, tuple[str, bytes]]:
    """Return, by key, the URL that was fetched for it and its body's digest, if it answered 200.

    With ``by_rules``, only URLs that represent a key because rules say so.
    """
    bodies_by_key: dict[bytes, tuple[str, bytes]] = {}
    for table in ("classes",) if by_rules else ("keys", "classes"):
        question = (
            f"SELECT {table}.key, urls.url, pages.digest FROM {table} "  # noqa: S608 - our names
            f"JOIN urls ON urls.id = {table}.url_id JOIN pages ON pages.url_id = urls.id "
            f"WHERE pages.status = {OK} AND pages.links <> {UNREAD} AND {table}.key"
        )
        for key, url, digest in rows_of(connection, question, keys):
            bodies_by_key[bytes(key)] = (url, bytes(digest))
    return bodies_by_key
