"""Politeness: the limits on requests to hosts and addresses, as the settings give them."""

import math
from typing import NamedTuple

from canonry.crawler.settings import Settings


class Politeness(NamedTuple):
    """Limits on requests to one host and to one address. All times are in seconds."""

    delay: float  # minimum between two requests to one host
    per_host: int  # maximum of requests in flight to one host
    address_delay: float = 0.0  # minimum between two requests to one address
    per_address: int = 0  # maximum of requests in flight to one address; 0 is no limit
    factor: float = 0.0  # a host rests for this many times the time that its answers take
    longest: float = math.inf  # maximum of that rest


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
    )
