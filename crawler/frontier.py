"""The frontier in memory: which URL may be asked next. Pure: the caller brings the clock."""

import heapq
import math
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from storage import Queued


@dataclass(slots=True)
class _Host:
    """One host's queue and pace."""

    not_before: float
    delay: float
    started_at: float = -math.inf
    queue: deque[Queued] = field(default_factory=deque)
    in_flight: int = 0
    rows: set[int] = field(default_factory=set)  # loaded and not yet recorded
    scheduled: bool = False

    @property
    def ready_at(self) -> float:
        """Return when it may be asked again."""
        return max(self.not_before, self.started_at + self.delay)


class Frontier:
    """Queues by host; requests to one host start at least its delay apart.

    A URL is put once and stays loaded until it is recorded, so that the store never hands it out
    a second time. Times are seconds on any clock that the caller chooses.
    """

    def __init__(self, delay: float, per_host: int) -> None:
        """Begin empty.

        Args:
            delay: least seconds between the starts of two requests to one host.
            per_host: most requests in flight to one host.
        """
        self._delay = delay
        self._per_host = per_host
        self._hosts: dict[str, _Host] = {}
        self._heap: list[tuple[float, int, str]] = []
        self._turn = 0  # among hosts ready at the same time, first come, first served
        self.waiting = 0
        self.loaded_rows = 0

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
            urls: in the order in which to ask; rows that are loaded already are passed over.
            ready_at: no request before; what is known here already counts where it is later.
            delay: what the host's robots.txt asked for, if that is known.
        """
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host(ready_at, self._delay)
        host.not_before = max(host.not_before, ready_at)
        if delay is not None:
            host.delay = max(self._delay, delay)
        for url in urls:
            if url.row not in host.rows:
                host.rows.add(url.row)
                host.queue.append(url)
                self.waiting += 1
                self.loaded_rows += 1
        self._schedule(name, host)

    def take(self, now: float) -> tuple[str, Queued] | None:
        """Return a URL that may be asked now, and its host; None when none may."""
        while self._heap and self._heap[0][0] <= now:
            _, _, name = heapq.heappop(self._heap)
            host = self._hosts[name]
            host.scheduled = False
            if not host.queue:  # it was dropped since
                continue
            if host.ready_at <= now:
                return name, self._start(name, host, now)
            self._schedule(name, host)  # it was slowed down since it was entered
        return None

    def _start(self, name: str, host: _Host, now: float) -> Queued:
        """Take a host's next URL, and a place of it."""
        url = host.queue.popleft()
        self.waiting -= 1
        host.in_flight += 1
        host.started_at = now
        self._schedule(name, host)
        return url

    def next_time(self) -> float | None:
        """Return the earliest time at which `take` has something; None when it needs an event."""
        return self._heap[0][0] if self._heap else None

    def done(self, name: str) -> None:
        """Free the place that a request to a host took."""
        host = self._hosts[name]
        host.in_flight -= 1
        self._schedule(name, host)

    def recorded(self, name: str, row: int) -> None:
        """Forget a URL whose outcome is in the store."""
        host = self._hosts[name]
        host.rows.discard(row)
        self.loaded_rows -= 1

    def drop(self, rows: Iterable[int]) -> None:
        """Forget URLs that are not to be asked any more; those that were taken go on."""
        gone = set(rows)
        for host in self._hosts.values():
            if gone.isdisjoint(host.rows):
                continue
            kept = deque(url for url in host.queue if url.row not in gone)
            dropped = {url.row for url in host.queue} & gone
            self.waiting -= len(dropped)
            self.loaded_rows -= len(dropped)
            host.rows -= dropped
            host.queue = kept

    def slow_down(self, name: str, *, delay: float | None = None, until: float = 0.0) -> None:
        """Widen a host's pace: a longer delay, or no request before a time."""
        host = self._hosts[name]
        if delay is not None:
            host.delay = max(self._delay, delay)
        host.not_before = max(host.not_before, until)

    def another_turn(self, name: str, now: float) -> float:
        """Reserve a further request to a host for a URL that was taken; return when it may start.

        A robots.txt takes the turn of the URL for which it had to be asked.
        """
        host = self._hosts[name]
        host.started_at = max(now, host.ready_at)
        return host.started_at

    def retire(self, now: float) -> None:
        """Forget hosts that have nothing left and whose pace no longer binds anyone."""
        idle = [n for n, h in self._hosts.items() if not h.rows and h.ready_at <= now]
        for name in idle:
            del self._hosts[name]

    def hosts_waiting(self) -> int:
        """Return how many hosts have URLs that were not taken yet."""
        return sum(bool(host.queue) for host in self._hosts.values())

    def loaded(self) -> Mapping[str, set[int]]:
        """Return for each host the rows that are loaded and not yet recorded."""
        return {name: host.rows for name, host in self._hosts.items()}

    def pace(self) -> dict[str, float]:
        """Return for each host when it may be asked again."""
        return {name: host.ready_at for name, host in self._hosts.items()}

    def delays(self) -> dict[str, float | None]:
        """Return for each host the delay that it asked for, where that is longer than ours."""
        return {n: h.delay if h.delay > self._delay else None for n, h in self._hosts.items()}

    def _schedule(self, name: str, host: _Host) -> None:
        """Enter a host into the heap when it has a URL and a free place; once at most."""
        if host.scheduled or not host.queue or host.in_flight >= self._per_host:
            return
        host.scheduled = True
        self._turn += 1
        heapq.heappush(self._heap, (host.ready_at, self._turn, name))
