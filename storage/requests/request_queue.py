"""Requests of other crawlers: a claim and a queued request are one row, written at once.

Such a crawler keeps more than a URL for a request: a callback, headers, a body. A plain GET is
admitted as a URL of the store later, in a batch; until then its row holds the claim.
Every function runs in the caller's transaction, which holds the write lock.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import (
    BindParameter,
    Connection,
    and_,
    bindparam,
    delete,
    exists,
    func,
    insert,
    or_,
    select,
    update,
)

from canonry.storage.sql import bulk
from canonry.storage.sql.bulk import change_rows, chunks
from canonry.storage.sql.held_rows import HeldRows
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, keys, urls
from canonry.storage.sql.tables.guest_tables import RequestState, fingerprints, requests

LEASE_SECONDS = 120.0


class NewRequest(NamedTuple):
    """A request to queue."""

    spider: str
    rank: int
    place: int
    is_start: int
    fingerprint: bytes
    claim: bytes | None  # the fingerprint; None queues it whoever has claimed it
    key: bytes | None
    url: str
    depth: int
    hops: int
    body: bytes | None
    url_id: int | None = None
    status: int = RequestState.QUEUED
    holder: str | None = None
    held_until: float = 0.0


class TakenRequest(NamedTuple):
    """A request that a worker has taken."""

    request_id: int
    body: bytes


class OpenRequest(NamedTuple):
    """A claimed plain GET that is not admitted yet."""

    request_id: int
    url: str
    key: bytes
    depth: int
    hops: int
    waits: bool  # False: it is parked, in flight, or done


class DoneRequest(NamedTuple):
    """A request whose response was processed."""

    request_id: int
    url: str
    depth: int
    hops: int
    claim: bytes | None
    key: bytes | None


REQUESTS = HeldRows(requests)
# Built once: building a statement takes longer than running it, and so does compiling it.
_c = requests.c
_it: BindParameter[bytes] = bindparam("fingerprint")
_KNOWN = Prepared(
    select(
        or_(
            exists().where(_c.claim == _it),
            exists().where(keys.c.key == _it),
            exists().where(fingerprints.c.value == _it),
        )
    )
)
_PUT = Prepared(
    insert(requests).inline().values({name: bindparam(name) for name in NewRequest._fields})
)
_is_queued = _c.status == RequestState.QUEUED
_waits = and_(_is_queued, _c.holder.is_(None))
_best = (
    select(_c.id)
    .where(_c.spider == bindparam("its"), _is_queued, REQUESTS.visible)
    .order_by(_c.rank, _c.is_start, _c.place)
    .limit(1)
)
_TAKE = Prepared(
    update(requests)
    .where(_c.id == _best.scalar_subquery())
    .values(holder=bindparam("by"), held_until=bindparam("until"))
    .returning(_c.id, _c.body)
)
_OPEN = (
    select(_c.id, _c.url, _c.key, _c.depth, _c.hops, _waits)
    .where(_c.url_id.is_(None), _c.key.is_not(None), _c.claim.is_not(None))
    .order_by(_c.id)
    .limit(bindparam("most"))
)
_ADMITTED = (
    update(requests).where(_c.id == bindparam("request_id")).values(url_id=bindparam("admitted"))
)
_DONE = (
    select(_c.id, _c.url, _c.depth, _c.hops, _c.claim, _c.key)
    .where(_c.spider == bindparam("its"), _c.status == RequestState.DONE)
    .where(or_(_c.holder == bindparam("by"), REQUESTS.visible))
    .order_by(_c.id)
    .limit(bindparam("most"))
)
_FINISH = f"UPDATE requests SET status = {RequestState.DONE:d} WHERE id"  # noqa: S608 - ours
_KEEP = (
    f"UPDATE requests SET status = {RequestState.STARTED:d}, body = NULL, claim = NULL, "  # noqa: S608 - ours
    "holder = NULL WHERE is_start = 1 AND id"
)
_REMOVE = "DELETE FROM requests WHERE is_start = 0 AND id"
_OTHERS = Prepared(select(_c.id).where(_c.url_id == bindparam("url_id"), _is_queued).limit(1))
_BY_OTHERS = select(
    exists().where(
        _c.spider == bindparam("its"), _is_queued, _c.holder.is_distinct_from(bindparam("by"))
    )
)
_WAS_STARTED = select(
    exists().where(
        _c.spider == bindparam("its"),
        _c.is_start == 1,
        _c.fingerprint == _it,
        _c.id <= bindparam("newest"),
    )
)
_its_url = exists().where(urls.c.id == _c.url_id)
_PARK = (
    update(requests)
    .where(_waits, _its_url.where(urls.c.state == State.HELD))
    .values(status=int(RequestState.PARKED))
)
_RELEASE = (
    update(requests)
    .where(_c.status == RequestState.PARKED, _its_url.where(urls.c.state == State.QUEUED))
    .values(status=int(RequestState.QUEUED))
)


def is_known(connection: Connection, fingerprint: bytes) -> bool:
    """Return True if somebody has claimed a fingerprint: as a URL, or as a request."""
    [(known,)] = _KNOWN.run(connection, {"fingerprint": fingerprint})
    return bool(known)


def put(connection: Connection, new: NewRequest) -> bool:
    """Queue a request; return False if it is claimed already.

    Of any number of callers with one claim, exactly one is ever answered with True.
    """
    if new.claim is not None and is_known(connection, new.claim):
        return False
    _PUT.run(connection, new._asdict())
    return True


def take(connection: Connection, spider: str, holder: str, now: float) -> TakenRequest | None:
    """Take the best request of a spider's queue; None if none is ready."""
    held = {"by": holder, "until": now + LEASE_SECONDS}
    rows = _TAKE.run(connection, {"its": spider, **_times(now), **held})
    return TakenRequest(*rows[0]) if rows else None


