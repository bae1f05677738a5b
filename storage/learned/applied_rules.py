"""Applied rules: what a change of rules does to the URLs that the store knows."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import compress
from operator import not_
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from canonry.canon.pipeline import Rewritten
from canonry.storage.http_status import OK
from canonry.storage.learned import host_urls
from canonry.storage.learned.classes import (
    HELD,
    LEARNED,
    defer,
    edges_of,
    may_represent,
    put_edges,
    release,
    restore,
)
from canonry.storage.records import ALIAS, ORDINARY, TARGET, WALL
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql import transitions, url_suffixes
from canonry.storage.sql.bulk import change_rows, insert_rows, rows_of, stream_rows
from canonry.storage.sql.schema import State, classes

_AT_ONCE = 10_000  # rows
Rewrite: TypeAlias = Callable[[list[str]], Sequence[Rewritten | None]]
_QUEUED, _HELD, _FETCHED = int(State.QUEUED), int(State.HELD), int(State.FETCHED)
_BETTER: dict[int, int] = {State.FETCHED: 0, State.QUEUED: 1, State.REDIRECTED: 2, State.HELD: 3}


class AppliedRules(NamedTuple):
    """What a change of rules did to the known URLs."""

    held: list[int]  # ids of URLs that left the queue
    released: list[int]  # of URLs that went back to it
    deferred: list[int]  # of URLs that stayed in it, to be asked later
    suppressed: Mapping[str, int]  # how many URLs of the hosts each rule holds now, by rule id


class _KnownURL(NamedTuple):
    """A URL of a host whose rules have changed."""

    url_id: int
    host_id: int
    state: int
    reason: str | None
    depth: int
    priority: int
    source: int | None
    url: str

    @property
    def may_wait(self) -> bool:
        """Return True if it may be deferred: queued, no seed, and not promoted."""
        is_ordinary = self.priority in {ORDINARY, ALIAS}
        return self.state == _QUEUED and is_ordinary and self.source is not None


_Member: TypeAlias = tuple[_KnownURL, Rewritten]
_COLUMNS = "id, host_id, state, reason, depth, priority, source_id"
_STATE, _REASON, _PRIORITY = 2, 3, 5


class _Grouped(NamedTuple):
    """Known URLs, grouped by the key that rules give them."""

    members: dict[bytes, list[_Member]]  # by key, the URLs that rules change or hold
    fetched: dict[bytes, list[int]]  # by key, the ids of those that were fetched
    free: list[int]  # ids of held URLs that no rule holds now
    deferred: set[int]  # ids of all URLs that are deferred


def _hosts_named(connection: Connection, names: Collection[str]) -> dict[int, str]:
    """Return the names of hosts by their ids."""
    return dict(rows_of(connection, "SELECT id, name FROM hosts WHERE name", list(names)))


def apply_rules(
    connection: Connection,
    names: Collection[str],
    rewrite: Rewrite,
    rewrite_held: Rewrite,
    now: float,
    choose_as_test: Callable[[Rewritten], bool] = lambda _rewritten: False,
) -> AppliedRules:
    """Apply changed rules to the known URLs of hosts: hold, release, and choose representatives.

    A URL represents those that rules turn into it. But if it is queued and one of those was
    fetched, it is held, and the fetched one represents the class. Of the hosts' queued URLs, only
    representatives that rules change are deferred.

    Args:
        connection: in a transaction that holds the write lock.
        names: the hosts, with all that the rules join to them.
        rewrite: applies the active rules; it may return None for URLs that they do not change.
        rewrite_held: applies active and suspended rules: URLs that these hold stay held.
        now: seconds since 1970.
        choose_as_test: returns True for queued URLs that are fetched anyway, to check rules.
    """
    hosts = _hosts_named(connection, names)
    change_rows(connection, "DELETE FROM classes WHERE host_id", list(hosts))
    members, fetched, free, before = _grouped(connection, hosts, rewrite, rewrite_held)
    own = url_ids_of_keys(connection, list(members))
    waiting = _waiting(connection, members, fetched, own, rewrite)
    answered = {url_id for key in waiting for url_id in fetched[key]}
    alive = may_represent(connection, answered.union(own.values()))
    for key, member in waiting.items():
        if any(url_id in alive for url_id in fetched[key]):
            del own[key]  # its page is known already, under another name
            members[key].append(member)
    dead = answered.difference(alive)
    held: list[tuple[_KnownURL, int, Rewritten]] = []
    representatives: list[tuple[bytes, int, int]] = []
    chosen: list[_Member] = []
    for key, group in members.items():
        representative = own.get(key)
        if representative not in alive:
            best = _best([one for one in group if one[0].url_id not in dead] if dead else group)
            if best is None:
                continue
            representative = best[0].url_id
            free += [representative] * (best[0].state == _HELD)
            representatives.append((key, representative, best[0].host_id))
            chosen.append(best)
        for url, rewritten in group:
            if url.url_id != representative and _may_be_held(url, rewritten, choose_as_test):
                held.append((url, representative, rewritten))
    insert_rows(connection, classes, ("key", "url_id", "host_id"), sorted(representatives))
    released = release(connection, free)
    _hold(connection, held, now)
    new = [url.url_id for url, _one, _found in held if url.state == _QUEUED]
    later = {
        url.url_id
        for url, rewritten in chosen
        if url.may_wait and rewritten.rules and not choose_as_test(rewritten)
    }
    before.difference_update(new)
    restore(connection, before - later)
    deferred = sorted(later - before)
    defer(connection, deferred)
    return AppliedRules(new, released, deferred, _suppressed(held, members))


def hold_fetched(
    connection: Connection, names: Collection[str], rewrite: Rewrite, now: float
) -> list[int]:
    """Hold fetched URLs of hosts that rules turn into another one with a page.

    Args:
        connection: in a transaction that holds the write lock.
        names: of the hosts, with all that the rules join to them.
        rewrite: applies the active rules.
        now: seconds since 1970.

    Returns:
        The ids of these URLs, whose pages are needed no longer.
    """
    hosts = _hosts_named(connection, names)
    members, fetched, _free, _deferred = _grouped(connection, hosts, rewrite, rewrite)
    own = url_ids_of_keys(connection, list(members))
    good = _with_pages(connection, {*own.values(), *(i for ids in fetched.values() for i in ids)})
    edges: dict[int, tuple[int, str]] = {}
    for key, group in members.items():
        best = own.get(key)
        if best not in good:
            fetched_urls = (one for one in group if one[0].url_id in good)
            first = min(fetched_urls, key=_rank, default=None)
            best = None if first is None else first[0].url_id
        for url, found in group:
            if best is not None and url.url_id in good and url.url_id != best and url.source:
                edges[url.url_id] = best, found.identity
    held = transitions.move_ids(connection, list(edges), HELD)
    put_edges(connection, [(url_id, *edges[url_id]) for url_id in sorted(held)], now)
    return held


def _with_pages(connection: Connection, url_ids: Collection[int]) -> set[int]:
    """Return those of some URLs that were fetched, and have a page: no error, and no wall."""
    question = (
        f"SELECT url_id FROM pages JOIN url_rows ON id = url_id WHERE status = {OK:d} "  # noqa: S608 - ours
        f"AND state = {_FETCHED} AND coalesce(reason, '') <> '{WALL}' AND url_id"
    )
    return {url_id for (url_id,) in rows_of(connection, question, list(url_ids))}


def _grouped(
    connection: Connection, hosts: Mapping[int, str], rewrite: Rewrite, rewrite_held: Rewrite
) -> _Grouped:
    """Group the known URLs of hosts by the key that rules give them.

    The index that finds these URLs is made here if it is missing.

    Args:
        connection: in a writing transaction.
        hosts: the names of the hosts by their ids.
        rewrite: applies the active rules.
        rewrite_held: applies active and suspended rules.
    """
    host_urls.index(connection)
    grouped = members, fetched, free, deferred = _Grouped({}, {}, [], set())
    new_known = tuple.__new__  # a third of the time of calling the class
    for host_id, name in hosts.items():
        question = f"SELECT {_COLUMNS}, suffix FROM url_rows WHERE host_id = {host_id:d}"  # noqa: S608 - ours
        for rows in stream_rows(connection, question, _AT_ONCE):
            urls = url_suffixes.urls_of([row[-1] for row in rows], name)
            are_held = [row[_REASON] == LEARNED and row[_STATE] == _HELD for row in rows]
            held = iter(rewrite_held(list(compress(urls, are_held))))
            others = iter(rewrite(list(compress(urls, map(not_, are_held)))))
            for row, url, is_held in zip(rows, urls, are_held, strict=True):
                if row[_PRIORITY] == ALIAS and row[_STATE] == _QUEUED:
                    deferred.add(row[0])
                found = next(held if is_held else others)
                if found is not None and (found.rules or is_held):
                    one = new_known(_KnownURL, (*row[:-1], url)), found
                    members.setdefault(found.key, []).append(one)
                    if row[_STATE] == _FETCHED:
                        fetched.setdefault(found.key, []).append(row[0])
                elif is_held:
                    free.append(row[0])
    return grouped


def _waiting(
    connection: Connection,
    members: Mapping[bytes, Sequence[_Member]],
    fetched: Collection[bytes],
    own: Mapping[bytes, int],
    rewrite: Rewrite,
) -> dict[bytes, _Member]:
    """Return by key the queued URLs whose page was fetched under a name that rules change.

    No rule changes these URLs themselves.

    Args:
        connection: of the store.
        members: by key, the URLs that rules change or hold.
        fetched: the keys of which some were fetched.
        own: by key, the id of the URL with that identity.
        rewrite: applies the active rules.
    """
    keys = {url_id: key for key, url_id in own.items() if key in fetched}
    question = f"SELECT {_COLUMNS}, url FROM urls WHERE id"  # noqa: S608 - our names
    found = map(_KnownURL._make, rows_of(connection, question, list(keys)))
    queued = [url for url in found if url.may_wait and url.priority == ORDINARY]
    waiting = {}
    for url, changed in zip(queued, rewrite([url.url for url in queued]), strict=True):
        if changed is None or not changed.rules:
            key = keys[url.url_id]
            identity = members[key][0][1].identity
            waiting[key] = url, Rewritten(identity, key, (), identity)
    return waiting


def _may_be_held(
    known: _KnownURL, found: Rewritten, choose_as_test: Callable[[Rewritten], bool]
) -> bool:
    """Return True if a URL that another one represents may be held."""
    if known.state == _QUEUED:  # but no target of a redirect, and no test of rules
        return known.priority > TARGET and not choose_as_test(found)
    return known.state == _HELD


def _best(group: Iterable[_Member]) -> _Member | None:
    """Return the best representative of a class whose own identity no URL has.

    Fetched URLs come first, then queued, redirected and held ones. Queued precede redirected: they
    may be the targets. Among equals: https before http, then the shortest, then the first.
    """
    candidates = [
        one
        for one in group
        if one[0].state in _BETTER and (one[0].state != _HELD or one[0].reason == LEARNED)
    ]
    return candidates[0] if len(candidates) == 1 else min(candidates, key=_rank, default=None)


def _rank(one: _Member) -> tuple[int, bool, int, int]:
    """Return the sort key of representatives; the smallest is the best."""
    known = one[0]
    return _BETTER[known.state], known.url.startswith("http:"), len(known.url), known.url_id


def _hold(
    connection: Connection, held: Sequence[tuple[_KnownURL, int, Rewritten]], now: float
) -> None:
    """Hold URLs because another URL represents them, and record which."""
    queued: dict[tuple[int, int], list[int]] = {}
    before: list[int] = []
    edges: dict[int, tuple[int, str]] = {}
    for known, one, found in held:
        edges[known.url_id] = one, found.identity
        if known.state == _QUEUED:
            queued.setdefault((known.host_id, known.depth), []).append(known.url_id)
        else:
            before.append(known.url_id)
    transitions.hold(connection, queued, LEARNED)
    for url_id, edge in edges_of(connection, before).items():
        if edges[url_id] == edge:
            del edges[url_id]
    put_edges(connection, [(url_id, *edge) for url_id, edge in sorted(edges.items())], now)


def _suppressed(
    held: Iterable[tuple[_KnownURL, int, Rewritten]],
    members: Mapping[bytes, Sequence[_Member]],
) -> Counter[str]:
    """Return by rule id how many of the held URLs each rule holds.

    A held URL that no rule changes counts for the rules of another URL of its class.
    """

    def rules_beside(found: Rewritten) -> tuple[str, ...]:
        return next((m.rules for _known, m in members[found.key] if m.rules), ())

    by_rule: Counter[str] = Counter()
    used = Counter([found.rules or rules_beside(found) for _known, _one, found in held])
    for rules, number in used.items():
        by_rule.update(dict.fromkeys(rules, number))
    return by_rule
