"""The frontier in memory: nothing is lost, politeness is never broken, no host starves."""

from collections.abc import Mapping
from itertools import pairwise
from types import MappingProxyType
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.run.queue.frontier import Frontier
from canonry.crawler.run.queue.politeness import Politeness
from canonry.crawler.run.queue.turns import Turns
from canonry.storage import Queued
from canonry.storage.records import FIRST, ORDINARY, QUESTION, TARGET


def queued(url_id: int) -> Queued:
    """Return a URL to fetch."""
    return Queued(url_id, f"http://h/{url_id}", 0, 0, 0)


class Simulation:
    """A frontier, a clock, and requests that take time."""

    def __init__(self, polite: Politeness, slots: int, addresses: list[int]) -> None:
        self.turns = Turns(polite)
        self.frontier = Frontier(self.turns)
        self.polite, self.slots = polite, slots
        self.addresses = addresses
        self.places: dict[str, int] = {}
        self.visits: dict[int, list[float]] = {}  # to each address
        self.now = 0.0
        self.flying: list[tuple[float, str, int]] = []
        self.starts: dict[str, list[float]] = {}
        self.spans: dict[str, list[tuple[float, float]]] = {}  # starts, with their ends
        self.taken: list[int] = []

    def run(self, lengths: list[float], own: Mapping[str, float] = MappingProxyType({})) -> None:
        """Run until nothing is left; requests take the times in ``lengths``, in turn, or their own.

        Args:
            lengths: seconds.
            own: by host, how long each of its requests takes instead.
        """
        while True:
            for name in self.turns.unplaced():
                self.places[name] = self.addresses[len(self.places) % len(self.addresses)]
                self.turns.place(name, str(self.places[name]))
            work = self.frontier.take(self.now) if len(self.flying) < self.slots else None
            if work is not None:
                name, url = work
                assert isinstance(url, Queued)
                self.starts.setdefault(name, []).append(self.now)
                self.taken.append(url.url_id)
                length = own.get(name, lengths[len(self.taken) % len(lengths)])
                self.spans.setdefault(name, []).append((self.now, self.now + length))
                self.flying.append((self.now + length, name, url.url_id))
                assert sum(host == name for _, host, _ in self.flying) <= self.polite.per_host
                if name in self.places:
                    self.visits.setdefault(self.places[name], []).append(self.now)
                    there = [h for _, h, _ in self.flying if self.places[h] == self.places[name]]
                    assert not self.polite.per_address or len(there) <= self.polite.per_address
                continue
            upcoming = [end for end, _, _ in self.flying]
            ready = self.turns.next_time()
            if ready is not None and len(self.flying) < self.slots:
                assert ready > self.now or not self.flying or ready <= self.now
                upcoming.append(ready)
            if not upcoming:
                return
            self.now = max(self.now, min(upcoming))
            for flight in [f for f in self.flying if f[0] <= self.now]:
                self.flying.remove(flight)
                self.turns.done(flight[1])
                self.frontier.recorded(flight[1], flight[2])


@given(
    hosts=st.lists(st.integers(0, 8), min_size=1, max_size=8),
    delay=st.sampled_from([0.0, 0.5, 1.0]),
    per_host=st.integers(1, 4),
    slots=st.integers(1, 6),
    lengths=st.lists(st.floats(0.01, 5), min_size=1, max_size=5),
    address_delay=st.sampled_from([0.0, 0.3]),
    per_address=st.integers(0, 4),
    addresses=st.lists(st.integers(0, 3), min_size=1, max_size=8),
)
def test_everything_is_taken_once_and_politely(
    hosts: list[int],
    delay: float,
    per_host: int,
    slots: int,
    lengths: list[float],
    address_delay: float,
    per_address: int,
    addresses: list[int],
) -> None:
    polite = Politeness(delay, per_host, address_delay, per_address)
    simulation = Simulation(polite, slots, addresses)
    url_ids = iter(range(1000))
    everything = []
    for n, count in enumerate(hosts):
        mine = [queued(next(url_ids)) for _ in range(count)]
        everything += [url.url_id for url in mine]
        simulation.frontier.put(f"h{n}", mine)
        simulation.frontier.put(f"h{n}", mine)  # handed out twice, it is still put once
    simulation.run(lengths)
    assert sorted(simulation.taken) == everything
    for starts in simulation.starts.values():
        assert all(b - a >= delay - 1e-9 for a, b in pairwise(starts))
    for starts in simulation.visits.values():
        assert all(b - a >= address_delay - 1e-9 for a, b in pairwise(starts))
    assert simulation.frontier.loaded == simulation.frontier.waiting == 0


