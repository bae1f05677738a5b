"""The crawls of a frontier: each has a store, a thread that writes to it, and a group commit.

What several clients put at one time is written in one transaction, and acknowledged after it.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

from canonry.crawler.frontier.crawl_frontier import CrawlFrontier
from canonry.crawler.frontier.reports import Item
from canonry.storage import StoreError
from canonry.storage.frontier.crawl_stores import DEFAULT, crawls_in, remove
from canonry.storage.sql.engine import Writer

_LOG = logging.getLogger("canonry.frontier")
# URLs in a transaction. What else is asked waits for it; if something was lately, it is short.
_AT_ONCE, _AT_ONCE_SHORT = 5_000, 1_000
_LATELY = 2.0  # seconds
# An open crawl takes 2.5 MB, three files and a thread. Those that are not used close: after some
# seconds, and the one that was used longest ago if more would be open. The first one stays.
_IDLE = 300.0
_MOST_OPEN = 64
_P = ParamSpec("_P")
_R = TypeVar("_R")
Opener = Callable[[str], CrawlFrontier]


class NotWrittenError(Exception):
    """Items were not written; the same items may be put again."""


class Group(NamedTuple):
    """Items that wait to be written, and who waits for them."""

    items: list[Item]
    answered: asyncio.Future[list[bool | None]]


class OpenCrawl:
    """One crawl, as the event loop sees it."""

    def __init__(self, frontier: CrawlFrontier, writer: Writer) -> None:
        """Bind the frontier of the crawl, and the thread that alone uses it."""
        self._frontier = frontier
        self._writer = writer
        self._waiting: list[Group] = []
        self._writing: asyncio.Task[None] | None = None
        self._called_at = -_LATELY
        self._calls = 0  # in progress
        self._is_closed = False
        self.used_at = time.monotonic()

    async def call(self, method: Callable[_P, _R], *args: _P.args, **kwargs: _P.kwargs) -> _R:
        """Call a method of the frontier on its thread."""
        self.used_at = self._called_at = time.monotonic()
        self._calls += 1
        try:
            return await self._writer.call(method, *args, **kwargs)
        finally:
            self._calls -= 1

    @property
    def is_busy(self) -> bool:
        """Return True while something is called or written."""
        return self._calls > 0 or self._writing is not None

    async def put_served(self) -> None:
        """Let other commands leave the store alone; it does not matter if that fails."""
        if self._is_closed:
            return
        try:
            await self._writer.call(self._frontier.put_served, time.time())
        except StoreError as error:
            _log(error)

    @property
    def frontier(self) -> CrawlFrontier:
        """Its methods are for `call`."""
        return self._frontier

    def put(self, items: list[Item]) -> asyncio.Future[list[bool | None]]:
        """Put items; the answers come when they are committed, or a `NotWrittenError` does."""
        answered: asyncio.Future[list[bool | None]] = asyncio.get_running_loop().create_future()
        self._waiting.append(Group(items, answered))
        self.used_at = time.monotonic()
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return answered

    async def _write(self) -> None:
        """Write what waits, group after group, until nothing does."""
        try:
            while self._waiting:
                taken = self._take()
                items = [item for group in taken for item in group.items]
                try:
                    answers = await self._writer.call(self._frontier.put, items, time.time())
                except Exception as error:  # noqa: BLE001 - every client gets an answer
                    _log(error)
                    for group in taken:
                        if not group.answered.cancelled():
                            group.answered.set_exception(NotWrittenError())
                    continue
                start = 0
                for group in taken:
                    end = start + len(group.items)
                    if not group.answered.cancelled():
                        group.answered.set_result(answers[start:end])
                    start = end
        finally:
            self._writing = None

    def _take(self) -> list[Group]:
        """Take the groups that are written next: about as many items as one transaction has."""
        number = size = 0
        is_alone = time.monotonic() - self._called_at > _LATELY
        most = _AT_ONCE if is_alone else _AT_ONCE_SHORT
        while number < len(self._waiting) and size < most:
            size += len(self._waiting[number].items)
            number += 1
        taken, self._waiting = self._waiting[:number], self._waiting[number:]
        return taken

    async def close(self) -> None:
        """Write what waits, and close the store."""
        self._is_closed = True
        if self._writing is not None:
            await self._writing
        try:
            await self.call(self._frontier.close)
        finally:
            self._writer.close()


class Crawls:
    """All crawls of a server, each opened when it is first used."""

    def __init__(self, store: str, opener: Opener) -> None:
        """Bind the store that people named.

        Args:
            store: a SQLAlchemy URL, or the path of a file.
            opener: opens the frontier of a crawl, given its name.
        """
        self._store = store
        self._opener = opener
        self._opened: dict[str, OpenCrawl] = {}
        self._opening = asyncio.Lock()
        self._turn = 0

    async def names(self) -> list[str]:
        """Return the names of all crawls."""
        stored = await asyncio.to_thread(crawls_in, self._store)
        return [DEFAULT, *(name for name in stored if name != DEFAULT)]

    async def in_turn(self) -> list[str]:
        """Return the names of all crawls; each time another one is the first."""
        names = await self.names()
        self._turn += 1
        start = self._turn % len(names)
        return names[start:] + names[:start]

    async def find(self, name: str) -> OpenCrawl | None:
        """Return a crawl that is there; None if nobody has put anything in it.

        Raises:
            StoreError: if its store cannot be used.
        """
        name = name or DEFAULT
        if name in self._opened or name in await self.names():
            return await self.of(name)
        return None

    async def of(self, name: str) -> OpenCrawl:
        """Return a crawl; open its store, or create it.

        Raises:
            StoreError: if the store cannot be used.
        """
        name = name or DEFAULT
        if (crawl := self._opened.get(name)) is not None:
            return crawl
        async with self._opening:
            if name not in self._opened:
                await self._close_unused(_MOST_OPEN - 1)
                writer = Writer()
                try:
                    frontier = await writer.call(self._opener, name)
                except BaseException:
                    writer.close()
                    raise
                crawl = self._opened[name] = OpenCrawl(frontier, writer)
                await crawl.put_served()
        return self._opened[name]

    async def sweep(self) -> None:
        """Close crawls that were not used lately, and write into the others that they are served.

        A server does this several times a minute.
        """
        async with self._opening:
            await self._close_unused(_MOST_OPEN, time.monotonic() - _IDLE)
        for crawl in list(self._opened.values()):
            await crawl.put_served()

    async def _close_unused(self, most: int, since: float = float("-inf")) -> None:
        """Close crawls that nothing uses: the longest unused first, while too many are open.

        Args:
            most: how many may stay open, if something uses no more.
            since: those that were not used since then also close; on the monotonic clock.
        """
        for name in sorted(self._opened, key=lambda name: self._opened[name].used_at):
            crawl = self._opened[name]
            is_left = len(self._opened) <= most and crawl.used_at > since
            if not (is_left or crawl.is_busy or name == DEFAULT):
                await self._opened.pop(name).close()

    async def delete(self, name: str) -> None:
        """Delete a crawl with its store."""
        name = name or DEFAULT
        async with self._opening:
            if (crawl := self._opened.pop(name, None)) is not None:
                await crawl.close()
            await asyncio.to_thread(remove, self._store, name)

    async def close(self) -> None:
        """Close all stores."""
        for crawl in self._opened.values():
            await crawl.close()


def _log(error: Exception) -> None:
    """Log why items were not written: for a fault of ours, with its trace."""
    if isinstance(error, StoreError):
        _LOG.error("%s", error)
    else:
        _LOG.error("please report this", exc_info=error)