def _times(now: float) -> dict[str, float]:
    """Return the parameters of `REQUESTS.visible`."""
    return {"now": now, "longest": now + 2 * LEASE_SECONDS}


def finish(connection: Connection, request_ids: Iterable[int]) -> None:
    """Record that the responses of requests were processed: they are not sent again."""
    change_rows(connection, _FINISH, list(request_ids))


def not_admitted(connection: Connection, most: int) -> list[OpenRequest]:
    """Return claimed plain GETs that are not admitted yet, the oldest first."""
    return [OpenRequest(*row) for row in connection.execute(_OPEN, {"most": most})]


def admitted(connection: Connection, ids: Sequence[tuple[int, int]]) -> None:
    """Record the URLs of admitted requests: pairs of a request's id and a URL's id."""
    if ids:
        connection.execute(
            _ADMITTED,
            [{"request_id": request_id, "admitted": url_id} for request_id, url_id in ids],
        )


def done(
    connection: Connection, spider: str, holder: str, most: int, now: float
) -> list[DoneRequest]:
    """Return requests whose responses this worker, or one that is dead, processed: oldest first."""
    found = connection.execute(_DONE, {"its": spider, "by": holder, "most": most, **_times(now)})
    return [DoneRequest(*row) for row in found]


def forget(connection: Connection, finished: Sequence[DoneRequest]) -> None:
    """Delete requests that are recorded; their claims stay, and start requests are kept."""
    ids = [one.request_id for one in finished]
    remember(connection, [one.claim for one in finished if one.claim and one.key is None])
    change_rows(connection, _KEEP, ids)
    change_rows(connection, _REMOVE, ids)


def remember(connection: Connection, values: Sequence[bytes]) -> int:
    """Claim fingerprints for good, without queueing anything; return how many were new."""
    return bulk.put(connection, fingerprints, [{"value": value} for value in values])


def drop(connection: Connection, request_ids: Iterable[int]) -> None:
    """Delete requests, and their claims with them."""
    change_rows(connection, "DELETE FROM requests WHERE id", list(request_ids))


def url_of(connection: Connection, key: bytes) -> str | None:
    """Return the URL that has claimed a key, admitted or not; None if there is none."""
    admitted_url = select(urls.c.url).join(keys, keys.c.url_id == urls.c.id)
    found: str | None = connection.scalar(admitted_url.where(keys.c.key == key))
    return found or connection.scalar(select(_c.url).where(_c.claim == key))


def has_others(connection: Connection, url_id: int) -> bool:
    """Return True if requests for a URL are queued or in flight."""
    return bool(_OTHERS.run(connection, {"url_id": url_id}))


def park(connection: Connection, url_ids: Iterable[int]) -> int:
    """Park the queued requests for URLs that a learned rule holds now; return how many."""
    parts = (_PARK.where(_c.url_id.in_(part)) for part in chunks(list(url_ids)))
    return sum(connection.execute(parking).rowcount for parking in parts)


def sweep(connection: Connection, spider: str) -> int:
    """Park and release requests as learned rules now say; return how many more are parked."""
    parked, released = (
        connection.execute(one.where(_c.spider == spider)).rowcount for one in (_PARK, _RELEASE)
    )
    return parked - released


def waits_for_others(connection: Connection, spider: str, holder: str) -> bool:
    """Return True if a spider has requests that are ready, or in flight at another worker."""
    return bool(connection.scalar(_BY_OTHERS, {"its": spider, "by": holder}))


def size(connection: Connection, spider: str) -> int:
    """Return how many requests of a spider are ready or in flight."""
    query = select(func.count()).select_from(requests).where(_c.spider == spider, _is_queued)
    return connection.scalar(query) or 0


def newest(connection: Connection) -> int:
    """Return the id of the newest request."""
    return connection.scalar(select(func.max(_c.id))) or 0


def was_started(connection: Connection, spider: str, fingerprint: bytes, up_to: int) -> bool:
    """Return True if a spider's crawl has a start request with an id up to ``up_to``."""
    given = {"its": spider, "fingerprint": fingerprint, "newest": up_to}
    return bool(connection.scalar(_WAS_STARTED, given))


def end_crawl(connection: Connection, spider: str) -> None:
    """Delete the start requests that were kept: the next crawl starts anew."""
    kept = _c.status == RequestState.STARTED
    connection.execute(delete(requests).where(_c.spider == spider, kept))


def give_back(connection: Connection, dead: Collection[str]) -> int:
    """Let others have the requests of workers that have ended; return how many were in flight."""
    in_flight = REQUESTS.give_back(connection, dead, _is_queued)
    REQUESTS.give_back(connection, dead)
    return in_flight


def extend(connection: Connection, holder: str, now: float) -> None:
    """Extend a worker's leases."""
    mine = update(requests).where(_c.holder == holder)
    connection.execute(mine.values(held_until=now + LEASE_SECONDS))