@given(
    crowds=st.lists(st.integers(1, 30), min_size=1, max_size=3),
    urls=st.integers(1, 4),
    delay=st.sampled_from([0.0, 0.5, 1.0]),
    slots=st.integers(1, 6),
    lengths=st.lists(st.floats(0.01, 50), min_size=1, max_size=5),
    address_delay=st.sampled_from([None, 0.0, 0.3]),
)
def test_a_waiting_domain_lets_each_other_go_first_at_most_once(
    crowds: list[int],
    urls: int,
    delay: float,
    slots: int,
    lengths: list[float],
    address_delay: float | None,
) -> None:
    """However many hosts a domain has, on however many addresses, and however slow they are."""
    polite = Politeness(delay, 1, address_delay or 0.0, 0 if address_delay is None else 2)
    simulation = Simulation(polite, slots, [1])
    url_ids = iter(range(1000))
    for domain, hosts in enumerate(crowds):
        for n in range(hosts):
            mine = [queued(next(url_ids)) for _ in range(urls)]
            simulation.frontier.put(f"h{n}.crowd{domain}.example", mine)
    good = "good.example"
    simulation.frontier.put(good, [queued(next(url_ids)) for _ in range(9)])
    simulation.run(lengths)
    ready = 0.0
    for start, end in simulation.spans[good]:
        for domain in range(len(crowds)):
            of_it = (name for name in simulation.starts if name.endswith(f"d{domain}.example"))
            between = [at for name in of_it for at in simulation.starts[name] if ready < at < start]
            assert len(between) <= 1
        ready = max(end, start + delay)


@given(
    hosts=st.integers(1, 40),
    lengths=st.lists(st.floats(0.01, 100), min_size=1, max_size=5),
    delay=st.sampled_from([0.0, 0.5, 1.0]),
)
def test_a_domain_that_never_answers_does_not_delay_another(
    hosts: int, lengths: list[float], delay: float
) -> None:
    """Its requests never fill all slots while hosts of others are there."""

    def starts(crowd: int) -> list[float]:
        simulation = Simulation(Politeness(delay, 2, slots=8), 8, [1])
        for n in range(crowd):
            simulation.frontier.put(f"h{n}.crowd.example", [queued(100 + n)])
        simulation.frontier.put("good.example", [queued(url_id) for url_id in range(9)])
        simulation.run(lengths, {"good.example": 0.1})
        assert len(simulation.taken) == crowd + 9
        return simulation.starts["good.example"]

    assert starts(hosts) == starts(0)


def test_no_host_starves_behind_a_large_one() -> None:
    turns = Turns(Politeness(0.0, 1))
    frontier = Frontier(turns)
    frontier.put("large", [queued(n) for n in range(1000)])
    frontier.put("small", [queued(2000)])
    first = []
    for now in range(4):
        work = frontier.take(float(now))
        assert work is not None
        first.append(work[0])
        turns.done(work[0])
    assert "small" in first


def test_a_host_that_is_slowed_down_waits() -> None:
    turns = Turns(Politeness(1.0, 3))
    frontier = Frontier(turns)
    frontier.put("h", [queued(1), queued(2), queued(3)])
    assert frontier.take(0.0) is not None
    turns.slow_down("h", delay=5.0, until=30.0)
    assert frontier.take(29.9) is None
    assert frontier.take(30.0) is not None
    assert frontier.take(34.9) is None
    assert frontier.take(35.0) is not None
    assert turns.delays() == {"h": 5.0}


def test_a_host_keeps_its_pace_when_it_comes_back() -> None:
    turns = Turns(Politeness(10.0, 1))
    frontier = Frontier(turns)
    frontier.put("h", [queued(1)])
    assert frontier.take(100.0) is not None
    turns.done("h")
    frontier.recorded("h", 1)
    frontier.retire(105.0)
    frontier.put("h", [queued(2)])
    assert frontier.take(109.0) is None
    assert frontier.take(110.0) is not None


