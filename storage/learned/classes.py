"""Classes: URLs that learned rules merge. One of them is fetched and represents the others.

A URL that is held because of a rule keeps a row and a key of its own. So nothing is lost when a
rule turns out to be wrong: what it held goes back to the queue.

URLs that active rules change are deferred: requested after the others of their host. Such a URL is
probably another name of a page. If the page's own name is found in time, that is fetched instead,
and the deferred URL is held.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, bindparam, update

from canonry.canon.pipeline import Rewritten
from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.learned.rule_rows import add_suppressed
from canonry.storage.records import ALIAS, ORDINARY, Candidate
from canonry.storage.seen.key_rows import url_ids_of_keys
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows, insert_rows, put, rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, aliases, classes
from canonry.storage.sql.transitions import QUEUED

LEARNED = "learned"  # the reason of URLs that rules hold
HELD = (State.HELD, LEARNED)
_MAY_REPRESENT = frozenset({int(State.QUEUED), int(State.FETCHED), int(State.REDIRECTED)})
_BESIDE = 200  # URLs before and after one are found about then
_DEFERRED = int(State.QUEUED), ALIAS
_EDGE = ("from_id", "to_id", "kind", "status", "target_url", "first_seen", "last_seen", "count")
_DELETE_EDGES = "DELETE FROM aliases WHERE kind = 'rule' AND from_id"
_EDGES = "SELECT from_id, to_id, target_url FROM aliases WHERE kind = 'rule' AND from_id"
_LED = "SELECT to_id, from_id FROM aliases WHERE kind = 'rule' AND to_id"
_URLS = "SELECT id, url FROM urls WHERE id"
_CHANGE = "UPDATE url_rows SET priority = {1} WHERE priority = {0} AND id"
_DEFER, _RESTORE = _CHANGE.format(ORDINARY, ALIAS), _CHANGE.format(ALIAS, ORDINARY)
_LEAD = Prepared(
    update(aliases)
    .where(aliases.c.to_id == bindparam("old"), aliases.c.kind == "rule")
    .values(to_id=bindparam("new"))
)


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
        """Return True if a URL is fetched to check the rules that could suppress it."""
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
    keys = {rewritten.key: False for _candidate, _url_id, rewritten in rewritten_urls}
    keys |= {rewritten.key: True for *_link, rewritten in rewritten_urls if rewritten.rules}
    representatives = dict(
        rows_of(connection, "SELECT key, url_id FROM classes WHERE key", list(keys))
    )
    own = url_ids_of_keys(connection, [key for key, is_changed in keys.items() if is_changed])
    known = may_represent(connection, {*representatives.values(), *own.values()})
    waiting = [url_id for url_id, found in known.items() if found == _DEFERRED]
    deferred = dict(rows_of(connection, _URLS, waiting))
    alive = {*known, *(url_id for candidate, url_id in new if candidate.held is None)}
    chosen: dict[bytes, tuple[int, str]] = {}
    for candidate, url_id, rewritten in sorted(rewritten_urls, key=lambda one: len(one[2].rules)):
        key, used = rewritten.key, rewritten.rules
        same_as: int | None = representatives.get(key, own.get(key) if used else None)
        if same_as is None and not used:
            continue
        if same_as is not None and same_as in deferred and candidate.source != same_as:
            other = rules.rewrite(deferred[same_as])
            if other is not None and len(used) < len(other.rules):
                placed.replaced.append(HeldURL(same_as, url_id, other))
                same_as = None
        is_page = same_as in known and known[same_as][0] == State.FETCHED
        is_temporary_target = candidate.is_temporary and is_page and bool(used)
        is_linked = (candidate.listed or candidate.source is not None) and not candidate.hops
        if (
            same_as is None
            or (same_as not in alive and not rules.is_gone(rewritten))
            or (candidate.hops and not is_temporary_target)
        ):
            representatives[key] = url_id
            chosen[key] = url_id, candidate.host
            is_ordinary = is_linked and candidate.priority == ORDINARY and bool(used)
            if is_ordinary and not rules.choose_as_test(rewritten, now):
                placed.deferred.add(url_id)
        elif (is_linked or is_temporary_target) and not rules.choose_as_test(rewritten, now):
            placed.held.append(HeldURL(url_id, same_as, rewritten))
            alive.discard(url_id)
    rows = [
        {"key": key, "url_id": url_id, "host_id": host_ids(host)}
        for key, (url_id, host) in sorted(chosen.items())
    ]
    put(connection, classes, rows)
    return placed


def may_represent(connection: Connection, url_ids: Collection[int]) -> dict[int, tuple[int, int]]:
    """Return those of some URLs that may represent others, with their states and priorities.

    They are queued, redirected, or fetched without an error.
    """
    question = (
        "SELECT url_rows.id, url_rows.state, url_rows.priority, pages.status FROM url_rows "
        "LEFT JOIN pages ON pages.url_id = url_rows.id WHERE url_rows.id"
    )
    return {
        url_id: (state, priority)
        for url_id, state, priority, status in rows_of(connection, question, list(url_ids))
        if state in _MAY_REPRESENT and (status is None or status < FIRST_ERROR)
    }


def carry_out(connection: Connection, placed: Placement, rules: RuleSource, now: float) -> None:
    """Hold what new URLs replace; record what represents held URLs, and which rules hold them.

    The new representatives also represent what the replaced ones did. If no rule changed a held URL
    itself, the rules that changed its representative count.

    Args:
        connection: in a transaction that holds the write lock, and has inserted the new URLs.
        placed: what rules say about them.
        rules: the rules.
        now: seconds since 1970.
    """
    replaced = placed.replaced
    transitions.move_ids(connection, [one.url_id for one in replaced], HELD, QUEUED)
    _LEAD.run_many(connection, [{"old": one.url_id, "new": one.same_as} for one in replaced])
    held = [*placed.held, *replaced]
    put_edges(connection, [(one.url_id, one.same_as, one.rewritten.identity) for one in held], now)
    plain = {one.same_as for one in held if not one.rewritten.rules}
    by_other = {
        url_id: rules.rewrite(url) for url_id, url in rows_of(connection, _URLS, list(plain))
    }
    suppressed: Counter[str] = Counter()
    for one in held:
        used = one.rewritten if one.rewritten.rules else by_other.get(one.same_as)
        suppressed.update(used.rules if used is not None else ())
    add_suppressed(connection, suppressed)


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
    return {url_id: (one, text) for url_id, one, text in rows_of(connection, _EDGES, url_ids)}


def further_names(connection: Connection, url_ids: Sequence[int], most: int) -> list[int]:
    """Return the ids of other URLs that rules merge with some, of so many at most."""
    known = {*url_ids, *(one for one, _identity in edges_of(connection, url_ids).values())}
    found = {url_id for _one, url_id in rows_of(connection, _LED, list(known))}
    return sorted(found - known)[:most]


def held_beside(connection: Connection, url_id: int) -> list[tuple[int, str]]:
    """Return the URLs that rules merge with others, with their ids: those found about then."""
    about_then = range(url_id - _BESIDE, url_id + _BESIDE)
    found = rows_of(connection, _URLS, list(edges_of(connection, about_then)))
    return sorted(found, key=lambda one: abs(one[0] - url_id))


def represented_by_pages(connection: Connection, url_ids: Sequence[int]) -> set[int]:
    """Return the URLs that rules hold for a page that was fetched without an error."""
    edges = {url_id: one for url_id, (one, _text) in edges_of(connection, url_ids).items()}
    known = may_represent(connection, set(edges.values()))
    pages = {one for one, (state, _priority) in known.items() if state == State.FETCHED}
    return {url_id for url_id, one in edges.items() if one in pages}


def delete_edges(connection: Connection, url_ids: Sequence[int]) -> None:
    """Delete what `put_edges` recorded for some URLs."""
    if gone := change_rows(connection, _DELETE_EDGES, url_ids):
        counts.add(connection, Counter({counts.alias("rule", 0): -gone}))


def release(connection: Connection, url_ids: Iterable[int]) -> list[int]:
    """Put the URLs that rules hold back in the queue; return those that were held."""
    released = transitions.move_ids(connection, list(url_ids), QUEUED, HELD)
    restore(connection, released)
    delete_edges(connection, released)
    return released


def release_for(
    connection: Connection, gone: Collection[int], most: int | None = None
) -> list[int]:
    """Release the URLs whose representatives turned out not to be there.

    Args:
        connection: in a writing transaction.
        gone: the ids of these representatives.
        most: how many to release for each, the earliest first; None: all.
    """
    waiting: dict[int, list[int]] = {}
    for one, url_id in rows_of(connection, _LED, list(gone)):
        waiting.setdefault(one, []).append(url_id)
    return release(
        connection, [url_id for url_ids in waiting.values() for url_id in sorted(url_ids)[:most]]
    )


def defer(connection: Connection, url_ids: Collection[int]) -> None:
    """Let URLs of ordinary priority be requested after the others of their hosts."""
    change_rows(connection, _DEFER, list(url_ids))


def restore(connection: Connection, url_ids: Collection[int]) -> None:
    """Give deferred URLs their ordinary priority back."""
    change_rows(connection, _RESTORE, list(url_ids))
