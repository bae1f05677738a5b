"""The frontier in memory: which URL may be requested next. Pure: the caller brings the clock."""

import heapq
import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from canonry.crawler.learn.probes import Probe
from canonry.storage import Queued

FrontierItem = Queued | Probe  # what the next request is for


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

    started_at: float = -math.inf
    in_flight: int = 0
    parked: deque[str] = field(default_factory=deque)  # hosts that wait for this address
    scheduled: bool = False


@dataclass(slots=True)
class _Host:
    """One host's queue and pace."""

    not_before: float
    delay: float
    address: _Address | None
    started_at: float = -math.inf
    latency: float = 0.0
    queue: deque[FrontierItem] = field(default_factory=deque)
    in_flight: int = 0
    rows: set[int] = field(default_factory=set)  # loaded and not yet recorded
    probes: int = 0  # put and not yet answered
    scheduled: bool = False

    @property
    def shared(self) -> _Address | None:
        """The address that it may share with other hosts; None for one of its own."""
        return None if self.address is _ALONE else self.address


def _enqueue(queue: deque[FrontierItem], work: FrontierItem) -> None:
    """Insert work behind what is as urgent: almost always at the end."""
    if not queue or queue[-1].priority <= work.priority:
        queue.append(work)
        return
    place = next(n for n, one in enumerate(queue) if one.priority > work.priority)
    queue.insert(place, work)


_ALONE = _Address()  # of hosts that share theirs with nobody: nothing is ever counted here
_LATEST = 0.3  # weight of the latest answer in a host's average latency


