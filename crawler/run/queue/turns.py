"""Turns: which host may get its next request, and when. Pure: the caller brings the clock."""

import heapq
import math
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import count
from typing import NamedTuple


class Politeness(NamedTuple):
    """Limits on requests to one host and to one address. All times are in seconds."""

    delay: float  # minimum between the starts of two requests to one host
    per_host: int  # maximum of requests in flight to one host
    address_delay: float = 0.0  # minimum between the starts of two requests to one address
    per_address: int = 0  # maximum of requests in flight to one address; 0 is no limit
    factor: float = 0.0  # a host rests for this many times the time that its answers take
    longest: float = math.inf  # maximum of that rest


@dataclass(slots=True)
class _Address:
    """The pace that the hosts on one address share."""

    polite: Politeness
    started_at: float = -math.inf
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
class _Host:
    """One host's pace."""

    polite: Politeness
    not_before: float
    delay: float
    address: _Address | None
    started_at: float = -math.inf
    latency: float = 0.0
    wanted: int = 0  # requests that wait for a turn
    in_flight: int = 0
    scheduled: bool = False

    @property
    def shared(self) -> _Address | None:
        """The address that it may share with other hosts; None for one of its own."""
        return None if self.address is _ALONE else self.address

    @property
    def ready_at(self) -> float:
        """When it may get its next request, unless it is full."""
        polite = self.polite
        pause = min(self.latency * polite.factor, polite.longest) if polite.delay else 0.0
        return max(self.not_before, self.started_at + max(self.delay, pause))


# Of hosts that share theirs with nobody: nothing is ever counted here, and it is always free.
_ALONE = _Address(Politeness(delay=0.0, per_host=1))
_LATEST = 0.3  # weight of the latest answer in a host's average latency


