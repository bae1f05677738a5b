"""Handing over: a worker with several hosts gives some of them to workers that have none."""

from collections.abc import Collection

from canonry.crawler.run.queue.frontier import Frontier
from canonry.crawler.run.queue.store_session import Pace, StoreSession
from canonry.crawler.run.queue.turns import Turns

_PAUSE = 0.1  # seconds between two transactions, while some hosts still have requests under way


class HandingOver:
    """Drains hosts, and gives them to other workers.

    Nothing more is requested from a host that leaves. It is handed over, with its pace, as soon as
    everything that was requested from it is recorded, so that no two workers ever ask one host.
    """

    def __init__(self, store_session: StoreSession, frontier: Frontier, turns: Turns) -> None:
        """Bind the store, the frontier with the hosts, and what knows their pace."""
        self._store_session = store_session
        self._frontier = frontier
        self._turns = turns
        self._leaving: dict[str, str] = {}  # hosts, with the workers that get them
        self._handed_at = 0.0

    def __contains__(self, host: str) -> bool:
        """Return True if nothing more may be requested from a host."""
        return host in self._leaving

    def begin(self, workers: Collection[str]) -> None:
        """Let some of our hosts leave: each of these workers gets as many as we keep.

        Hosts on one address stay together, since only one worker keeps the pace of the address.
        """
        if self._leaving:
            return
        waiting = self._frontier.names_waiting()
        groups = self._turns.by_address(waiting)
        share = max(1, len(waiting) // (len(workers) + 1))
        for worker in workers:
            given = 0
            while len(groups) > 1 and given < share:
                group = groups.pop()
                self._leaving.update(dict.fromkeys(group, worker))
                given += len(group)
        self._frontier.lose(self._leaving)

    async def finish(self, now: float) -> None:
        """Hand over the hosts that have nothing under way any more.

        Args:
            now: seconds since 1970.
        """
        drained = [name for name in self._leaving if self._frontier.is_drained(name)]
        early = len(drained) < len(self._leaving) and 0.0 <= now - self._handed_at < _PAUSE
        if not drained or early:
            return
        self._handed_at = now
        ready, delays = self._turns.pace(), self._turns.delays()
        given: dict[str, list[str]] = {}
        for name in drained:
            given.setdefault(self._leaving[name], []).append(name)
        for worker, names in given.items():
            pace = Pace({n: ready[n] for n in names if n in ready}, delays)
            for name in await self._store_session.hand_over(now, worker, names, pace):
                del self._leaving[name]
