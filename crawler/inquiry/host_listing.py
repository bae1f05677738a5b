"""Hosts for people: the queue, the delay, the last error, and the state of robots.txt."""

from typing import Annotated, Any

import msgspec
from sqlalchemy import Connection, Row

from canonry.crawler.inquiry.last_crawl import last_crawl, settings_of
from canonry.crawler.settings import CrawlSettings
from canonry.crawler.settings.host_tables import HostTables
from canonry.crawler.settings.sections import HostSettings
from canonry.storage.reading.row_structs import StoredAs, struct_of
from canonry.storage.rows.waiting import reason_of
from canonry.storage.shown import Shown
from canonry.storage.steering import host_list
from canonry.storage.steering.host_list import RobotsState
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

    host: Annotated[str, StoredAs(name="name"), Shown("host")]
    queued: Annotated[int, StoredAs(name="pending"), Shown("queued")]
    delay: Annotated[float, Shown("requests", _pace)]  # between two requests
    delay_from: str  # where that comes from
    waits_until: Annotated[Moment | None, Shown("waits until", _wait)]  # longer than its delay
    waits_for: str | None  # why
    leased_to: str | None  # the worker that asks it now
    blocked: Annotated[bool, StoredAs(bool)]
    last_error: Annotated[str | None, StoredAs(name="error"), Shown("last error", _error)]
    last_error_at: Annotated[Moment | None, StoredAs(name="error_at")]
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
    order: str = ORDERS[0],
    part: str = "",
    blocked: bool = False,
    most: int = 50,
) -> HostListing:
    """Return the first hosts in an order, as `host_list.hosts_in` does; ``now`` is seconds."""
    rows, has_more = host_list.hosts_in(
        connection, order=order, part=part, blocked=blocked, most=most
    )
    settings = settings_of(last_crawl(connection))
    tables = HostTables(settings.hosts)
    robots = host_list.robots_of(connection, rows)
    found = []
    for row in rows:
        delay, source = _pace_of(row, settings.crawl, tables.of(row.name))
        waits = bool(row.pending) and row.ready_at - now > delay + _NOTABLE
        reason = reason_of(connection, row.id) if waits else None
        found.append(
            struct_of(
                HostAnswer,
                row,
                delay=delay,
                delay_from=source,
                waits_until=iso(row.ready_at) if waits else None,
                waits_for=(reason or "it asked for a pause") if waits else None,
                leased_to=row.holder if row.held_until > now else None,
                robots=[_says(state, now) for state in robots.get(row.name, [])],
            )
        )
    return HostListing(hosts=found, total=host_list.number_of(connection), has_more=has_more)


def _pace_of(row: Row[Any], settings: CrawlSettings, own: HostSettings) -> tuple[float, str]:
    """Return the seconds between two requests to a host, and where they come from."""
    delay, source = settings.delay, _BY_DELAY
    if own.delay is not None:
        delay, source = own.delay, "the settings ([hosts])"
    longest = settings.max_crawl_delay if own.max_crawl_delay is None else own.max_crawl_delay
    if row.delay is None or min(row.delay, longest) <= delay:
        return delay, source
    if row.delay <= longest:
        return row.delay, "its robots.txt"
    asks = f"which asks for {row.delay:g}; max_crawl_delay allows {longest:g}"
    return longest, f"its robots.txt, {asks}"


def _says(state: RobotsState, now: float) -> str:
    """Return in words what is known of a robots.txt."""
    if state.unreachable_since is not None:
        since = iso(state.unreachable_since)
        what = "its last version counts" if state.is_read else "nothing is fetched"
        return f"{state.origin}: not reached since {since}; {what}"
    age = "read" if state.expires_at > now else "read, and to be read again"
    return f"{state.origin}: {age}"