class Turns:
    """Requests to one host, and to one address, start at least a delay apart.

    Times are seconds on any clock that the caller chooses.
    """

    def __init__(self, politeness: Politeness) -> None:
        """Create turns of no hosts."""
        self._polite = politeness
        self._delay = politeness.delay
        self._shared = politeness.per_address > 0 or politeness.address_delay > 0
        self._hosts: dict[str, _Host] = {}
        self._addresses: dict[str, _Address] = {}
        self._unplaced: list[str] = []
        # When it is whose turn: a host's, or that of an address at which hosts are parked.
        self._heap: list[tuple[float, int, str | _Address]] = []
        self._order = count()  # among those ready at the same time, first come, first served

    def want(
        self, name: str, requests: int, *, ready_at: float = 0.0, delay: float | None = None
    ) -> None:
        """Let a host wait for turns, one for each request. A new host is added.

        Args:
            name: the host.
            requests: how many more are to be sent to it.
            ready_at: no request before. A later time that is known here already counts instead.
            delay: the delay that the host's robots.txt asks for, if that is known.
        """
        host = self._hosts.get(name)
        if host is None:
            address = None if self._shared else _ALONE
            host = self._hosts[name] = _Host(self._polite, ready_at, self._delay, address)
            if address is None:
                self._unplaced.append(name)
        elif ready_at > host.not_before:
            host.not_before = ready_at
        if delay is not None:
            host.delay = max(self._delay, delay)
        host.wanted += requests
        self._schedule(name, host)

    def cancel(self, name: str, requests: int) -> None:
        """Let a host wait for fewer turns."""
        self._hosts[name].wanted -= requests

    def unplaced(self) -> list[str]:
        """Return the hosts whose address is not known yet, each once; `place` sets it."""
        names, self._unplaced = self._unplaced, []
        return names

    def place(self, name: str, address: str | None) -> None:
        """Set the address of a host; None for one that it shares with nobody."""
        host = self._hosts.get(name)
        if host is not None and host.address is None:
            host.address = (
                _ALONE
                if address is None
                else self._addresses.setdefault(address, _Address(self._polite))
            )
            self._schedule(name, host)

    def take(self, now: float) -> str | None:
        """Return a host whose request starts now; None when no host is ready."""
        while self._heap and self._heap[0][0] <= now:
            _, _, who = heapq.heappop(self._heap)
            name = self._take_at(who, now) if isinstance(who, _Address) else self._take_of(who, now)
            if name is not None:
                return name
        return None

    def _take_of(self, name: str, now: float) -> str | None:
        """Start a request of a host whose turn it is; park it where its address is busy."""
        host = self._hosts.get(name)
        if host is None:  # its requests were cancelled and it was retired since
            return None
        if not host.wanted:  # its requests were cancelled since
            host.scheduled = False
        elif host.ready_at > now:  # it was slowed down since it was entered
            host.scheduled = False
            self._schedule(name, host)
        elif host.address and (host.address.parked or not host.address.is_free(now)):
            host.address.parked.append(name)  # behind those that wait there; it stays scheduled
            self._wake(host.address)
        else:
            self._start(name, host, now)
            return name
        return None

    def _take_at(self, address: _Address, now: float) -> str | None:
        """Start a request of the first host that is parked at an address and ready."""
        address.scheduled = False
        while address.parked and address.is_free(now):
            name = address.parked.popleft()
            host = self._hosts.get(name)
            if host is None:
                continue
            if host.wanted and host.ready_at <= now:
                self._start(name, host, now)
                return name
            host.scheduled = False
            self._schedule(name, host)
        self._wake(address)
        return None

    def _start(self, name: str, host: _Host, now: float) -> None:
        """Count a request that starts, for the host and its address."""
        host.wanted -= 1
        host.in_flight += 1
        host.started_at = now
        host.scheduled = False
        self._schedule(name, host)
        if address := host.shared:
            address.in_flight += 1
            address.started_at = now
            self._wake(address)

    def next_time(self) -> float | None:
        """Return the earliest time at which `take` may return a host; None without an event."""
        return self._heap[0][0] if self._heap else None

    def done(self, name: str) -> None:
        """Count a request to a host as ended."""
        host = self._hosts[name]
        host.in_flight -= 1
        self._schedule(name, host)
        if address := host.shared:
            address.in_flight -= 1
            self._wake(address)

    def answered(self, name: str, seconds: float) -> None:
        """Note how long a host took to answer: slow hosts get fewer requests."""
        host = self._hosts[name]
        host.latency += _LATEST * (seconds - host.latency)

    def slow_down(self, name: str, *, delay: float | None = None, until: float = 0.0) -> None:
        """Slow a host down: set its delay, or allow no request before a time."""
        host = self._hosts[name]
        if delay is not None:
            host.delay = max(self._delay, delay)
        host.not_before = max(host.not_before, until)

    def another(self, name: str, now: float) -> float:
        """Reserve one more request to a host for a URL that was taken; return when it may start.

        The request for robots.txt used the URL's first turn.
        """
        host = self._hosts[name]
        host.started_at = max(now, host.ready_at)
        if address := host.shared:
            host.started_at = max(host.started_at, address.ready_at)
            address.started_at = host.started_at
        return host.started_at

    def retire(self, names: Iterable[str], now: float) -> list[str]:
        """Forget those of the hosts that could get a request at once; return them."""
        retired = [name for name in names if self._hosts[name].ready_at <= now]
        for name in retired:
            del self._hosts[name]
        used = {id(host.address) for host in self._hosts.values()}
        for key, address in list(self._addresses.items()):
            if id(address) not in used and address.ready_at <= now:
                del self._addresses[key]
        return retired

    def pace(self) -> dict[str, float]:
        """Return for each host when it may get its next request."""
        return {name: host.ready_at for name, host in self._hosts.items()}

    def delays(self) -> dict[str, float | None]:
        """Return for each host the delay that it asks for, None where ours is as long."""
        return {n: h.delay if h.delay > self._delay else None for n, h in self._hosts.items()}

    def _schedule(self, name: str, host: _Host) -> None:
        """Enter a host into the heap if it waits for a turn and is not full; once at most."""
        full = host.in_flight >= self._polite.per_host
        if host.scheduled or not host.wanted or full or host.address is None:
            return
        host.scheduled = True
        heapq.heappush(self._heap, (host.ready_at, next(self._order), name))

    def _wake(self, address: _Address) -> None:
        """Enter an address into the heap if hosts wait at it and it is not full; once at most."""
        if address.parked and not address.scheduled and not address.is_full:
            address.scheduled = True
            heapq.heappush(self._heap, (address.ready_at, next(self._order), address))
