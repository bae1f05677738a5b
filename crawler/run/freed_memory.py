"""Freed memory: what pages took and nothing needs any more is returned to the system.

The C library keeps what is freed between things that are still in use. After some large pages, most
of a crawl's memory would be such gaps.
"""

import ctypes
from collections.abc import Callable

_EVERY = 1 << 25  # bytes of pages; it takes some milliseconds
_ALONE = 1 << 19  # bytes of one object, from which on it gets pages of its own
_M_MMAP_THRESHOLD = -3  # in glibc's malloc.h


class FreedMemory:
    """Returns memory to the system each time when so many bytes of pages were done with."""

    def __init__(self) -> None:
        """Find the function of the C library that does so; glibc has one.

        Large objects get pages of their own, and give them back at once. By itself, glibc ends
        this after the first of them: the next ones then leave gaps between smaller ones.
        """
        if (choose := getattr(ctypes.CDLL(None), "mallopt", None)) is not None:
            choose(_M_MMAP_THRESHOLD, _ALONE)
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
