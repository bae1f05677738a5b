"""Send times: the pacer of a crawl's client, which lets requests out as politeness allows."""

import asyncio
from collections.abc import Callable

from canonry.crawler.admission.scope import host_of
from canonry.crawler.run.queue.turns import Turns


class SendTimes:
    """Whatever is requested, and for whatever reason, counts for the host that it goes to."""

    def __init__(self, turns: Turns, clock: Callable[[], float]) -> None:
        """Bind the turns, which are told when requests were sent, and their clock."""
        self._turns = turns
        self._clock = clock

    async def turn(self, url: str) -> None:
        """Wait for the host's turn, if none was taken for a request of this URL."""
        now = self._clock()
        if (start := self._turns.spend(host_of(url), now)) > now:
            await asyncio.sleep(start - now)

    async def clearance(self, url: str) -> None:
        """Wait until the request may be sent; nothing else runs before the caller goes on."""
        host = host_of(url)
        while (seconds := self._turns.until_sending(host, self._clock())) > 0:  # noqa: ASYNC110
            await asyncio.sleep(seconds)  # others that wait for it may go first; no event tells

    def sent(self, url: str) -> None:
        """Note that the request was sent just now."""
        self._turns.sent(host_of(url), self._clock())

    def arrived(self, url: str) -> None:
        """Note that the head of its answer was read."""
        self._turns.arrived(host_of(url), self._clock())
