"""Address leases: hosts on one address are crawled by one worker, so that its pace holds."""

import asyncio
from collections.abc import Callable, Iterable

from canonry.crawler.run.queue.store_session import StoreSession

_REMEMBERED = 100_000  # addresses


class AddressLeases:
    """The addresses that belong to this worker; claimed in groups, when hosts on them are met."""

    def __init__(self, store_session: StoreSession, clock: Callable[[], float]) -> None:
        """Bind the store, and a clock: seconds since 1970."""
        self._store_session = store_session
        self._clock = clock
        self._ours: set[str] = set()
        self._waiting: dict[str, asyncio.Future[str | None]] = {}
        self._claiming: asyncio.Task[None] | None = None

    async def other_owner(self, address: str) -> str | None:
        """Return the worker that owns an address; None if it is ours, or is now.

        Raises:
            StoreError: if the store cannot be used.
        """
        if address in self._ours:
            return None
        answer = self._waiting.get(address)
        if answer is None:
            answer = self._waiting[address] = asyncio.get_running_loop().create_future()
        if self._claiming is None:
            self._claiming = asyncio.create_task(self._claim())
        return await asyncio.shield(answer)

    async def _claim(self) -> None:
        """Claim what waits, until nothing does."""
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, {}
                try:
                    others = await self._store_session.claim_addresses(list(waiting), self._clock())
                except Exception as error:  # noqa: BLE001 - whoever waits gets it
                    for answer in waiting.values():
                        answer.set_exception(error)
                    continue
                if len(self._ours) > _REMEMBERED:
                    self._ours.clear()  # they still belong to us: the store has them
                self._ours.update(waiting.keys() - others.keys())
                for address, answer in waiting.items():
                    answer.set_result(others.get(address))
        finally:
            self._claiming = None

    def lose(self, addresses: Iterable[str] | None) -> None:
        """Forget addresses that another worker gets; None: all, since our leases had expired."""
        if addresses is None:
            self._ours.clear()
        else:
            self._ours.difference_update(addresses)
