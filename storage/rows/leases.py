"""Leases: hosts that belong to a worker for a time, and the queue of each host."""

from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType

from sqlalchemy import Connection, bindparam, case, exists, func, or_, select, text, update

from canonry.storage.records import (
    DEEPEST,
    FEW_DEFERRED,
    FIRST,
    LONGEST_WAIT,
    ORDINARY,
    TARGET,
    LeasedHost,
    Queued,
)
from canonry.storage.sql import counts
from canonry.storage.sql.bulk import chunks, rows_of
from canonry.storage.sql.held_rows import HeldRows
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import DIALECTS, State, hosts, pages, queue_order, url_rows, urls

_QUEUED_COLUMNS = (
    *(urls.c.id, urls.c.url, urls.c.depth, urls.c.hops, urls.c.attempts),
    *(pages.c.etag, pages.c.modified, urls.c.priority),
)
_BY_ID = (
    "SELECT hosts.name, state, due, urls.id, url, depth, hops, attempts, etag, modified, priority "
    "FROM urls JOIN hosts ON hosts.id = host_id LEFT JOIN pages ON url_id = urls.id WHERE urls.id"
)
_HAS_WORK = text("pending > 0")  # the condition of the partial index
_FEW = 1_000  # queued URLs: at most this many are searched for the earliest
HOSTS = HeldRows(hosts)
# Built once: building a statement takes longer than running it. Times after "far" are ignored: only
# a clock that was set back since makes waits that long.
_mine = hosts.c.holder == bindparam("owner")
_ready_at = hosts.c.ready_at
# URLs that may be requested now. Those that wait, for a retry or for their level, lease no host:
# the hosts of many such would leave no room for others.
_url = url_rows.c
_is_due = or_(_url.due <= bindparam("now"), _url.due > bindparam("far"))
_due_urls = select(_url.id).where(_url.host_id == hosts.c.id, _url.state == State.QUEUED)
_due_urls = _due_urls.where(_url.depth <= bindparam("level"), _is_due)
# All are; it makes SQLite search the queue, instead of all URLs of the host.
_due_urls = _due_urls.where(_url.priority >= TARGET + FIRST)
_available = (
    select(hosts.c.id, hosts.c.name, hosts.c.ready_at, hosts.c.delay, hosts.c.holder)
    .where(_HAS_WORK, hosts.c.blocked == 0)
    .where(or_(_mine, hosts.c.holder.is_(None), HOSTS.visible))
    .where(or_(_mine, _ready_at <= bindparam("soon"), _ready_at > bindparam("far")))
    .where(exists(_due_urls))
    .order_by(hosts.c.ready_at)
    .limit(bindparam("limit"))
    .with_for_update(skip_locked=True)
)
_FIRST_HOSTS = 16  # of a registrable domain; further ones are its overflow, see `_SHARE`
_AVAILABLE = Prepared(_available.where(hosts.c.rank < _FIRST_HOSTS))
_OVERFLOW = Prepared(_available.where(hosts.c.rank >= _FIRST_HOSTS))
_SHARE = 4  # one in this many leased hosts may be of an overflow while others wait
_queue = (
    select(*_QUEUED_COLUMNS)
    .join_from(urls, pages, pages.c.url_id == urls.c.id, isouter=True)
    .where(urls.c.host_id == bindparam("host"), urls.c.state == State.QUEUED)
    .where(or_(urls.c.due <= bindparam("now"), urls.c.due > bindparam("far")))
    .where(urls.c.depth <= bindparam("level"))
    .limit(bindparam("most"))
)
_QUEUE = {name: Prepared(_queue.order_by(*queue_order(name))) for name in DIALECTS}
_EARLIEST = Prepared(select(func.min(urls.c.due)).where(urls.c.state == State.QUEUED))
_PACE = Prepared(
    update(hosts)
    .where(hosts.c.id == bindparam("host_id"))
    .values(ready_at=bindparam("ready"), delay=bindparam("wanted"))
)


