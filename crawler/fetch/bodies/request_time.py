"""The time of a request: how long it took so far, and how long it may take."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self


class RequestTime:
    """Measures a request, and ends it when its time is over. It can be stopped meanwhile."""

    def __init__(self, limit: float) -> None:
        """Start with so many seconds."""
        self._start = time.monotonic()
        self._timeout = asyncio.timeout(limit)

    async def __aenter__(self) -> Self:
        """Let the limit count from now on."""
        await self._timeout.__aenter__()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Raise `TimeoutError` if the time was over."""
        await self._timeout.__aexit__(kind, error, trace)

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without those for which it was stopped."""
        return time.monotonic() - self._start

    @contextmanager
    def stopped(self) -> Iterator[None]:
        """Count nothing until the block ends."""
        clock = asyncio.get_running_loop().time
        began, end = clock(), self._timeout.when()
        self._timeout.reschedule(None)
        try:
            yield
        finally:
            waited = clock() - began
            self._start += waited
            self._timeout.reschedule(None if end is None else end + waited)
