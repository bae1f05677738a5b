"""Classes: URLs that learned rules make one. The first that is fetched stands for the others.

A URL that is dropped for a rule keeps a row and a key of its own. So nothing is lost with a lesson
that turns out wrong: what was dropped for it goes back to the queue.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from sqlalchemy import Connection, delete, insert, select

from canonry.storage.learned.rule_rows import spare
from canonry.storage.records import Candidate, Ruled
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import chunks, insert_rows, rows_of, upsert
from canonry.storage.sql.schema import State, aliases, classes, hosts, urls
from canonry.storage.sql.transitions import QUEUED, Transition

LEARNED = "learned"  # the reason for which URLs are held here
_HELD = (State.HELD, LEARNED)
_OK, _CLIENT_ERROR = 200, 400


class Judge(Protocol):
    """What the store needs of learned rules."""

    def refresh(self, connection: Connection) -> None:
        """Take over rules that have changed in the store."""
        ...

    def forget(self) -> None:
        """Forget what rests on a transaction that was rolled back."""
        ...

    def ruled(self, url: str) -> Ruled | None:
        """Return what active rules make of a URL; None where they say nothing of its host."""
        ...

    def is_verified(self, ruled: Ruled, now: float) -> bool:
        """Say whether to fetch what could be dropped, to see whether the rules hold."""
        ...


class Dropped(NamedTuple):
    """A new URL that is not to be fetched, and for what."""

    row: int
    same_as: int
    ruled: Ruled


def drop(
    connection: Connection,
    new: Sequence[tuple[Candidate, int]],
    judge: Judge,
    now: float,
    host_ids: Callable[[str], int],
) -> list[Dropped]:
    """Find those new URLs whose page is fetched already, or is going to be, by another name.

    Seeds and the targets of redirects are never among them: the former were asked for, and the
    latter are where the page is.

    Args:
        connection: in a transaction that holds the write lock; the keys are in it, the rows not.
        new: candidates and their rows, in order.
        judge: the rules.
        now: seconds since 1970.
        host_ids: from a host's name to its row.
    """
    found = [(c, row, ruled) for c, row in new if c.held is None and (ruled := judge.ruled(c.url))]
    if not found:
        return []
    wanted = list({ruled.key for _c, _row, ruled in found})
    stands = dict(rows_of(connection, "SELECT key, url_id FROM classes WHERE key", wanted))
    acted = list({ruled.key for _c, _row, ruled in found if ruled.rules})
    plain = dict(rows_of(connection, "SELECT key, url_id FROM keys WHERE key", acted))
    fetched = _fetched(connection, {*stands.values(), *plain.values()})
    fetched.update(row for c, row in new if c.held is None)
    dropped: list[Dropped] = []
    for candidate, row, ruled in found:
        one = stands.get(ruled.key, plain.get(ruled.key) if ruled.rules else None)
        if one is None and not ruled.rules:
            continue
        if one is None or one not in fetched or candidate.hops:
            _stand(connection, ruled.key, row, host_ids(candidate.host))
            stands[ruled.key] = row
        elif (candidate.listed or candidate.source is not None) and not judge.is_verified(
            ruled, now
        ):
            dropped.append(Dropped(row, one, ruled))
            fetched.discard(row)
    return dropped


def _stand(connection: Connection, key: bytes, row: int, host_id: int) -> None:
    """Let a URL stand for a class."""
    new = upsert(connection.dialect.name, classes).values(key=key, url_id=row, host_id=host_id)
    connection.execute(
        new.on_conflict_do_update(index_elements=["key"], set_={"url_id": row, "host_id": host_id})
    )


def _fetched(connection: Connection, rows: Collection[int]) -> set[int]:
    """Return those rows that are fetched, or going to be: a dead page stands for none."""
    good = {int(State.QUEUED), int(State.FETCHED), int(State.REDIRECTED)}
    question = (
        "SELECT urls.id, urls.state, pages.status FROM urls "
        "LEFT JOIN pages ON pages.url_id = urls.id WHERE urls.id"
    )
    return {
        row
        for row, state, status in rows_of(connection, question, list(rows))
        if state in good and (status is None or status < _CLIENT_ERROR)
    }


def note(connection: Connection, dropped: Sequence[Dropped], judge: Judge, now: float) -> None:
    """Write down for what URLs were dropped, and which rules spared the fetch.

    Where none acted on a URL itself, it was those that act on the one that stands for it.
    """
    if not dropped:
        return
    _edges(connection, [(d.row, d.same_as, d.ruled.identity) for d in dropped], now)
    plain = {d.same_as for d in dropped if not d.ruled.rules}
    found = dict(rows_of(connection, "SELECT id, url FROM urls WHERE id", list(plain)))
    by_other = {row: judge.ruled(url) for row, url in found.items()}
    spared: Counter[str] = Counter()
    for one in dropped:
        acted = one.ruled if one.ruled.rules else by_other.get(one.same_as)
        spared.update(acted.rules if acted is not None else ())
    spare(connection, spared)


def _edges(connection: Connection, edges: Sequence[tuple[int, int, str]], now: float) -> None:
    """Write down whom rules made equal to whom; what stood there before of these goes."""
    _unlink(connection, [row for row, _one, _identity in edges])
    rows = [
        {
            "from_id": row,
            "to_id": one,
            "kind": "rule",
            "status": 0,
            "located": identity,
            "first_seen": now,
            "last_seen": now,
            "count": 1,
        }
        for row, one, identity in edges
    ]
    if rows:
        connection.execute(insert(aliases), rows)
    counts.add(connection, Counter({counts.alias("rule", 0): len(rows)}))


def _unlink(connection: Connection, rows: Sequence[int]) -> None:
    """Drop what was written down of whom rules made some URLs equal to."""
    gone = 0
    for part in chunks(rows):
        old = delete(aliases).where(aliases.c.from_id.in_(part), aliases.c.kind == "rule")
        gone += connection.execute(old).rowcount
    counts.add(connection, Counter({counts.alias("rule", 0): -gone}))


def release(connection: Connection, rows: Iterable[int]) -> list[int]:
    """Put back in the queue those of some URLs that were dropped for rules; return them."""
    released: list[int] = []
    for part in chunks(list(rows)):
        here = urls.c.id.in_(part), urls.c.state == State.HELD, urls.c.reason == LEARNED
        found = connection.execute(select(urls.c.id, urls.c.host_id, urls.c.depth).where(*here))
        moved = {row.id: Transition(row.host_id, row.depth, _HELD, QUEUED) for row in found}
        transitions.move(connection, moved)
        _unlink(connection, list(moved))
        released += moved
    return released


def release_for(connection: Connection, gone: Iterable[int]) -> list[int]:
    """Put back in the queue what was dropped for URLs that turned out not to be there."""
    waiting: list[int] = []
    for part in chunks(list(gone)):
        edge = select(aliases.c.from_id).where(aliases.c.kind == "rule", aliases.c.to_id.in_(part))
        waiting += connection.scalars(edge)
    return release(connection, waiting)


class Rekeyed(NamedTuple):
    """What a change of rules did to the URLs that were known."""

    held: list[int]  # rows taken out of the queue
    released: list[int]  # rows put back
    keys: int  # classes that more than one name leads to


class _Known(NamedTuple):
    """A URL of a host whose rules have changed."""

    row: int
    host_id: int
    url: str
    state: int
    reason: str | None
    depth: int


def _of_hosts(connection: Connection, names: Collection[str]) -> Iterator[_Known]:
    """Yield the URLs of hosts; the index for it is made when the first rule needs it."""
    connection.exec_driver_sql("CREATE INDEX IF NOT EXISTS urls_by_host ON urls (host_id, id)")
    for part in chunks(list(names)):
        ids = list(connection.scalars(select(hosts.c.id).where(hosts.c.name.in_(part))))
        for host_id in ids:
            query = select(
                urls.c.id, urls.c.host_id, urls.c.url, urls.c.state, urls.c.reason, urls.c.depth
            )
            here = query.where(urls.c.host_id == host_id).execution_options(yield_per=10_000)
            yield from (_Known(*row) for row in connection.execute(here))


def urls_of(connection: Connection, names: Collection[str]) -> Iterator[str]:
    """Yield the URLs of hosts."""
    yield from (known.url for known in _of_hosts(connection, names))


def bodies(
    connection: Connection, keys: Sequence[bytes], *, by_rules: bool = False
) -> dict[bytes, tuple[str, bytes]]:
    """Return, by key, the URL that was fetched for it and its body's digest, where it answered.

    With ``by_rules``, only those that stand for a key because rules say so.
    """
    found: dict[bytes, tuple[str, bytes]] = {}
    for table in ("classes",) if by_rules else ("keys", "classes"):
        question = (
            f"SELECT {table}.key, urls.url, pages.digest FROM {table} "  # noqa: S608 - our names
            f"JOIN urls ON urls.id = {table}.url_id JOIN pages ON pages.url_id = urls.id "
            f"WHERE pages.status = {_OK} AND {table}.key"
        )
        for key, url, digest in rows_of(connection, question, keys):
            found[bytes(key)] = (url, bytes(digest))
    return found


def rekey(
    connection: Connection,
    names: Collection[str],
    ruled: Callable[[str], Ruled | None],
    kept: Callable[[str], Ruled | None],
    now: float,
    is_verified: Callable[[Ruled], bool] = lambda _ruled: False,
) -> Rekeyed:
    """Bring the known URLs of hosts in line with rules that have changed.

    Args:
        connection: in a transaction that holds the write lock.
        names: the hosts.
        ruled: what the active rules make of a URL.
        kept: what active and suspended rules make of it: what was dropped for these stays dropped.
        now: seconds since 1970.
        is_verified: says which queued URLs are to be fetched all the same.
    """
    members: dict[bytes, list[tuple[_Known, Ruled]]] = {}
    free: list[int] = []
    _clear(connection, names)
    for known in _of_hosts(connection, names):
        is_dropped = known.state == State.HELD and known.reason == LEARNED
        found = kept(known.url) if is_dropped else ruled(known.url)
        if found is not None and (found.rules or is_dropped):
            members.setdefault(found.key, []).append((known, found))
        elif is_dropped:
            free.append(known.row)
    plain: dict[bytes, int] = dict(
        rows_of(connection, "SELECT key, url_id FROM keys WHERE key", list(members))
    )
    standing = _fetched(connection, set(plain.values()))

    def may_wait(known: _Known, found: Ruled) -> bool:
        if known.state == State.QUEUED:
            return not is_verified(found)
        return known.state == State.HELD

    held: list[tuple[_Known, int, Ruled]] = []
    stands: list[tuple[bytes, int, int]] = []
    for key, group in members.items():
        one = plain.get(key)
        if one not in standing:
            best = _best(group)
            if best is None:
                continue
            one = best.row
            free += [one] * (best.state == State.HELD)
            stands.append((key, one, best.host_id))
        held += [
            (known, one, found)
            for known, found in group
            if known.row != one and may_wait(known, found)
        ]
    insert_rows(connection, classes, ("key", "url_id", "host_id"), sorted(stands))
    released = release(connection, free)
    _hold(connection, held, now)
    new = [known.row for known, _one, _ruled in held if known.state == State.QUEUED]
    return Rekeyed(new, released, len(members))


def _clear(connection: Connection, names: Collection[str]) -> None:
    """Drop the classes that hosts' URLs stand for."""
    for part in chunks(list(names)):
        here = select(hosts.c.id).where(hosts.c.name.in_(part))
        connection.execute(delete(classes).where(classes.c.host_id.in_(here)))


