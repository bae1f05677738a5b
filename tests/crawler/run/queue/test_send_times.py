"""The pause counts from the moment a request is sent, whatever the machine does meanwhile."""

import asyncio
import heapq
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from itertools import count, cycle, pairwise
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from support.sites import children, run_command, start, wait_for
from support.stamping import Stamping, stamping

from canonry.crawler.run import wiring
from canonry.crawler.run.queue.politeness import Politeness
from canonry.crawler.run.queue.turns import Turns
from canonry.crawler.settings import load

DELAY = 0.1
NOTED_LATE = 0.002  # seconds by which a clock may run differently from the kernel's
SEED = "http://h0.example/"


def crawl(folder: Path, server: Stamping, *, busy: bool = False) -> None:
    """Crawl a server, in an event loop that something else blocks now and then."""

    async def block() -> None:
        while True:
            await asyncio.sleep(0.02)
            time.sleep(0.15)  # noqa: ASYNC251 - longer than the pause

    async def run() -> None:
        blocking = asyncio.create_task(block()) if busy else None
        crawl_keys = {"delay": DELAY, "scope": "any"}
        fetch_keys = {"connect_to": [f"::127.0.0.1:{server.port}"]}
        settings = load(None, {"crawl": crawl_keys, "fetch": fetch_keys})
        store = f"sqlite:///{folder / 'store.db'}"
        await wiring.crawl([SEED], store, settings, notify=lambda _: None)
        if blocking:
            blocking.cancel()

    asyncio.run(run())


def assert_polite(
    crawl: Callable[[Path, Stamping], object], folder: Path, hosts: Iterable[int] = range(4)
) -> None:
    """Assert that a crawl gets every page, with the delay between any two requests to a host.

    Where the kernel does not stamp requests, a server on a busy machine may note one late; there
    the crawl may be repeated. A pause that is not kept is short each time.
    """
    pages = {(f"h{host}.example", f"/{page}") for host in hosts for page in range(3)}
    for number in range(3):
        (place := folder / str(number)).mkdir()
        with stamping() as server:
            crawl(place, server)
            asked = {(host, target) for _, host, target in server.arrivals()}
            shortest = {host: server.shortest(host) for host, _ in asked}
        assert asked >= pages - {("h3.example", "/0")}
        slow = shortest.pop("h3.example")  # its robots.txt asks for that
        if min(shortest.values()) >= DELAY - NOTED_LATE and slow >= 2 * DELAY - NOTED_LATE:
            return
        if server.is_exact:
            break
    raise AssertionError(shortest, slow)


@contextmanager
def burning() -> Iterator[None]:
    """Keep a processor busy."""
    with subprocess.Popen([sys.executable, "-Ic", "while True: pass"]) as process:
        try:
            yield
        finally:
            process.kill()


def test_the_pause_holds_for_robots_files_and_redirects_and_while_the_loop_is_busy(
    tmp_path: Path,
) -> None:
    assert_polite(partial(crawl, busy=True), tmp_path)


def test_the_pause_holds_from_the_start_beside_another_program(tmp_path: Path) -> None:
    with burning(), burning():
        assert_polite(crawl, tmp_path)


def test_the_pause_holds_across_workers_that_are_killed_and_resumed_at_once(tmp_path: Path) -> None:
    def killed_and_resumed(folder: Path, server: Stamping) -> None:
        words = ["crawl", *(f"http://h{n}.example/" for n in (0, 2, 3))]
        how = ["--connect-to", f"::127.0.0.1:{server.port}", "--delay", str(DELAY)]
        process = start(folder, *words, *how, "--config", "crawl.workers=2")
        wait_for(lambda: len(server.arrivals()) > 6)
        for pid in (*children(process), process.pid):
            os.kill(pid, signal.SIGKILL)
        process.communicate()
        done = run_command(*words, *how, folder=folder)
        assert done.returncode == 0, done.stderr

    assert_polite(killed_and_resumed, tmp_path, hosts=(0, 2, 3))


