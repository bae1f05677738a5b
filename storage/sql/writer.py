"""The one writer thread: the event loop waits for the database without being blocked by it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Writer:
    """Runs calls to a store one after the other, on one thread of their own."""

    def __init__(self) -> None:
        """Make the thread; it starts with the first call."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="canonry-writer")

    async def call(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a function on the thread, after those before it, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """Wait for what is running, and end the thread."""
        self._thread.shutdown(wait=True)
