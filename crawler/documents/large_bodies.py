"""Large bodies are read beside the event loop, so that no other host waits for them."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LARGE = 1 << 17  # bytes; the most hostile markup of that length takes some 50 ms
_THREAD = ThreadPoolExecutor(1, "canonry-large-bodies")  # one: so few are in memory at a time


async def reading(body: bytes, read: Callable[_P, _T], *given: _P.args, **named: _P.kwargs) -> _T:
    """Return what a function reads in a body: at once, or from a thread if the body is large.

    Args:
        body: the body, which is among the arguments.
        read: the function; it takes time that is linear, and lets other threads go on.
        given: its arguments.
        named: its arguments by name.
    """
    if len(body) <= _LARGE:
        return read(*given, **named)
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREAD, lambda: read(*given, **named))
