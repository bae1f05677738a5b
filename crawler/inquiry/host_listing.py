"""Hosts for people: the queue, the delay, the last error, and the state of robots.txt."""

from typing import Annotated

import msgspec
from sqlalchemy import Connection

from canonry.crawler.inquiry.last_crawl import last_crawl, settings_of
from canonry.crawler.settings import Settings
from canonry.crawler.settings.host_tables import HostTables
from canonry.storage.rows.waiting import reason_of
from canonry.storage.shown import Shown
from canonry.storage.steering import host_list
from canonry.storage.steering.host_list import HostRow, RobotsState
from canonry.storage.timestamps import Moment, iso, moment

ORDERS = host_list.ORDERS
_BY_DELAY = "the settings (--delay)"
_NOTABLE = 10.0  # seconds beyond the delay; shorter waits are not shown


def _pace(host: "HostAnswer") -> str:
    source = "" if host.delay_from == _BY_DELAY else f", by {host.delay_from}"
    return "blocked" if host.blocked else f"every {host.delay:g} s{source}"


def _wait(host: "HostAnswer") -> str:
    return f"{moment(host.waits_until)}, {host.waits_for}" if host.waits_until else ""


def _error(host: "HostAnswer") -> str:
    return f"{host.last_error}, {moment(host.last_error_at)}" if host.last_error else ""


class HostAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A host; durations are seconds."""

    host: Annotated[str, Shown("host")]
    queued: Annotated[int, Shown("queued")]
    pages: Annotated[int, Shown("latest pages")]  # of the latest 2,000 pages of the store
    delay: Annotated[float, Shown("requests", _pace)]  # between two requests
    delay_from: str  # where that comes from
    waits_until: Annotated[Moment | None, Shown("waits until", _wait)]  # longer than its delay
    waits_for: str | None  # why
    leased_to: str | None  # the worker that asks it now
    blocked: bool
    last_error: Annotated[str | None, Shown("last error", _error)]
    last_error_at: Moment | None
    robots: list[str]  # of each of its origins, in words


class HostListing(msgspec.Struct, frozen=True, kw_only=True):
    """The first hosts in an order."""

    hosts: Annotated[list[HostAnswer], Shown("Hosts")]
    total: int  # in the store
    has_more: bool


def hosts_of(
    connection: Connection,
    now: float,
    *,
    order: str = host_list.CRAWLED,
    part: str = "",
    blocked: bool = False,
    most: int = 50,
) -> HostListing:
    """Return the first hosts in an order.

    Args:
        connection: to a store.
        now: seconds since 1970.
        order: one of `ORDERS`.
        part: only hosts with this text in their name.
        blocked: only blocked hosts.
        most: how many.
    """
    rows, has_more = host_list.hosts_in(
        connection, order=order, part=part, blocked=blocked, most=most
    )
    if part and (exact := host_list.host_named(connection, part.casefold())):
        rows = [exact, *(row for row in rows if row.host_id != exact.host_id)]
    settings = settings_of(last_crawl(connection))
    tables = HostTables(settings.hosts)
    robots = host_list.robots_of(connection, rows)
    return HostListing(
        hosts=[
            _answer(connection, row, settings, tables, robots.get(row.name, []), now)
            for row in rows
        ],
        total=host_list.number_of(connection),
        has_more=has_more,
    )


def _answer(
    connection: Connection,
    row: HostRow,
    settings: Settings,
    tables: HostTables,
    robots: list[RobotsState],
    now: float,
) -> HostAnswer:
    """Return a host in words."""
    host_settings = tables.of(row.name)
    delay, source = settings.crawl.delay, _BY_DELAY
    if host_settings.delay is not None:
        delay, source = host_settings.delay, "the settings ([hosts])"
    longest = settings.crawl.max_crawl_delay
    if host_settings.max_crawl_delay is not None:
        longest = host_settings.max_crawl_delay
    if row.delay is not None and min(row.delay, longest) > delay:
        delay, source = min(row.delay, longest), "its robots.txt"
        if row.delay > longest:
            source += f", which asks for {row.delay:g}; max_crawl_delay allows {longest:g}"
    waits = bool(row.queued) and row.ready_at - now > delay + _NOTABLE
    reason = reason_of(connection, row.host_id) if waits else None
    return HostAnswer(
        host=row.name,
        queued=row.queued,
        pages=row.pages,
        delay=delay,
        delay_from=source,
        waits_until=iso(row.ready_at) if waits else None,
        waits_for=(reason or "it asked for a pause") if waits else None,
        leased_to=row.holder if row.held_until > now else None,
        blocked=bool(row.blocked),
        last_error=row.error,
        last_error_at=iso(row.error_at),
        robots=[_says(state, now) for state in robots],
    )


def _says(state: RobotsState, now: float) -> str:
    """Return in words what is known of a robots.txt."""
    if state.unreachable_since is not None:
        since = iso(state.unreachable_since)
        what = "its last version counts" if state.is_read else "nothing is fetched"
        return f"{state.origin}: not reached since {since}; {what}"
    age = "read" if state.expires_at > now else "read, and to be read again"
    return f"{state.origin}: {age}"