def test_a_url_stays_loaded_until_it_is_recorded() -> None:
    turns = Turns(Politeness(0.0, 1))
    frontier = Frontier(turns)
    frontier.put("h", [queued(1)])
    assert frontier.take(0.0) is not None
    turns.done("h")
    assert frontier.url_ids() == {"h": {1}}
    frontier.put("h", [queued(1)])
    assert frontier.take(1.0) is None
    frontier.recorded("h", 1)
    assert frontier.url_ids() == {"h": set()}


def test_hosts_on_one_address_become_exclusives() -> None:
    turns = Turns(Politeness(0.0, 1, per_address=2))
    frontier = Frontier(turns)
    for name in ("a", "b", "c", "far"):
        frontier.put(name, [queued(ord(name[0]) * 10 + n) for n in range(3)])
    assert frontier.take(0.0) is None, "no address is known"
    for name in turns.unplaced():
        turns.place(name, None if name == "far" else "192.0.2.1")
    assert turns.unplaced() == []
    first = [work[0] for work in iter(lambda: frontier.take(0.0), None)]
    assert first == ["a", "b", "far"]
    turns.done("a")
    work = frontier.take(0.0)
    assert work is not None
    assert work[0] == "c", "and not the host that had a request already"


def test_a_slow_host_gets_fewer_requests() -> None:
    turns = Turns(Politeness(1.0, 1, factor=2.0, longest=9.0))
    frontier = Frontier(turns)
    frontier.put("h", [queued(n) for n in range(90)])
    now = 0.0
    gaps = []
    for seconds in (0.1, 60.0, 0.1, *[8.0] * 8, *[0.0] * 20):
        assert frontier.take(now) is not None
        turns.answered("h", seconds)
        turns.done("h")
        ready = turns.next_time()
        assert ready is not None
        while frontier.take(ready) is None:  # it was scheduled before it was known to be slow
            ready = turns.next_time()
            assert ready is not None
        turns.done("h")
        gaps.append(ready - now)
        now = ready + 1000
        frontier.put("h", [queued(1000 + len(gaps))])
    assert gaps[:3] == [1.0] * 3, "one URL that hangs makes no slow host"
    assert 1.0 < gaps[5] < gaps[6] < gaps[7] < gaps[10] == 9.0
    assert gaps[-1] == 1.0


def test_a_parked_host_may_lose_its_urls_and_be_retired() -> None:
    turns = Turns(Politeness(1.0, 1, per_address=1))
    frontier = Frontier(turns)
    for name in ("a", "b"):
        frontier.put(name, [queued(ord(name))])
        turns.place(name, "192.0.2.1")
    assert frontier.take(0.0) is not None
    assert frontier.take(0.0) is None, "b is parked"
    frontier.drop([ord("b")])
    frontier.retire(5.0)
    turns.done("a")
    assert frontier.take(9.0) is None
    frontier.put("b", [queued(7)])
    turns.place("b", "192.0.2.1")
    assert frontier.take(9.0) == ("b", queued(7))


def test_urgent_urls_go_before_those_that_are_loaded() -> None:
    turns = Turns(Politeness(0.0, 9))
    frontier = Frontier(turns)
    urgent = [queued(url_id)._replace(priority=-1) for url_id in (10, 11, 12)]
    frontier.put("h", [queued(1), queued(2)])
    frontier.put("h", urgent[:2])
    frontier.put("h", [queued(3), urgent[2]])
    taken = [work[1] for work in iter(lambda: frontier.take(0.0), None)]
    assert taken == [*urgent, queued(1), queued(2), queued(3)]


