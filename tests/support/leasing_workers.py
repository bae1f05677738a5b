"""Workers for tests: what each has leased of one store, with a clock that the test moves."""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

from support.stores import MAKE, admit, open_store

from canonry.crawler.learn.session import LearningSession
from canonry.crawler.run.queue.address_leases import AddressLeases
from canonry.crawler.run.queue.frontier import Frontier
from canonry.crawler.run.queue.host_leases import HostLeases
from canonry.crawler.run.queue.politeness import Politeness
from canonry.crawler.run.queue.store_session import StoreSession
from canonry.crawler.run.queue.turns import Turns
from canonry.storage import Queued
from canonry.storage.rows import leases
from canonry.storage.sql.engine import Writer

NOW = 1_000.0


class LeasingWorker:
    """What one process leases."""

    def __init__(self, folder: Path, name: str, stack: ExitStack) -> None:
        self.store = stack.enter_context(closing(open_store(folder)))
        writer = stack.enter_context(closing(Writer()))
        self.store.rules = learning = LearningSession(MAKE, print)
        self.session = StoreSession(
            self.store,
            writer,
            worker=name,
            delay=1.0,
            level_by_level=False,
            notify=print,
            learning=learning,
        )
        turns = Turns(Politeness(delay=1.0, per_host=2, per_address=100))
        self.addresses: dict[str, str] = {}  # of hosts that share theirs
        self.frontier = Frontier(turns)
        own_addresses = AddressLeases(self.session, lambda: NOW)
        self.leases = HostLeases(self.session, self.frontier, turns, own_addresses, concurrency=4)
        self.turns = turns

    def refresh(self, now: float) -> None:
        """Do what a worker does before each request."""
        asyncio.run(self.leases.refresh(now))
        for name in self.turns.unplaced():
            self.turns.place(name, self.addresses.get(name))

    def takes(self, now: float) -> set[str]:
        """Return the URLs that it requests now."""
        found = set()
        while (taken := self.frontier.take(now)) is not None:
            assert isinstance(taken[1], Queued)
            found.add(taken[1].url)
        return found


@contextmanager
def leasing_workers(
    folder: Path, hosts: Sequence[str] = "ab"
) -> Iterator[tuple[LeasingWorker, LeasingWorker]]:
    """Open a store with five URLs on each of some hosts for two workers."""
    with ExitStack() as stack:
        one, other = (LeasingWorker(folder, name, stack) for name in ("here:7:one", "other"))
        admit(one.store, [f"http://{host}.example/{n}" for host in hosts for n in range(5)])
        yield one, other


def owners(worker: LeasingWorker) -> set[str]:
    """Return the workers that hold leases."""
    with worker.store.transaction() as connection:
        return leases.HOSTS.holders(connection)