class Frontier:
    """Queues by host; requests to one host, and to one address, start at least a delay apart.

    A URL is put once and stays loaded until it is recorded, so that it is never leased a second
    time meanwhile. Times are seconds on any clock that the caller chooses.
    """

    def __init__(self, politeness: Politeness) -> None:
        """Create an empty frontier."""
        self._polite = politeness
        self._delay = politeness.delay
        self._shared = politeness.per_address > 0 or politeness.address_delay > 0
        self._hosts: dict[str, _Host] = {}
        self._addresses: dict[str, _Address] = {}
        self._unplaced: list[str] = []
        # When it is whose turn: a host's, or that of an address at which hosts are parked.
        self._heap: list[tuple[float, int, str | _Address]] = []
        self._turn = 0  # among those ready at the same time, first come, first served
        self.waiting = 0  # URLs and probes that were not taken yet
        self.loaded = 0  # URLs that are not recorded yet, and probes that are not answered yet

    def put(
        self,
        name: str,
        urls: Iterable[Queued],
        *,
        ready_at: float = 0.0,
        delay: float | None = None,
    ) -> None:
        """Queue URLs of a host.

        Args:
            name: the host.
            urls: in the order of their requests; those of smaller priority go before what is
                there. Rows that are loaded already are skipped.
            ready_at: no request before. A later time that is known here already counts instead.
            delay: the delay that the host's robots.txt asks for, if that is known.
        """
        host = self._host(name, ready_at)
        host.not_before = max(host.not_before, ready_at)
        if delay is not None:
            host.delay = max(self._delay, delay)
        for url in urls:
            if url.row not in host.rows:
                host.rows.add(url.row)
                _enqueue(host.queue, url)
                self.waiting += 1
                self.loaded += 1
        self._schedule(name, host)

    def put_probe(self, name: str, probe: Probe) -> None:
        """Queue a probe of a host, behind its URLs."""
        host = self._host(name)
        _enqueue(host.queue, probe)
        host.probes += 1
        self.waiting += 1
        self.loaded += 1
        self._schedule(name, host)

    def _host(self, name: str, ready_at: float = 0.0) -> _Host:
        """Return a host; add it where it is new."""
        host = self._hosts.get(name)
        if host is None:
            address = None if self._shared else _ALONE
            host = self._hosts[name] = _Host(ready_at, self._delay, address)
            if address is None:
                self._unplaced.append(name)
        return host

    def unplaced(self) -> list[str]:
        """Return the hosts whose address is not known yet, each once; `place` sets it."""
        names, self._unplaced = self._unplaced, []
        return names

    def place(self, name: str, address: str | None) -> None:
        """Set the address of a host; None for one that it shares with nobody."""
        host = self._hosts.get(name)
        if host is not None and host.address is None:
            host.address = (
                _ALONE if address is None else self._addresses.setdefault(address, _Address())
            )
            self._schedule(name, host)

    def take(self, now: float) -> tuple[str, FrontierItem] | None:
        """Return a host and what to request from it now; None when no host is ready."""
        while self._heap and self._heap[0][0] <= now:
            _, _, who = heapq.heappop(self._heap)
            found = (
                self._take_at(who, now) if isinstance(who, _Address) else self._take_of(who, now)
            )
            if found is not None:
                return found
        return None

    def _take_of(self, name: str, now: float) -> tuple[str, FrontierItem] | None:
        """Take from a host whose turn it is; park it where its address is busy."""
        host = self._hosts.get(name)
        if host is None:  # its URLs were dropped and it was retired since
            return None
        if not host.queue:  # its URLs were dropped since
            host.scheduled = False
        elif self._ready_at(host) > now:  # it was slowed down since it was entered
            host.scheduled = False
            self._schedule(name, host)
        elif host.address and (host.address.parked or not self._is_free(host.address, now)):
            host.address.parked.append(name)  # behind those that wait there; it stays scheduled
            self._wake(host.address)
        else:
            return name, self._start(name, host, now)
        return None

    def _take_at(self, address: _Address, now: float) -> tuple[str, FrontierItem] | None:
        """Take from the first host that is parked at an address and ready."""
        address.scheduled = False
        while address.parked and self._is_free(address, now):
            name = address.parked.popleft()
            host = self._hosts.get(name)
            if host is None:
                continue
            if host.queue and self._ready_at(host) <= now:
                return name, self._start(name, host, now)
            host.scheduled = False
            self._schedule(name, host)
        self._wake(address)
        return None

    def _start(self, name: str, host: _Host, now: float) -> FrontierItem:
        """Take a host's next work; count its request for the host and its address."""
        work = host.queue.popleft()
        self.waiting -= 1
        host.in_flight += 1
        host.started_at = now
        host.scheduled = False
        self._schedule(name, host)
        if address := host.shared:
            address.in_flight += 1
            address.started_at = now
            self._wake(address)
        return work

    def _ready_at(self, host: _Host) -> float:
        """Return when a host may get its next request."""
        polite = self._polite
        pause = min(host.latency * polite.factor, polite.longest) if polite.delay else 0.0
        return max(host.not_before, host.started_at + max(host.delay, pause))

    def _is_free(self, address: _Address, now: float) -> bool:
        """Return True if one more request may go to an address now."""
        full = 0 < self._polite.per_address <= address.in_flight
        return not full and address.started_at + self._polite.address_delay <= now

    def _wake(self, address: _Address) -> None:
        """Enter an address into the heap if hosts wait at it and it is not full; once at most."""
        full = 0 < self._polite.per_address <= address.in_flight
        if address.parked and not address.scheduled and not full:
            address.scheduled = True
            self._enter(address.started_at + self._polite.address_delay, address)

    def next_time(self) -> float | None:
        """Return the earliest time at which `take` may return work; None if it needs an event."""
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

    def recorded(self, name: str, row: int) -> None:
        """Forget a URL whose outcome is in the store."""
        host = self._hosts[name]
        host.rows.discard(row)
        self.loaded -= 1

    def probed(self, name: str) -> None:
        """Forget a probe of a host: it was answered."""
        self._hosts[name].probes -= 1
        self.loaded -= 1

    def drop(self, rows: Iterable[int]) -> None:
        """Forget URLs that are not to be fetched any more, unless they were taken."""
        gone = set(rows)
        for host in self._hosts.values():
            if gone.isdisjoint(host.rows):
                continue
            dropped = {one.row for one in host.queue if isinstance(one, Queued)} & gone
            host.queue = deque(
                one for one in host.queue if isinstance(one, Probe) or one.row not in dropped
            )
            self.waiting -= len(dropped)
            self.loaded -= len(dropped)
            host.rows -= dropped

    def slow_down(self, name: str, *, delay: float | None = None, until: float = 0.0) -> None:
        """Slow a host down: set its delay, or allow no request before a time."""
        host = self._hosts[name]
        if delay is not None:
            host.delay = max(self._delay, delay)
        host.not_before = max(host.not_before, until)

    def another_turn(self, name: str, now: float) -> float:
        """Reserve one more request to a host for a URL that was taken; return when it may start.

        The request for robots.txt used the URL's first turn.
        """
        host = self._hosts[name]
        host.started_at = max(now, self._ready_at(host))
        if address := host.shared:
            host.started_at = max(host.started_at, address.started_at + self._polite.address_delay)
            address.started_at = host.started_at
        return host.started_at

    def retire(self, now: float) -> None:
        """Forget hosts that have nothing left and could get a request at once."""
        idle = [
            name
            for name, host in self._hosts.items()
            if not host.rows and not host.probes and self._ready_at(host) <= now
        ]
        for name in idle:
            del self._hosts[name]
        used = {id(host.address) for host in self._hosts.values()}
        since = now - self._polite.address_delay
        for key, address in list(self._addresses.items()):
            if id(address) not in used and address.started_at <= since:
                del self._addresses[key]

    def hosts_waiting(self) -> int:
        """Return how many hosts have something that was not taken yet."""
        return sum(bool(host.queue) for host in self._hosts.values())

    def rows(self) -> Mapping[str, set[int]]:
        """Return for each host the rows that are loaded and not yet recorded."""
        return {name: host.rows for name, host in self._hosts.items()}

    def pace(self) -> dict[str, float]:
        """Return for each host when it may get its next request."""
        return {name: self._ready_at(host) for name, host in self._hosts.items()}

    def delays(self) -> dict[str, float | None]:
        """Return for each host the delay that it asks for, None where ours is as long."""
        return {n: h.delay if h.delay > self._delay else None for n, h in self._hosts.items()}

    def _schedule(self, name: str, host: _Host) -> None:
        """Enter a host into the heap if it has work and is not full; once at most."""
        full = host.in_flight >= self._polite.per_host
        if host.scheduled or not host.queue or full or host.address is None:
            return
        host.scheduled = True
        self._enter(self._ready_at(host), name)

    def _enter(self, at: float, who: str | _Address) -> None:
        """Enter a host or an address into the heap."""
        self._turn += 1
        heapq.heappush(self._heap, (at, self._turn, who))