def lease(
    connection: Connection,
    owner: str,
    *,
    now: float,
    seconds: float,
    limit: int,
    per_host: int,
    loaded: Mapping[str, Collection[int]],
    room: Mapping[str, int] = MappingProxyType({}),
    deferred: Mapping[str, int] = MappingProxyType({}),
    level_by_level: bool,
    overflow: bool = True,
) -> list[LeasedHost]:
    """Lease hosts that have work, and return the next URLs of each.

    A leased host belongs to one worker, so its URLs need no mark of their own. They stay queued
    until their outcome is recorded; a worker that crashes loses nothing but its leases. Hosts whose
    row is locked by another transaction are skipped until the next call.

    Args:
        connection: in a transaction; `Store.leasing` is enough.
        owner: the worker.
        now: seconds since 1970.
        seconds: length of the lease.
        limit: largest number of hosts.
        per_host: largest number of URLs of each host.
        room: for each host how many more may be in memory, if not ``per_host``.
        loaded: for each host the ids of the URLs that the worker has in memory. Of these, only
            promoted ones are returned again.
        deferred: for each host how many deferred URLs may be in memory, if not `FEW_DEFERRED`:
            their targets, and what they link to, may be more urgent.
        level_by_level: only return URLs of the lowest queued depth, so that depths are exact.
        overflow: False leaves out the further hosts of domains with many.
    """
    level = _level(connection, level_by_level=level_by_level)
    times = {"now": now, "far": now + LONGEST_WAIT, "level": level}
    available = {"owner": owner, "longest": now + 2 * seconds, "soon": now + seconds / 2}
    host_rows = [*_AVAILABLE.run(connection, {**times, **available, "limit": limit})]
    if overflow:
        more = max(limit - len(host_rows), limit // _SHARE)
        host_rows += _OVERFLOW.run(connection, {**times, **available, "limit": more})
    queue = _QUEUE[connection.dialect.name]
    leased: dict[int, LeasedHost] = {}
    for host_id, name, ready_at, delay, before in host_rows:
        in_memory, most = loaded.get(name, ()), room.get(name, per_host)
        wanted = {"host": host_id, "most": most + 1 + len(in_memory)}  # one to see if there is more
        rows = sorted(
            [Queued(*row) for row in queue.run(connection, {**times, **wanted})], key=_in_order
        )
        some = min(deferred.get(name, FEW_DEFERRED), most)
        new = _first(rows, in_memory, most, some)
        again = [one for one in rows if one.url_id in in_memory and one.priority < FIRST]
        if new or in_memory:
            taken = {*in_memory, *(one.url_id for one in new)}
            left = [one for one in rows if one.url_id not in taken and one.priority <= ORDINARY]
            at = ready_at if ready_at <= times["far"] else now
            leased[host_id] = LeasedHost(
                name, at, delay, (*again, *new), bool(left), before not in {None, owner}
            )
    HOSTS.keep(connection, leased, now + seconds, owner)
    return list(leased.values())


def _in_order(url: Queued) -> tuple[int, int, int]:
    """Return what the URLs of a host are sorted by."""
    return url.priority, url.depth, url.url_id


def _first(
    rows: Sequence[Queued], loaded: Collection[int], most: int, most_deferred: int
) -> list[Queued]:
    """Return those of a host's next URLs that go into memory.

    Deferred ones do so only after all others were recorded, and a few at a time.
    """
    new = [one for one in rows if one.url_id not in loaded]
    ordinary = [one for one in new if one.priority <= ORDINARY]
    if ordinary or not rows or rows[0].priority <= ORDINARY:
        return ordinary[:most]
    return new[: max(0, most_deferred - (len(rows) - len(new)))]


def promoted(
    connection: Connection, url_ids: Collection[int], *, now: float, level_by_level: bool
) -> dict[str, list[Queued]]:
    """Return by host those of some URLs that `lease` could return now, in its order.

    Args:
        connection: in a transaction.
        url_ids: of URLs in any state, of hosts in any lease.
        now: seconds since 1970.
        level_by_level: as for `lease`.
    """
    queues: dict[str, list[Queued]] = {}
    if not url_ids:
        return queues
    level = _level(connection, level_by_level=level_by_level)
    for host, state, due, *columns in rows_of(connection, _BY_ID, list(url_ids)):
        url = Queued(*columns)
        is_due = due <= now or due > now + LONGEST_WAIT
        if state == State.QUEUED and is_due and url.depth <= level:
            queues.setdefault(host, []).append(url)
    for queue in queues.values():
        queue.sort(key=_in_order)
    return queues


def renew(connection: Connection, owner: str, names: Collection[str], until: float) -> set[str]:
    """Extend a worker's leases; hosts whose row is locked by another transaction are skipped.

    Returns:
        The hosts that are not the worker's any more: its leases had expired, as when its process
        was stopped for long, and another worker took them.
    """
    ours = free_host_ids(connection, names, owner)
    HOSTS.keep(connection, ours.values(), until, owner)
    return not_of(connection, owner, set(names).difference(ours))


def not_of(connection: Connection, owner: str, names: Collection[str]) -> set[str]:
    """Return those of some hosts that are not leased to a worker."""
    question = "SELECT name, holder FROM hosts WHERE name"
    return {name for name, other in rows_of(connection, question, list(names)) if other != owner}


def free_host_ids(
    connection: Connection, names: Collection[str], owner: str | None
) -> dict[str, int]:
    """Lock the rows of hosts; return by name the ids of those that no other transaction has locked.

    So two transactions never wait for each other's rows. (SQLite has no locks of rows.) With an
    owner, only the rows of hosts that are leased to it.
    """
    ids_by_name: dict[str, int] = {}
    for part in chunks(list(names)):
        query = select(hosts.c.name, hosts.c.id).where(hosts.c.name.in_(part))
        if owner is not None:
            query = query.where(hosts.c.holder == owner)
        ids_by_name.update(
            tuple(row) for row in connection.execute(query.with_for_update(skip_locked=True))
        )
    return ids_by_name


def _level(connection: Connection, *, level_by_level: bool) -> int:
    """Return the greatest depth that may be fetched: level by level, the lowest queued one."""
    if not level_by_level:
        return DEEPEST
    return min((int(depth) for depth, _, _ in counts.read(connection, "levels")), default=DEEPEST)


def reclaim(connection: Connection, dead: Collection[str], now: float, delay: float) -> None:
    """End all leases of dead workers; their hosts pause, since a request may just have been sent.

    Args:
        connection: in a writing transaction.
        dead: the workers.
        now: seconds since 1970.
        delay: seconds between two requests to a host that does not ask for its own delay.
    """
    rested = now + func.coalesce(hosts.c.delay, delay)
    later = case((hosts.c.ready_at > rested, hosts.c.ready_at), else_=rested)
    HOSTS.give_back(connection, dead, ready_at=later)


def pace(
    connection: Connection,
    ready: Mapping[str, float],
    delays: Mapping[str, float | None],
    owner: str | None = None,
) -> None:
    """Write when each host may get its next request, so that politeness survives a restart.

    Args:
        connection: in a transaction.
        ready: for each host the time, in seconds since 1970.
        delays: for each host the delay that it asks for.
        owner: the worker; hosts that it does not lease stay as they are. None: all hosts.
    """
    found = free_host_ids(connection, ready, owner)
    rows = [
        {"host_id": host_id, "ready": ready[host], "wanted": delays.get(host)}
        for host, host_id in found.items()
    ]
    _PACE.run_many(connection, rows)


def pending(connection: Connection) -> int:
    """Return how many URLs are queued."""
    return counts.total_of(connection, counts.url(State.QUEUED, None))


def fetched(connection: Connection) -> int:
    """Return how many URLs have a page and are not queued again."""
    return counts.total_of(connection, counts.url(State.FETCHED, None))


def next_due(connection: Connection) -> float | None:
    """Return when the next queued URL may be fetched (seconds since 1970); None if none is queued.

    If many URLs are queued, it does not search and returns 0: now.
    """
    number = pending(connection)
    if number > _FEW:
        return 0.0
    [(earliest,)] = _EARLIEST.run(connection, {})
    return None if earliest is None else float(earliest)