def _best(group: Sequence[tuple[_Known, Ruled]]) -> _Known | None:
    """Return the URL that stands for a class whose own is not there.

    It is the one that is furthest; of several https before http, then the shortest, then the first.
    """
    order = {State.FETCHED: 0, State.REDIRECTED: 1, State.QUEUED: 2, State.HELD: 3}
    candidates = [
        known
        for known, _ruled in group
        if known.state in order and (known.state != State.HELD or known.reason == LEARNED)
    ]

    def rank(known: _Known) -> tuple[int, bool, int, int]:
        is_plain = known.url.startswith("http:")
        return order[State(known.state)], is_plain, len(known.url), known.row

    return min(candidates, key=rank, default=None)


def _hold(connection: Connection, held: Sequence[tuple[_Known, int, Ruled]], now: float) -> None:
    """Take URLs out of the queue whose page is fetched by another name; note for which."""
    new = [(known, ruled) for known, _one, ruled in held if known.state == State.QUEUED]
    moved = {k.row: Transition(k.host_id, k.depth, QUEUED, _HELD) for k, _ruled in new}
    transitions.move(connection, moved)
    _edges(connection, [(known.row, one, ruled.identity) for known, one, ruled in held], now)
    spare(connection, Counter(rule for _known, ruled in new for rule in ruled.rules))
