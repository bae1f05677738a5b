"""Waiting: hosts with queued URLs that get no request yet, and what a crawl waits for."""

from typing import NamedTuple

from sqlalchemy import Connection, and_, case, func, select, text

from canonry.storage.sql.schema import hosts, urls

# The conditions of the partial indexes.
_HAS_WORK = text("pending > 0")
_IS_RETRIED = text("state = 0 AND reason IS NOT NULL")
_NOTABLE = 10.0  # seconds; shorter waits are normal
_MOST = 20  # hosts that are named
_LOOKED_AT = 50  # hosts, to find the one that may be asked first


class WaitingHost(NamedTuple):
    """A host that waits."""

    host: str
    until: float  # seconds since 1970
    reason: str | None  # of one of its URLs that are retried then; None: its delay
    urls: int  # that are queued


def waiting_hosts(connection: Connection, now: float) -> list[WaitingHost]:
    """Return the hosts that wait for longer than their delay, those that wait longest first.

    Args:
        connection: in a transaction.
        now: seconds since 1970.
    """
    wait = hosts.c.ready_at - now - func.coalesce(hosts.c.delay, 0.0)
    rows = connection.execute(
        select(hosts.c.id, hosts.c.name, hosts.c.ready_at, hosts.c.pending)
        .where(_HAS_WORK, hosts.c.ready_at > now + _NOTABLE, wait > _NOTABLE)
        .order_by(hosts.c.ready_at.desc(), hosts.c.id)
        .limit(_MOST)
    )
    return [
        WaitingHost(name, ready_at, reason_of(connection, host_id), number)
        for host_id, name, ready_at, number in rows.all()
    ]


def waits_for(connection: Connection, now: float) -> WaitingHost | None:
    """Return the host that an idle crawl waits for; None if it need not wait.

    Args:
        connection: in a transaction.
        now: seconds since 1970.
    """
    first: WaitingHost | None = None
    query = select(hosts.c.id, hosts.c.name, hosts.c.ready_at, hosts.c.pending)
    query = query.where(_HAS_WORK).order_by(hosts.c.ready_at).limit(_LOOKED_AT)
    for host_id, name, ready_at, number in connection.execute(query).all():
        if first is not None and ready_at >= first.until:
            break
        retried = select(func.count(), func.min(urls.c.due))
        waits = retried.where(urls.c.host_id == host_id, _IS_RETRIED)
        waiting, due = connection.execute(waits).one()
        until = max(ready_at, due) if waiting == number else ready_at  # else one is due
        if until <= now:
            return None
        if first is None or until < first.until:
            first = WaitingHost(name, until, reason_of(connection, host_id), number)
    return first


class HeldHosts(NamedTuple):
    """Hosts with queued URLs that are leased to other workers."""

    host: str  # one of them
    owner: str  # the worker that has leased it
    hosts: int


def held_by_others(connection: Connection, owner: str, now: float) -> HeldHosts | None:
    """Return the hosts that others hold; None if a host with queued URLs is ours, or free.

    Args:
        connection: in a transaction.
        owner: our worker.
        now: seconds since 1970.
    """
    pending = hosts.c.pending > 0
    theirs = and_(hosts.c.holder != owner, hosts.c.held_until > now)
    is_other = case((theirs, 0), else_=1)  # null: nobody has leased it
    query = select(hosts.c.name, hosts.c.holder, is_other).where(pending)
    first = connection.execute(query.order_by(is_other.desc(), hosts.c.id).limit(1)).one_or_none()
    if first is None or first[2]:
        return None
    number = connection.scalar(select(func.count()).select_from(hosts).where(pending)) or 0
    return HeldHosts(first.name, first.holder, number)


def reason_of(connection: Connection, host: int) -> str | None:
    """Return the reason of that URL of a host which waits longest for its retry."""
    retried = select(urls.c.reason).where(urls.c.host_id == host, _IS_RETRIED)
    latest = retried.order_by(urls.c.due.desc()).limit(1)
    reason: str | None = connection.scalar(latest)
    return reason
