"""Politeness: the limits on requests to hosts and addresses, as the settings give them."""

import math
from collections.abc import Callable
from typing import NamedTuple

from canonry.crawler.settings import Settings
from canonry.crawler.settings.host_tables import HostTables


class Politeness(NamedTuple):
    """Limits on requests to one host and to one address. All times are in seconds."""

    delay: float  # minimum between two requests to one host
    per_host: int  # maximum of requests in flight to one host
    address_delay: float = 0.0  # minimum between two requests to one address
    per_address: int = 0  # maximum of requests in flight to one address; 0 is no limit
    factor: float = 0.0  # a host rests for this many times the time that its answers take
    longest: float = math.inf  # maximum of that rest
    slots: int = 1 << 30  # requests in flight in all, which registrable domains share


def politeness(settings: Settings) -> Politeness:
    """Return the limits on requests to hosts and addresses."""
    crawl = settings.crawl
    per_address = crawl.requests_per_address
    return Politeness(
        delay=crawl.delay,
        per_host=crawl.requests_per_host,
        address_delay=min(crawl.address_delay, crawl.delay),
        per_address=max(per_address, crawl.requests_per_host) if per_address else 0,
        factor=crawl.delay_factor,
        longest=crawl.max_crawl_delay,
        slots=crawl.concurrency,
    )


def politeness_of(settings: Settings) -> Callable[[str], Politeness]:
    """Return a function from a host to the limits on requests to it, with what its table says."""
    general, tables = politeness(settings), HostTables(settings.hosts)

    def of(host: str) -> Politeness:
        own = tables.of(host)
        return general._replace(
            delay=general.delay if own.delay is None else own.delay,
            per_host=own.requests_per_host or general.per_host,
            longest=general.longest if own.max_crawl_delay is None else own.max_crawl_delay,
        )

    return of if tables else lambda _host: general
