"""A clock that tests put forward: what takes long takes no time, whatever else the machine does."""

import asyncio
import time

import pytest

_ROUNDS = 5  # of the event loop, until what a timer began has ended


class Clock:
    """The clock of time limits: `time.monotonic`, which event loops ask, too."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        """Take the place of the clock, for as long as the patch lasts."""
        self._ahead = 0.0
        real = time.monotonic
        patch.setattr(time, "monotonic", lambda: real() + self._ahead)

    async def forward(self, seconds: float) -> None:
        """Put it forward; time limits that are over by then have ended what they limit."""
        self._ahead += seconds
        for _ in range(_ROUNDS):
            await asyncio.sleep(0)