def test_a_probe_goes_before_the_urls_of_its_host_and_stays_loaded_until_it_is_answered() -> None:
    turns = Turns(Politeness(1.0, 9))
    frontier = Frontier(turns)
    probe = Probe("http://h/none")
    frontier.put("h", [queued(1), queued(2)])
    frontier.put_probe("h", probe)
    frontier.drop([2])
    assert (frontier.loaded, frontier.url_ids()) == (2, {"h": {1}})
    frontier.put_probe("h", probe)
    assert frontier.loaded == 2, "one probe waits once"
    assert frontier.take(0.0) == ("h", probe)
    turns.done("h")
    assert frontier.take(0.5) is None, "a probe is as polite as a visit"
    assert frontier.take(1.0) == ("h", queued(1))
    turns.done("h")
    frontier.recorded("h", 1)
    frontier.retire(9.0)
    assert frontier.loaded == 1
    frontier.probed("h")
    frontier.retire(9.0)
    assert (frontier.loaded, frontier.waiting, frontier.url_ids()) == (0, 0, {})


def test_a_loaded_url_is_promoted_unless_it_was_taken() -> None:
    turns = Turns(Politeness(0.0, 9))
    frontier = Frontier(turns)
    assert frontier.put("h", [queued(n) for n in range(5)]) == 5
    assert frontier.take(0.0) == ("h", queued(0))
    targets = [queued(n)._replace(priority=TARGET) for n in (3, 0, 9)]
    question = queued(4)._replace(priority=QUESTION)
    assert frontier.put("h", [question, *targets]) == 1, "of these only 9 is new"
    worse = [queued(3), queued(4)._replace(priority=FIRST)]
    assert frontier.put("h", worse) == 0
    assert (frontier.waiting, frontier.loaded) == (5, 6)
    taken = [work[1] for work in iter(lambda: frontier.take(0.0), None)]
    assert taken == [targets[0], targets[2], question, queued(1), queued(2)]
    assert (frontier.waiting, frontier.loaded) == (0, 6)


_STEP = st.one_of(
    st.tuples(
        st.just("put"),
        st.lists(
            st.tuples(st.integers(0, 12), st.sampled_from([ORDINARY, FIRST, QUESTION, TARGET]))
        ),
    ),
    st.tuples(st.just("take"), st.integers(1, 4)),
    st.tuples(st.just("record"), st.integers(1, 4)),
    st.tuples(st.just("drop"), st.sets(st.integers(0, 12), max_size=4)),
)


@given(st.lists(_STEP, max_size=30))
def test_nothing_that_is_put_promoted_or_dropped_is_lost_or_taken_twice(
    steps: list[tuple[str, Any]],
) -> None:
    """The frontier does what a list does that is sorted for each request."""
    turns = Turns(Politeness(0.0, 99))
    frontier = Frontier(turns)
    waiting: dict[int, tuple[int, int]] = {}  # by URL id: the priority, and the order of arrival
    out: list[int] = []
    for now, (step, value) in enumerate([*steps, ("take", 99)]):
        if step == "put":
            for place, (url_id, priority) in enumerate(value):
                fresh = url_id not in out and url_id not in waiting
                if fresh or (url_id in waiting and priority < waiting[url_id][0]):
                    waiting[url_id] = (priority, now * 1000 + place)
            urls = [queued(url_id)._replace(priority=priority) for url_id, priority in value]
            frontier.put("h", urls)
        elif step == "take":
            for _ in range(value):
                work = frontier.take(0.0)
                best = min(waiting, key=waiting.__getitem__, default=None)
                assert (work[1].url_id if work and isinstance(work[1], Queued) else None) == best
                if best is not None:
                    out.append(best)
                    del waiting[best]
        elif step == "record":
            for url_id in out[:value]:
                turns.done("h")
                frontier.recorded("h", url_id)
            del out[:value]
        else:
            frontier.drop(value)
            waiting = {url_id: rank for url_id, rank in waiting.items() if url_id not in value}
        assert frontier.waiting == len(waiting)
        assert frontier.loaded == len(waiting) + len(out)
        assert frontier.domains_waiting(0.0) == bool(waiting)
    assert frontier.waiting == 0


def test_a_domain_that_is_ready_may_lose_its_last_host() -> None:
    turns = Turns(Politeness(0.0, 1, slots=8))
    names = ["a.example", "b.a.example"]
    for name in names:
        turns.want(name, 1)
        turns.place(name, None)
    assert turns.take(0.0) == "a.example"
    turns.done("a.example")
    turns.cancel("b.a.example", 1)
    assert turns.retire(names, 1.0) == names
    assert turns.take(1.0) is None
