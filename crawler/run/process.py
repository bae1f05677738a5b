"""A crawl and its process: signals that stop it, memory that it returns, a steady clock."""

import asyncio
import ctypes
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_EVERY = 1 << 25  # bytes of web pages; to return memory takes some milliseconds
_ALONE = 1 << 19  # bytes; larger objects get memory pages of their own
_M_MMAP_THRESHOLD = -3  # in glibc's malloc.h
_SET_BACK = 1.0  # seconds; less is an ordinary correction of a clock


class Stoppable(Protocol):
    """A crawl, as far as signals need it."""

    def stop(self, *, now: bool = False) -> None:
        """End after the visits in flight, or at once."""
        ...


@contextmanager
def stopping(run: Stoppable, notify: Callable[[str], None]) -> Iterator[None]:
    """Stop a crawl on an interrupt: after the requests in flight, or at once on the second."""
    loop = asyncio.get_running_loop()
    interrupted = False

    def interrupt() -> None:
        nonlocal interrupted
        if not interrupted:
            interrupted = True
            notify("Stopping after the requests in flight; Ctrl-C again stops at once.")
            run.stop()
        else:
            run.stop(now=True)

    for number in _SIGNALS:
        loop.add_signal_handler(number, interrupt)
    try:
        yield
    finally:
        for number in _SIGNALS:
            loop.remove_signal_handler(number)


@contextmanager
def forwarding(forward: Callable[[int], None]) -> Iterator[None]:
    """Call a function with the number of each interrupt signal, instead of being interrupted."""
    before = {n: signal.signal(n, lambda number, _frame: forward(number)) for n in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


class FreedMemory:
    """Returns freed memory to the system, after every `_EVERY` bytes of web pages."""

    def __init__(self) -> None:
        """Set up the allocator of the C library, if that is glibc.

        Large objects get memory pages of their own, which return to the system at once. By default,
        glibc ends this after the first of them: later ones leave gaps between small objects.
        """
        if (choose := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
            choose(_M_MMAP_THRESHOLD, _ALONE)
        self._return = _malloc_trim()
        self._done = 0  # bytes, since the last time

    def done_with(self, size: int) -> None:
        """Note that a page of this many bytes is not needed any more."""
        self._done += size
        if self._done >= _EVERY and self._return is not None:
            self._done = 0
            self._return(0)


def _malloc_trim() -> Callable[[int], int] | None:
    """Return ``malloc_trim``; None where the C library has none."""
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found


class SteadyClock:
    """Follows the system's clock, but runs on steadily if that is set back.

    So pauses of hosts, waits for retries, and leases end on time. A clock that is set forward is
    followed: a machine that slept has really waited.
    """

    def __init__(self) -> None:
        """Start with the system's time."""
        self._now, self._elapsed = time.time(), time.monotonic()

    def __call__(self) -> float:
        """Return the seconds since 1970."""
        wall, elapsed = time.time(), time.monotonic()
        expected = self._now + elapsed - self._elapsed
        self._now, self._elapsed = expected if wall < expected - _SET_BACK else wall, elapsed
        return self._now
