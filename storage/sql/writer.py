"""The writer thread: the event loop awaits the database without being blocked by it."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Writer:
    """Runs calls to a store one after the other, on its own thread."""

    def __init__(self) -> None:
        """Prepare the thread; it starts with the first call."""
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="canonry-writer")

    async def call(self, function: Callable[_P, _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run a function on the thread after all earlier calls, and return its result."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, lambda: function(*args, **kwargs))

    def close(self) -> None:
        """Wait for the calls that are running, and stop the thread."""
        self._thread.shutdown(wait=True)
