"""Correction of times that were written while the clock was ahead: no crawl waits for them."""

from typing import NamedTuple

from sqlalchemy import (
    Column,
    ColumnElement,
    Connection,
    Table,
    and_,
    case,
    exists,
    func,
    not_,
    or_,
    select,
    update,
)

from canonry.storage.sql.schema import State, aliases, hosts, jobs, pages, robots, rules, url_rows

_NOTICED = 60.0  # seconds; clocks of several machines differ by less


class Waits(NamedTuple):
    """How long a crawl makes URLs and hosts wait; all times are in seconds."""

    delay: float  # between two requests to a host that asks for none of its own
    lease: float  # this and the times below are maxima
    retry: float  # of a URL
    pause: float  # of a host
    asked: float  # of a URL or host, if the server asked for a wait
    robots: float  # until a robots.txt is fetched again
    asked_suffix: str  # ends the reason of URLs whose server asked for a wait


# Times of events, which must be in the past; so must ``due`` of URLs that are not queued.
_PAST: tuple[tuple[Table, Column[float]], ...] = (
    (jobs, jobs.c.started_at),
    (jobs, jobs.c.ended_at),
    (url_rows, url_rows.c.found_at),
    (pages, pages.c.fetched_at),
    (aliases, aliases.c.first_seen),
    (aliases, aliases.c.last_seen),
    (robots, robots.c.unreachable_since),
    (rules, rules.c.first_seen),
    (rules, rules.c.last_seen),
    (rules, rules.c.entered_at),
)
_WAITS: tuple[tuple[Table, Column[float]], ...] = (
    (url_rows, url_rows.c.due),
    (hosts, hosts.c.ready_at),
)


def correct(connection: Connection, now: float, waits: Waits) -> float:
    """Correct the times of a store that was written while the clock was ahead.

    If the latest event in the store lies in the future, all waits become shorter by as much. Then
    each wait is limited to the longest that a crawl makes: this also corrects the waits of a store
    without such an event.

    Args:
        connection: in a writing transaction.
        now: seconds since 1970, by the correct clock.
        waits: of this crawl.

    Returns:
        By how many seconds the clock was ahead, as the store shows; 0.0 for a minute or less.
    """
    ahead = _latest_event(connection, waits.lease) - now
    if ahead > _NOTICED:
        _set_back(connection, now, ahead)
    _limit(connection, now, waits)
    return ahead if ahead > _NOTICED else 0.0


def _latest_event(connection: Connection, lease: float) -> float:
    """Return the time of the latest event that is found without reading whole tables."""
    latest = [
        select(func.max(jobs.c.started_at)),
        select(func.max(jobs.c.ended_at)),
        select(url_rows.c.found_at).order_by(url_rows.c.id.desc()).limit(1),
        select(func.max(hosts.c.held_until) - lease).where(hosts.c.holder.is_not(None)),
    ]
    return max(connection.scalar(one) or 0.0 for one in latest)


def _set_back(connection: Connection, now: float, ahead: float) -> None:
    """Shorten all waits, and move future events to the past; they keep their order.

    So a page that was fetched by the wrong clock was fetched before its run had ended. A recrawl
    takes it for fetched when the last run began that the clock was right for: it asks once more.
    """
    began = connection.scalar(select(func.max(jobs.c.started_at)).where(jobs.c.started_at <= now))

    def past(column: Column[float]) -> ColumnElement[float]:
        return case((column < now + ahead, column - ahead), else_=now)

    settled = and_(url_rows.c.state != State.QUEUED, url_rows.c.due > now)
    connection.execute(update(url_rows).where(settled).values(due=began or 0.0))
    for table, column in _WAITS:
        sooner = {column.name: column - ahead}
        connection.execute(update(table).where(column > now).values(sooner))
    for table, column in _PAST:
        connection.execute(update(table).where(column > now).values({column.name: past(column)}))


def _limit(connection: Connection, now: float, waits: Waits) -> None:
    """Reset all waits that are longer than a crawl makes them."""
    rested = now + func.coalesce(hosts.c.delay, waits.delay)
    connection.execute(
        update(hosts)  # the limit of `leases.lease`; a request may just have been sent
        .where(hosts.c.holder.is_not(None), hosts.c.held_until > now + 2 * waits.lease)
        .values(holder=None, held_until=0.0, ready_at=rested)
    )
    from_future = robots.c.expires_at > now + waits.robots
    connection.execute(update(robots).where(from_future).values(expires_at=0.0))
    queued = url_rows.c.state == State.QUEUED
    asked = and_(queued, func.coalesce(url_rows.c.reason, "").endswith(waits.asked_suffix))
    connection.execute(
        update(url_rows)
        .where(queued, _beyond(url_rows.c.due, now, waits.retry, asked, waits.asked))
        .values(due=0.0)
    )
    waits_as_asked = exists().where(asked, url_rows.c.host_id == hosts.c.id, url_rows.c.due > now)
    connection.execute(
        update(hosts)
        .where(_beyond(hosts.c.ready_at, now, waits.pause, waits_as_asked, waits.asked))
        .values(ready_at=rested)
    )


def _beyond(
    column: Column[float], now: float, usual: float, asked: ColumnElement[bool], longest: float
) -> ColumnElement[bool]:
    """Return a condition: a wait is longer than usual, or than the longest if it was asked for."""
    return or_(column > now + longest, and_(column > now + usual, not_(asked)))