class Simulation:
    """Visits of two hosts on one address, with any time between a turn and its bytes."""

    def __init__(self, polite: Politeness, lags: list[float], elsewhere: bool) -> None:
        self.turns = Turns(polite)
        self.lag, self.number, self.elsewhere = cycle(lags), count(), elsewhere
        self.now = 0.0
        self.sent: dict[str, list[float]] = {"a": [], "b": [], "elsewhere": []}
        # Connected requests: when, to which host, and how many more its visit makes.
        self.connected: list[tuple[float, int, str, int]] = []

    def run(self, delay: float | None, requests: list[int]) -> None:
        """Make visits of so many requests each, to each host."""
        for name in "ab":
            self.turns.want(name, len(requests), delay=delay)
            self.turns.place(name, "there")
        left = {name: iter(requests) for name in "ab"}
        while True:
            while (name := self.turns.take(self.now)) is not None:
                self.connect(name, next(left[name]) - 1)
            soon = [at for at, *_ in self.connected[:1]]
            soon += [at for at in [self.turns.next_time()] if at is not None and at > self.now]
            if not soon:
                return
            self.now = min(soon)
            while self.connected and self.connected[0][0] <= self.now:
                self.send(*heapq.heappop(self.connected)[2:])

    def connect(self, name: str, more: int) -> None:
        """Start a request."""
        self.wait(self.turns.spend(name, self.now) + next(self.lag), name, more)

    def wait(self, until: float, name: str, more: int) -> None:
        """Try to send a request at a time."""
        heapq.heappush(self.connected, (until, next(self.number), name, more))

    def send(self, name: str, more: int) -> None:
        """Send a request when it may be sent, and go on with its visit."""
        if (seconds := self.turns.until_sending(name, self.now)) > 0:
            self.wait(self.now + seconds, name, more)
            return
        self.sent[name].append(self.now)
        self.turns.sent(name, self.now)
        self.turns.arrived(name, self.now)
        if more:
            self.connect(name, more - 1)
            if self.elsewhere:
                self.connect("elsewhere", 0)
        elif name in "ab":
            self.turns.done(name)


@given(
    delay=st.sampled_from([0.0, 0.5, 1.0]),
    asked=st.sampled_from([None, 0.2, 2.0]),
    address_delay=st.sampled_from([0.0, 0.3]),
    lags=st.lists(st.floats(0, 3), min_size=1, max_size=9),
    requests=st.lists(st.integers(1, 3), min_size=1, max_size=9),
    elsewhere=st.booleans(),
)
def test_no_request_is_sent_too_early_however_late_the_one_before_it_was(
    delay: float,
    asked: float | None,
    address_delay: float,
    lags: list[float],
    requests: list[int],
    elsewhere: bool,
) -> None:
    simulation = Simulation(Politeness(delay, 4, address_delay, 4), lags, elsewhere)
    simulation.run(asked, requests)
    sent = simulation.sent
    assert [len(sent[name]) for name in "ab"] == [sum(requests)] * 2
    for name, times in sent.items():
        pause = delay if name == "elsewhere" else max(delay, asked or 0.0)
        assert all(b - a >= pause - 1e-9 for a, b in pairwise(times))
    both = sorted(sent["a"] + sent["b"])
    assert all(b - a >= address_delay - 1e-9 for a, b in pairwise(both))


def test_a_clock_that_is_set_back_does_not_hold_requests_for_as_long() -> None:
    turns = Turns(Politeness(1.0, 1))
    turns.want("h", 1)
    turns.sent("h", 1_000.0)
    assert turns.until_sending("h", 10.0) == 1.0
    assert turns.until_sending("h", 11.0) == 0.0


def test_a_turn_without_a_request_is_not_spent_later() -> None:
    turns = Turns(Politeness(1.0, 1))
    turns.want("h", 2)
    assert turns.take(10.0) == "h"
    turns.done("h")  # robots.txt, which is known, does not allow the URL
    assert turns.take(11.0) == "h"
    assert turns.spend("h", 11.0) == 11.0
    assert turns.spend("h", 11.0) == 12.0, "a redirect that is followed at once"


def test_a_turn_that_is_given_back_is_at_once_the_next_ones() -> None:
    turns = Turns(Politeness(delay=10.0, per_host=4, address_delay=1.0, per_address=9))
    turns.want("a", 20)
    turns.place("a", "1.1.1.1")
    assert turns.take(100.0) == "a"
    turns.sent("a", 100.0)
    assert turns.take(109.0) is None
    for _ in range(8):
        assert turns.take(110.0) == "a"
        turns.give_back("a")
        turns.done("a")
        assert len(turns._heap) <= 10, "entries that count no more are not entered again"  # noqa: SLF001
    assert turns.take(110.0) == "a"
    turns.sent("a", 110.0)
    turns.give_back("a")
    assert turns.take(119.0) is None, "what was sent was sent"
    assert [turns.take(now) for now in (120.0, 120.0, 130.0)] == ["a", None, "a"]
