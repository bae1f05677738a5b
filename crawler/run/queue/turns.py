"""Turns: which host may get its next request, and when. Pure: the caller brings the clock."""

import heapq
import math
from collections.abc import Callable, Iterable
from itertools import count

from canonry.crawler.admission.scope import registrable
from canonry.crawler.run.queue.politeness import (
    ALONE,
    AddressPace,
    DomainPace,
    HostPace,
    Politeness,
)

# The longest that a request is assumed to take to its host: in seconds, and as a part of the delay.
_MAX_TRANSIT_SECONDS, _MAX_TRANSIT_SHARE = 0.05, 0.2
_SHARES = 4  # shares of the slots, or fewer if there are fewer domains; a domain may use one
_UNPARKED = 256  # parked hosts of an address that become ready at once
_YIELDED = 4  # turns of every other domain, before one of a host that yields
_SLOW = 5.0  # seconds to an answer, from which on a host yields
_LATEST = 0.3  # weight of the latest answer in a host's average latency ...
# ... in which one answer counts as so many seconds at most, or as so many times the average: one
# URL that hangs makes no slow host.
_SUDDEN, _GROWTH = 1.0, 3


class Turns:
    """Requests to one host, and to one address, are sent at least a delay apart.

    A request starts when its turn is taken, and is sent later: on a busy machine, much later. So
    the pause before the next turn counts from the moment of sending, too, and a request waits if it
    would be sent too soon after another one.

    Registrable domains share the requests: however many hosts one has, and however slow they are,
    the hosts of another get their turn.

    Times are seconds on any clock that the caller chooses.
    """

    def __init__(
        self, politeness: Politeness, of: Callable[[str], Politeness] | None = None
    ) -> None:
        """Create turns of no hosts.

        Args:
            politeness: the limits.
            of: returns the limits of a host; None if they are the same for all.
        """
        self._polite = politeness
        self._of = of or (lambda _name: politeness)
        self._shared = politeness.per_address > 0 or politeness.address_delay > 0
        self._hosts: dict[str, HostPace] = {}
        self._addresses: dict[str, AddressPace] = {}
        self._sent: dict[str, float] = {}  # by host: when the latest request was sent
        self._unplaced: dict[str, None] = {}  # in their order, each once
        self._domains: dict[str, DomainPace] = {}
        self._per_host = politeness.per_host  # the highest limit of any host
        # When hosts, and addresses at which hosts are parked, become ready.
        self._heap: list[tuple[float, int, str | AddressPace]] = []
        # Heap of domains with ready hosts; the third number is of the entry: turns may be equal.
        self._ready: list[tuple[int, int, int, DomainPace]] = []
        self._order, self._entries = count(1), count(1)

    def want(
        self, name: str, requests: int, *, ready_at: float = 0.0, delay: float | None = None
    ) -> None:
        """Let a host wait for turns, one for each request. A new host is added.

        Args:
            name: the host.
            requests: how many more are to be sent to it.
            ready_at: no request before this time, or before a later one that is known already.
            delay: the delay that the host's robots.txt asks for, if that is known.
        """
        host = self._hosts.get(name)
        if host is None:
            polite = self._of(name)
            address = None if self._shared and self._shares(polite) else ALONE
            domain = self._domains.setdefault(registrable(name), DomainPace(next(self._order)))
            domain.hosts += 1
            self._per_host = max(self._per_host, polite.per_host)
            host = self._hosts[name] = HostPace(domain, polite, ready_at, polite.delay, address)
            host.started_at = self._sent.get(name, -math.inf)
            if address is None:
                self._unplaced[name] = None
        else:
            host.not_before = max(host.not_before, ready_at)
            if host.address is None:  # it was given away before its address was set
                self._unplaced[name] = None
        if delay is not None:
            host.delay = max(host.polite.delay, delay)
        host.wanted += requests
        self._schedule(name, host)

    def _shares(self, polite: Politeness) -> bool:
        """Return True if a host's own limits are not looser than those of an address."""
        ours = self._polite
        if polite == ours:
            return True
        return polite.delay >= ours.address_delay and not 0 < ours.per_address < polite.per_host

    def cancel(self, name: str, requests: int) -> None:
        """Let a host wait for fewer turns."""
        self._hosts[name].wanted -= requests

    def unplaced(self) -> list[str]:
        """Return the hosts whose address is not known yet, each once; `place` sets it.

        One that is wanted again before that is returned again.
        """
        names = list(self._unplaced)
        self._unplaced.clear()
        return names

    def place(self, name: str, address: str | None) -> None:
        """Set the address of a host; None if no other host shares it."""
        host = self._hosts.get(name)
        if host is not None and host.address is None:
            host.address = (
                ALONE
                if address is None
                else self._addresses.setdefault(address, AddressPace(self._polite, address))
            )
            self._schedule(name, host)

    def by_address(self, names: Iterable[str]) -> list[list[str]]:
        """Group hosts by address. A host is alone if its address is unknown or not shared."""
        groups: dict[int | str, list[str]] = {}
        for name in names:
            address = self._hosts[name].shared
            groups.setdefault(name if address is None else id(address), []).append(name)
        return list(groups.values())

    def sharing(self, names: Iterable[str]) -> dict[str, str]:
        """Return hosts, and all that share an address with one of them, with their addresses."""
        wanted = set(names)
        shared = {id(one) for name in wanted if (one := self._hosts[name].shared) is not None}
        return {
            name: "" if host.shared is None else host.shared.address
            for name, host in self._hosts.items()
            if name in wanted or id(host.shared) in shared
        }

    def domains_of(self, names: Iterable[str], until: float) -> int:
        """Return the number of registrable domains of those hosts that may get a request soon.

        Args:
            names: of hosts.
            until: the latest time that is soon.
        """
        found = (self._hosts[name] for name in names)
        return len({id(host.domain) for host in found if host.ready_at <= until})

    def take(self, now: float) -> str | None:
        """Return a host whose request starts now; None when no host is ready."""
        while self._heap and self._heap[0][0] <= now:
            _, entry, who = heapq.heappop(self._heap)
            if isinstance(who, AddressPace):
                self._unpark(who)
            elif (host := self._hosts.get(who)) is not None and host.entry == entry:
                host.entry = 0
                host.domain.ready.append(who)
                self._enter(host.domain)
        while self._ready and self._has_share(self._ready[0][0]):
            in_flight, turn, _entry, domain = heapq.heappop(self._ready)
            if domain.entry != (in_flight, turn):  # it was entered again since
                continue
            domain.entry = None
            name = self._take_of(domain, now)
            self._enter(domain)
            if name is not None:
                return name
        return None

    def _has_share(self, in_flight: int) -> bool:
        """Return True if a domain with this many requests in flight may get one more."""
        domains = max(1, len(self._domains))  # the heap may still have one that was retired
        share = self._polite.slots // min(domains, _SHARES)
        return in_flight < max(share, self._per_host)

    def _take_of(self, domain: DomainPace, now: float) -> str | None:
        """Start a request of a domain's first host with a free address; park those before it."""
        while domain.ready:
            name = domain.ready.popleft()
            host = self._hosts.get(name)
            if host is None or host.entry or not host.scheduled:  # it was retired or taken since
                continue
            if not host.wanted or host.ready_at > now:  # cancelled or slowed down since
                host.scheduled = False
                self._schedule(name, host)
            elif host.address is None or host.address.is_free(now):
                self._start(name, host, now)
                return name
            else:
                host.address.parked.append(name)  # it stays scheduled
                self._wake(host.address)
        return None

    def _unpark(self, address: AddressPace) -> None:
        """Make hosts ready that were parked at an address, and enter their domains."""
        address.scheduled = False
        first = [address.parked.popleft() for _ in range(min(len(address.parked), _UNPARKED))]
        for name in reversed(first):
            if (host := self._hosts.get(name)) is not None:
                host.domain.ready.appendleft(name)
                self._enter(host.domain)

    def _enter(self, domain: DomainPace) -> None:
        """Enter a domain into the heap of those with ready hosts, at its current place."""
        place = (domain.in_flight, domain.turn)
        if domain.ready and domain.entry != place:
            domain.entry = place
            heapq.heappush(self._ready, (*place, next(self._entries), domain))

    def _start(self, name: str, host: HostPace, now: float) -> None:
        """Count a request that starts, for the host, its address and its domain."""
        host.domain.in_flight += 1
        host.domain.turn = next(self._order)
        if host.yields or host.is_slow:
            host.domain.turn += _YIELDED * len(self._domains)
        host.wanted -= 1
        host.unspent += 1
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

    def spend(self, name: str, now: float) -> float:
        """Spend a turn of a host on a request; return when the request may start.

        A request without a turn takes the next one. So requests for robots.txt, and for redirects
        that are followed at once, count like others.

        Args:
            name: any host, also one without turns, such as the target of such a redirect.
            now: the time.
        """
        host = self._hosts.get(name)
        if host is None:
            return now + self.until_sending(name, now)
        if host.unspent:
            host.unspent -= 1
            return now
        host.started_at = max(now, host.ready_at)
        if address := host.shared:
            host.started_at = max(host.started_at, address.ready_at)
            address.started_at = host.started_at
        return host.started_at

    def until_sending(self, name: str, now: float) -> float:
        """Return the seconds until a request may be sent to a host; 0 or less means at once.

        If the clock was set back, the latest request counts as sent now.
        """
        host = self._hosts.get(name)
        sent_at = self._sent[name] = min(self._sent.get(name, -math.inf), now)
        seconds = sent_at + self._delay_of(name) - now
        if host is not None and (address := host.shared):
            address.sent_at = min(address.sent_at, now)
            seconds = max(seconds, address.sent_at + address.polite.address_delay - now)
        return seconds

    def sent(self, name: str, now: float) -> None:
        """Note that a request was sent to a host: its next turn is a delay from now."""
        self._sent[name] = now
        host = self._hosts.get(name)
        if host is None:
            return
        host.started_at = max(host.started_at, now)
        if address := host.shared:
            address.sent_at = max(address.sent_at, now)
            address.started_at = max(address.started_at, now)

    def arrived(self, name: str, now: float) -> None:
        """Note that a host answers, which proves that a request has arrived there.

        A request may arrive late, and the next one soon after it. So the pause counts from the
        answer, or from a little after the moment of sending if that is earlier.
        """
        delay = self._delay_of(name)
        later = min(_MAX_TRANSIT_SECONDS, delay * _MAX_TRANSIT_SHARE)
        self.sent(name, min(now, self._sent.get(name, now) + later))

    def _delay_of(self, name: str) -> float:
        """Return the seconds between two requests to a host, also to one without turns."""
        host = self._hosts.get(name)
        return self._of(name).delay if host is None else host.delay

    def done(self, name: str) -> None:
        """Count a request to a host as ended."""
        host = self._hosts[name]
        host.in_flight -= 1
        host.domain.in_flight -= 1
        self._enter(host.domain)
        host.unspent = min(host.unspent, host.in_flight)
        self._schedule(name, host)
        if address := host.shared:
            address.in_flight -= 1
            self._wake(address)

    def give_back(self, name: str) -> None:
        """Undo the start of a request that was not sent: the next one need not wait for it.

        `until_sending` still keeps requests a delay apart.
        """
        host = self._hosts[name]
        host.started_at = min(host.started_at, self._sent.get(name, -math.inf))
        if address := host.shared:
            address.started_at = min(address.started_at, address.sent_at)
        if host.entry:
            host.scheduled = False
            self._schedule(name, host)

    def answered(self, name: str, seconds: float | None) -> None:
        """Note how long a host took to answer: slow hosts get fewer requests.

        Args:
            name: the host.
            seconds: None if it did not answer. A slow or mute one yields to others.
        """
        host = self._hosts[name]
        host.is_slow = seconds is None or seconds >= _SLOW
        if seconds is None:
            return
        counted = min(seconds, max(_SUDDEN, _GROWTH * host.latency))
        host.latency += _LATEST * (counted - host.latency)

    def slow_down(self, name: str, *, delay: float | None = None, until: float = 0.0) -> None:
        """Slow a host down: set its delay, or allow no request before a time."""
        host = self._hosts[name]
        if delay is not None:
            if delay > host.delay:
                host.unspent = 0  # those turns were taken too early
            host.delay = max(host.polite.delay, delay)
        host.not_before = max(host.not_before, until)

    def set_yields(self, name: str, *, yields: bool) -> None:
        """Let a host yield to others that are ready, or take its turns as they do.

        Where others are always ready, each of them gets some four turns for one of this. Nothing is
        lost: where no other is ready, it gets its turn.
        """
        if (host := self._hosts.get(name)) is not None:
            host.yields = yields

    def retire(self, names: Iterable[str], now: float) -> list[str]:
        """Forget the hosts that could get a request at once; return them."""
        retired = [name for name in names if self._hosts[name].ready_at <= now]
        for name in retired:
            domain = self._hosts.pop(name).domain
            domain.hosts -= 1
            if not domain.hosts:
                del self._domains[registrable(name)]
        used = {id(host.address) for host in self._hosts.values()}
        for key, address in list(self._addresses.items()):
            if id(address) not in used and address.ready_at <= now:
                del self._addresses[key]
        for name in [name for name in self._sent if self.until_sending(name, now) <= 0]:
            del self._sent[name]
        return retired

    def pace(self) -> dict[str, float]:
        """Return for each host when it may get its next request, from whatever worker."""
        return {
            name: host.ready_at
            if (address := host.shared) is None
            else max(host.ready_at, address.ready_at)
            for name, host in self._hosts.items()
        }

    def delays(self) -> dict[str, float | None]:
        """Return for each host the delay that it asks for; None if ours is at least as long."""
        return {
            name: host.delay if host.delay > host.polite.delay else None
            for name, host in self._hosts.items()
        }

    def _schedule(self, name: str, host: HostPace) -> None:
        """Enter a host into the heap if it waits for a turn and is not full; once at most."""
        full = host.in_flight >= host.polite.per_host
        if host.scheduled or not host.wanted or full or host.address is None:
            return
        host.scheduled = True
        host.entry = next(self._entries)
        heapq.heappush(self._heap, (host.ready_at, host.entry, name))

    def _wake(self, address: AddressPace) -> None:
        """Enter an address into the heap if hosts wait at it and it is not full; once at most."""
        if address.parked and not address.scheduled and not address.is_full:
            address.scheduled = True
            heapq.heappush(self._heap, (address.ready_at, next(self._entries), address))
