"""The frontier in memory: what to request from a host next. Pure: it knows no clock."""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from canonry.crawler.learn.evidence.probes import Probe
from canonry.crawler.run.turns import Turns
from canonry.storage import Queued

FrontierItem = Queued | Probe  # what the next request is for


@dataclass(slots=True)
class _Host:
    """One host's queue, and what of it is loaded."""

    queue: deque[FrontierItem] = field(default_factory=deque)  # as long as the turns it waits for
    rows: set[int] = field(default_factory=set)  # loaded and not yet recorded
    probes: int = 0  # put and not yet answered


def _enqueue(queue: deque[FrontierItem], work: FrontierItem) -> None:
    """Insert work behind what is as urgent: almost always at the end."""
    if not queue or queue[-1].priority <= work.priority:
        queue.append(work)
        return
    place = next(n for n, one in enumerate(queue) if one.priority > work.priority)
    queue.insert(place, work)


class Frontier:
    """Queues by host; each item waits for a turn of its host.

    A URL is put once and stays loaded until it is recorded, so that it is never leased a second
    time meanwhile.
    """

    def __init__(self, turns: Turns) -> None:
        """Create an empty frontier.

        Args:
            turns: of the same hosts. Nobody else may add, take or retire any.
        """
        self._turns = turns
        self._hosts: dict[str, _Host] = {}
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
            ready_at: no request before, as for `Turns.want`.
            delay: the delay that the host's robots.txt asks for, if that is known.
        """
        host = self._host(name)
        count = -len(host.queue)
        for url in urls:
            if url.row not in host.rows:
                host.rows.add(url.row)
                _enqueue(host.queue, url)
        count += len(host.queue)
        self.waiting += count
        self.loaded += count
        self._turns.want(name, count, ready_at=ready_at, delay=delay)

    def put_probe(self, name: str, probe: Probe) -> None:
        """Queue a probe of a host, behind its URLs."""
        host = self._host(name)
        _enqueue(host.queue, probe)
        host.probes += 1
        self.waiting += 1
        self.loaded += 1
        self._turns.want(name, 1)

    def _host(self, name: str) -> _Host:
        """Return a host; add it where it is new."""
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = _Host()
        return host

    def take(self, now: float) -> tuple[str, FrontierItem] | None:
        """Return a host and what to request from it now; None when no host is ready."""
        name = self._turns.take(now)
        if name is None:
            return None
        self.waiting -= 1
        return name, self._hosts[name].queue.popleft()

    def recorded(self, name: str, row: int) -> None:
        """Forget a URL whose outcome is in the store."""
        self._hosts[name].rows.discard(row)
        self.loaded -= 1

    def probed(self, name: str) -> None:
        """Forget a probe of a host: it was answered."""
        self._hosts[name].probes -= 1
        self.loaded -= 1

    def drop(self, rows: Iterable[int]) -> None:
        """Forget URLs that are not to be fetched any more, unless they were taken."""
        gone = set(rows)
        for name, host in self._hosts.items():
            if gone.isdisjoint(host.rows):
                continue
            dropped = {one.row for one in host.queue if isinstance(one, Queued)} & gone
            host.queue = deque(
                one for one in host.queue if isinstance(one, Probe) or one.row not in dropped
            )
            self._turns.cancel(name, len(dropped))
            self.waiting -= len(dropped)
            self.loaded -= len(dropped)
            host.rows -= dropped

    def retire(self, now: float) -> None:
        """Forget hosts that have nothing left and could get a request at once."""
        idle = [name for name, host in self._hosts.items() if not host.rows and not host.probes]
        for name in self._turns.retire(idle, now):
            del self._hosts[name]

    def hosts_waiting(self) -> int:
        """Return how many hosts have something that was not taken yet."""
        return sum(bool(host.queue) for host in self._hosts.values())

    def rows(self) -> Mapping[str, set[int]]:
        """Return for each host the rows that are loaded and not yet recorded."""
        return {name: host.rows for name, host in self._hosts.items()}
