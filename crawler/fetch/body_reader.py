"""Bodies of responses: which are read, how far, in which time, and how many large ones at once."""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from io import BytesIO
from types import TracebackType
from typing import Self

import aiohttp

from canonry.canon.syntax import to_text
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Unread
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import FetchSettings
from canonry.crawler.settings.url_patterns import MediaTypes
from canonry.storage.http_status import NOT_MODIFIED, REDIRECTS

_LARGE = 1 << 20  # bytes; smaller bodies need no room
_MOST = 4 << 20  # bytes that large bodies have together, besides the one that never waits


class RequestTime:
    """Measures a request, and ends it when its time is over. The clock can be stopped meanwhile."""

    def __init__(self, limit: float) -> None:
        """Start the clock; the limit is in seconds."""
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
        """Seconds since the start, without those for which the clock was stopped."""
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


class BodyRoom:
    """A limit of memory for the large bodies of a crawl.

    Of the visits under way, the one that asked first never waits. So each gets its room in the end,
    however large its body is, and no two wait for each other.
    """

    def __init__(self, most: int = _MOST) -> None:
        """Start empty."""
        self._most = most
        self._held: dict[object, int] = {}  # bytes of each visit, in the order in which they asked
        self._waiting: set[asyncio.Future[None]] = set()

    @contextmanager
    def visit(self) -> Iterator[None]:
        """Let the bodies that this task reads take room until the block ends."""
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
        """Give a visit this many more bytes, once there is room for them."""
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
    """Wait for room for a large body, if this task is a visit.

    Args:
        size: bytes of the body so far.
        more: of these, how many just came.
        time: of the request; it does not count the wait.
    """
    if size > _LARGE and (found := _VISIT.get()) is not None:
        room, visit = found
        await room.take(visit, more if size - more > _LARGE else size, time)


class BodyReader:
    """Reads bodies, unless their headers already say that they are not wanted."""

    def __init__(self, fetch: FetchSettings) -> None:
        """Bind the limits."""
        self._longest = fetch.max_body
        self._types = MediaTypes(fetch.only_types)

    async def read(
        self, response: aiohttp.ClientResponse, cut: int | None, time: RequestTime
    ) -> tuple[bytes, Unread | None]:
        """Read the body of a response; limits count decompressed bytes.

        Args:
            response: of which the head was read.
            cut: stop reading any body beyond this number of bytes. None reads the whole body, if
                it is wanted and not too long.
            time: of the request; it does not count how long a large body waits for room.

        Returns:
            The body; and why it was not read, or None.
        """
        if cut is None and (unread := self._unwanted(response)) is not None:
            response.close()
            return b"", unread
        body, size = b"", 0
        whole: BytesIO | None = None  # most bodies come in one piece, which is then not copied
        while part := await response.content.readany():
            size += len(part)
            if cut is None and size > self._longest:
                response.close()
                return b"", Unread(Fault.TOO_LARGE.label, f"over {self._longest:,} bytes")
            if size == len(part):
                body = part
            elif whole is None:
                whole = BytesIO()
                whole.writelines((body, part))
                body = b""
            else:
                whole.write(part)
            if cut is not None and size > cut:
                response.close()
                break
            await make_room(size, len(part), time)
        return body if whole is None else whole.getvalue(), None  # it copies nothing

    def _unwanted(self, response: aiohttp.ClientResponse) -> Unread | None:
        """Return why a body need not be read, as far as the headers tell."""
        if response.status == NOT_MODIFIED:
            return None  # its headers are about a body that we have
        content_type = response.headers.get("Content-Type")
        if response.ok and response.status not in REDIRECTS and content_type not in self._types:
            return Unread(HoldReason.OTHER_TYPE.label, to_text(content_type or ""))
        length = response.content_length
        if length is not None and length > self._longest:
            return Unread(Fault.TOO_LARGE.label, f"{length:,} bytes")
        return None
