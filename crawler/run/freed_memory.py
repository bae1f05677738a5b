"""Freed memory: what pages took and nothing needs any more is returned to the system.

The C library keeps what is freed between things that are still in use. After some large pages, most
of a crawl's memory would be such gaps.
"""

import ctypes
from collections.abc import Callable

_EVERY = 1 << 25  # bytes of pages; it takes some milliseconds


class FreedMemory:
    """Returns memory to the system each time when so many bytes of pages were done with."""

    def __init__(self) -> None:
        """Find the function of the C library that does so; glibc has one."""
        self._return = _malloc_trim()
        self._done = 0  # bytes, since the last time

    def done_with(self, size: int) -> None:
        """Note that a page of so many bytes is not needed any more."""
        self._done += size
        if self._done >= _EVERY and self._return is not None:
            self._done = 0
            self._return(0)


def _malloc_trim() -> Callable[[int], int] | None:
    """Return ``malloc_trim``; None where the C library has none."""
    found: Callable[[int], int] | None = getattr(ctypes.CDLL(None), "malloc_trim", None)
    return found
