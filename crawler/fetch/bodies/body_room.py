"""Room for large bodies: how many bytes of them are in memory at the same time.

A body that waits for room is read no further, so its server waits, too. A visit keeps its room
until it is over: what is read in a body is about as large.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from canonry.crawler.fetch.bodies.request_time import RequestTime

_LARGE = 1 << 20  # bytes; smaller bodies need no room
_MOST = 4 << 20  # bytes that large bodies have together, besides the one that never waits


class BodyRoom:
    """Room for the large bodies of a crawl.

    The visit that asked first, of those that are not over, never waits. So each gets its room in
    the end, however large its body is, and no two wait for each other.
    """

    def __init__(self, most: int = _MOST) -> None:
        """Start empty."""
        self._most = most
        self._held: dict[object, int] = {}  # bytes of each visit, in the order in which they asked
        self._waiting: set[asyncio.Future[None]] = set()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Let the bodies that this task reads take room, which is free again afterwards."""
        visit = object()
        token = _VISIT.set((self, visit))
        try:
            yield
        finally:
            _VISIT.reset(token)
            if self._held.pop(visit, None) is not None:
                for changed in self._waiting:
                    if not changed.done():
                        changed.set_result(None)

    async def take(self, visit: object, size: int, time: RequestTime) -> None:
        """Let a visit have so many bytes more, once there is room for them."""
        held = self._held
        held.setdefault(visit, 0)
        while visit is not next(iter(held)) and sum(held.values()) + size > self._most:
            changed = asyncio.get_running_loop().create_future()
            self._waiting.add(changed)
            try:
                with time.stopped():
                    await changed
            finally:
                self._waiting.discard(changed)
        held[visit] += size


_VISIT: ContextVar[tuple[BodyRoom, object] | None] = ContextVar("_VISIT", default=None)


async def make_room(size: int, more: int, time: RequestTime) -> None:
    """Wait for room in the visit of this task, if it is one and the body is large.

    Args:
        size: bytes of the body so far.
        more: of these, how many just came.
        time: of the request; it does not count the wait.
    """
    if size > _LARGE and (found := _VISIT.get()) is not None:
        room, visit = found
        await room.take(visit, more if size - more > _LARGE else size, time)
