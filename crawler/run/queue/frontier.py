"""The frontier in memory: what to request from a host next. Pure: it knows no clock."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.run.queue.turns import Turns
from canonry.storage import Queued
from canonry.storage.records import FEW_DEFERRED

FrontierItem = Queued | Probe  # what the next request is for

_MOST_DEFERRED = 256  # URLs of a host


@dataclass(slots=True)
class _Host:
    """One host's loaded URLs and probes."""

    # By priority, each in the order of arrival; one item for each awaited turn. None is empty.
    queues: dict[int, dict[int | Probe, FrontierItem]] = field(default_factory=dict)
    url_ids: set[int] = field(default_factory=set)  # loaded and not yet recorded
    probes: int = 0  # put and not yet answered
    lost: bool = False  # leased to another worker meanwhile
    most_deferred: int = FEW_DEFERRED  # that may be loaded

    def add(self, key: int | Probe, work: FrontierItem) -> None:
        """Add work behind other work of its priority."""
        self.queues.setdefault(work.priority, {})[key] = work

    def take(self) -> FrontierItem:
        """Remove and return the most urgent work."""
        priority = min(self.queues)
        return self._remove(priority, next(iter(self.queues[priority])))

    def promote(self, url: Queued) -> None:
        """Move a URL to its new priority, unless it has a better one or was taken."""
        for priority in self.queues:
            if priority > url.priority and url.url_id in self.queues[priority]:
                self._remove(priority, url.url_id)
                self.add(url.url_id, url)
                return

    def drop(self, url_ids: set[int]) -> int:
        """Forget URLs, except those that were taken; return how many were forgotten."""
        waiting = [
            (p, url_id) for p, queue in self.queues.items() for url_id in url_ids & queue.keys()
        ]
        for priority, url_id in waiting:
            self._remove(priority, url_id)
            self.url_ids.discard(url_id)
        return len(waiting)

    def drop_probes(self) -> int:
        """Forget the probes that were not taken; return how many."""
        untaken = [
            (p, key) for p, queue in self.queues.items() for key in queue if key not in self.url_ids
        ]
        for priority, key in untaken:
            self._remove(priority, key)
        self.probes -= len(untaken)
        return len(untaken)

    def _remove(self, priority: int, key: int | Probe) -> FrontierItem:
        """Remove work from the queue of its priority."""
        queue = self.queues[priority]
        work = queue.pop(key)
        if not queue:
            del self.queues[priority]
        return work


class Frontier:
    """Queues by host; each item waits for a turn of its host.

    A URL is put once and stays loaded until it is recorded, so that it is never leased a second
    time meanwhile.
    """

    def __init__(self, turns: Turns) -> None:
        """Create an empty frontier.

        Args:
            turns: of the same hosts. Only this frontier may add, take or retire them.
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
    ) -> int:
        """Queue URLs of a host, or promote those that are loaded already.

        Args:
            name: the host.
            urls: in the order of their requests. Smaller priorities go before what is queued. A
                loaded one moves if its priority is better now.
            ready_at: no request before this time, as for `Turns.want`.
            delay: the delay that the host's robots.txt asks for, if that is known.

        Returns:
            How many were not loaded before.
        """
        host = self._host(name)
        host.lost = False
        count = 0
        for url in urls:
            if url.url_id in host.url_ids:
                host.promote(url)
            else:
                host.url_ids.add(url.url_id)
                host.add(url.url_id, url)
                count += 1
        self.waiting += count
        self.loaded += count
        self._turns.want(name, count, ready_at=ready_at, delay=delay)
        return count

    def put_probe(self, name: str, probe: Probe) -> None:
        """Queue a probe of a host, before its ordinary URLs; unless the host was lost."""
        host = self._host(name)
        if host.lost or probe in host.queues.get(probe.priority, ()):
            return
        host.add(probe, probe)
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
        return name, self._hosts[name].take()

    def recorded(self, name: str, url_id: int, *, suppresses: bool = False) -> bool:
        """Forget a URL whose outcome is in the store; return True where its host may load more.

        Where a host needs all of its deferred URLs, more of them are loaded each time.

        Args:
            name: the host.
            url_id: of the URL.
            suppresses: True if rules have just held some URLs: few deferred ones are loaded again.
        """
        host = self._hosts[name]
        host.url_ids.discard(url_id)
        self.loaded -= 1
        left = len(host.url_ids)
        if is_half := left == host.most_deferred // 2:
            host.most_deferred = min(2 * host.most_deferred, _MOST_DEFERRED)
        if suppresses:
            host.most_deferred = FEW_DEFERRED
        return is_half or not left

    def most_deferred(self) -> Mapping[str, int]:
        """Return for each host how many of its deferred URLs may be loaded."""
        return {name: host.most_deferred for name, host in self._hosts.items()}

    def waiting_of(self) -> Mapping[str, int]:
        """Return for each host how many URLs and probes were not taken yet."""
        return {name: sum(map(len, host.queues.values())) for name, host in self._hosts.items()}

    def probed(self, name: str) -> None:
        """Forget a probe of a host: it was answered."""
        self._hosts[name].probes -= 1
        self.loaded -= 1

    def drop(self, url_ids: Iterable[int]) -> None:
        """Forget URLs that are not to be fetched any more, unless they were taken."""
        gone = set(url_ids)
        for name, host in self._hosts.items():
            if gone.isdisjoint(host.url_ids):
                continue
            dropped = host.drop(gone)
            self._turns.cancel(name, dropped)
            self.waiting -= dropped
            self.loaded -= dropped

    def lose(self, names: Iterable[str]) -> None:
        """Forget the work of hosts that other workers have leased, unless it was taken."""
        for name in names:
            if (host := self._hosts.get(name)) is None:
                continue
            host.lost = True
            self.drop(frozenset(host.url_ids))
            probes = host.drop_probes()
            self._turns.cancel(name, probes)
            self.waiting -= probes
            self.loaded -= probes

    def retire(self, now: float) -> None:
        """Forget hosts that have nothing left and could get a request at once."""
        idle = [name for name, host in self._hosts.items() if not host.url_ids and not host.probes]
        for name in self._turns.retire(idle, now):
            del self._hosts[name]

    def is_loaded(self, name: str) -> bool:
        """Return True if a host was put, and neither lost nor retired."""
        host = self._hosts.get(name)
        return host is not None and not host.lost

    def is_drained(self, name: str) -> bool:
        """Return True if nothing of a host is loaded, or under way."""
        host = self._hosts.get(name)
        return host is None or not (host.url_ids or host.probes)

    def domains_waiting(self, until: float) -> int:
        """Return how many registrable domains have work that may be taken until a time."""
        return self._turns.domains_of(self.names_waiting(), until)

    def names_waiting(self) -> list[str]:
        """Return the hosts that have something that was not taken yet."""
        return [name for name, host in self._hosts.items() if host.queues]

    def url_ids(self) -> Mapping[str, set[int]]:
        """Return for each host the ids of the URLs that are loaded and not yet recorded."""
        return {name: host.url_ids for name, host in self._hosts.items()}
