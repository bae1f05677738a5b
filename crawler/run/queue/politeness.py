"""Politeness: when hosts, addresses and domains may get their next request."""

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.crawler.settings import Settings
from canonry.crawler.settings.host_tables import HostTables

# For one address, which may serve many hosts: seconds between two requests, and those in flight.
_ADDRESS_DELAY, _PER_ADDRESS = 0.1, 16


class Politeness(NamedTuple):
    """Limits on requests to one host and to one address. All times are in seconds."""

    delay: float  # minimum between two requests to one host
    per_host: int  # maximum of requests in flight to one host
    address_delay: float = 0.0  # minimum between two requests to one address
    per_address: int = 0  # maximum of requests in flight to one address; 0 is no limit
    factor: float = 0.0  # requests are this many average answers apart, if they are slow
    longest: float = math.inf  # maximum of that rest
    slots: int = 1 << 30  # requests in flight in all, which registrable domains share


def politeness(settings: Settings) -> Politeness:
    """Return the limits on requests to hosts and addresses."""
    crawl = settings.crawl
    return Politeness(
        delay=crawl.delay,
        per_host=crawl.requests_per_host,
        address_delay=min(_ADDRESS_DELAY, crawl.delay),
        per_address=max(_PER_ADDRESS, crawl.requests_per_host),
        factor=1.0,
        longest=crawl.max_crawl_delay,
        slots=crawl.concurrency,
    )


def politeness_of(settings: Settings) -> Callable[[str], Politeness]:
    """Return a function from a host to its limits, which its table in the settings may change."""
    general, tables = politeness(settings), HostTables(settings.hosts)

    def of(host: str) -> Politeness:
        own = tables.of(host)
        return general._replace(
            delay=general.delay if own.delay is None else own.delay,
            per_host=own.requests_per_host or general.per_host,
            longest=general.longest if own.max_crawl_delay is None else own.max_crawl_delay,
        )

    return of if tables else lambda _host: general


@dataclass(slots=True)
class AddressPace:
    """The pace that the hosts on one address share."""

    polite: Politeness
    address: str = ""
    started_at: float = -math.inf
    sent_at: float = -math.inf
    in_flight: int = 0
    parked: deque[str] = field(default_factory=deque)  # hosts that wait for this address
    scheduled: bool = False

    @property
    def is_full(self) -> bool:
        """True if the address has as many requests in flight as it may have."""
        return 0 < self.polite.per_address <= self.in_flight

    @property
    def ready_at(self) -> float:
        """When the address may get its next request, unless it is full."""
        return self.started_at + self.polite.address_delay

    def is_free(self, now: float) -> bool:
        """Return True if one more request may go to the address now."""
        polite = self.polite  # the properties, spelled out: this runs for each request
        full = 0 < polite.per_address <= self.in_flight
        return not full and self.started_at + polite.address_delay <= now


@dataclass(slots=True)
class DomainPace:
    """The share that the hosts of one registrable domain have in the requests.

    The domain with the fewest requests in flight goes first, then the one that waited longest.
    """

    turn: int  # the serial number of its latest request, or of its addition
    hosts: int = 0
    in_flight: int = 0
    ready: deque[str] = field(default_factory=deque)  # hosts that may get a request now
    entry: tuple[int, int] | None = None  # its place in the heap of domains with ready hosts


@dataclass(slots=True)
class HostPace:
    """One host's pace."""

    domain: DomainPace
    polite: Politeness
    not_before: float
    delay: float
    address: AddressPace | None
    started_at: float = -math.inf
    latency: float = 0.0
    wanted: int = 0  # requests that wait for a turn
    unspent: int = 0  # turns that were taken, and that no request has used yet
    in_flight: int = 0
    yields: bool = False  # to others: after a request, its domain lets several others go first
    is_slow: bool = False  # its latest answer took long, or did not come; it yields, too
    scheduled: bool = False  # in the heap, ready or parked
    entry: int = 0  # its number in the heap; 0 without one

    @property
    def shared(self) -> AddressPace | None:
        """The address, if other hosts may share it; otherwise None."""
        return None if self.address is ALONE else self.address

    @property
    def ready_at(self) -> float:
        """When the host may get its next request, unless it is full."""
        polite = self.polite
        pause = min(self.latency * polite.factor, polite.longest) if polite.delay else 0.0
        return max(self.not_before, self.started_at + max(self.delay, pause))


# Stands for the address of each host that shares it with nobody. It is always free.
ALONE = AddressPace(Politeness(delay=0.0, per_host=1))
