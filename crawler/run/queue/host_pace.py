"""The pace of a host, an address and a domain: what was requested, and when it may get more."""

import math
from collections import deque
from dataclasses import dataclass, field

from canonry.crawler.run.queue.politeness import Politeness


@dataclass(slots=True)
class AddressPace:
    """The pace that the hosts on one address share."""

    polite: Politeness
    started_at: float = -math.inf
    sent_at: float = -math.inf
    in_flight: int = 0
    parked: deque[str] = field(default_factory=deque)  # hosts that wait for this address
    scheduled: bool = False

    @property
    def is_full(self) -> bool:
        """True if it has as many requests in flight as it may have."""
        return 0 < self.polite.per_address <= self.in_flight

    @property
    def ready_at(self) -> float:
        """When it may get its next request, unless it is full."""
        return self.started_at + self.polite.address_delay

    def is_free(self, now: float) -> bool:
        """Return True if one more request may go to it now."""
        polite = self.polite  # the properties, spelled out: this runs for each request
        full = 0 < polite.per_address <= self.in_flight
        return not full and self.started_at + polite.address_delay <= now


@dataclass(slots=True)
class DomainPace:
    """The share that the hosts of one registrable domain have in the requests.

    What has the fewest requests in flight goes first, then what has waited longest.
    """

    turn: int  # counts up: of its latest request, or when it was added
    hosts: int = 0
    in_flight: int = 0
    ready: deque[str] = field(default_factory=deque)  # hosts that may get a request now
    entry: tuple[int, int] | None = None  # its place among the domains that have some


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
    unspent: int = 0  # turns that were taken, and with which nothing was requested yet
    in_flight: int = 0
    scheduled: bool = False  # in the heap, ready or parked
    entry: int = 0  # its number in the heap; 0 without one

    @property
    def shared(self) -> AddressPace | None:
        """The address that it may share with other hosts; None for one of its own."""
        return None if self.address is ALONE else self.address

    @property
    def ready_at(self) -> float:
        """When it may get its next request, unless it is full."""
        polite = self.polite
        pause = min(self.latency * polite.factor, polite.longest) if polite.delay else 0.0
        return max(self.not_before, self.started_at + max(self.delay, pause))


# Of hosts that share theirs with nobody: nothing is ever counted here, and it is always free.
ALONE = AddressPace(Politeness(delay=0.0, per_host=1))
