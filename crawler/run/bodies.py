"""Bodies: what is read of them, beside the event loop, and the outcomes of those not read."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple

from canonry.crawler.documents.by_type import read_document, read_text
from canonry.crawler.documents.document import Document
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Response, Unread
from canonry.crawler.hold_reason import HoldReason
from canonry.crawler.settings import Settings
from canonry.storage import Hop, Outcome, Page, Queued, State
from canonry.storage.records import UNREAD

_DIGEST = 16  # bytes
_SMALL = 1 << 13  # bytes; smaller bodies take less time than a switch to the thread
_LARGE = 1 << 17  # bytes; the worst markup of this length takes some 50 ms
_THREAD = ThreadPoolExecutor(1, "canonry-bodies")
_LARGE_THREAD = ThreadPoolExecutor(1, "canonry-large-bodies")  # one thread limits memory
_REASONS = (HoldReason.OTHER_TYPE.label, Fault.TOO_LARGE.label)


class ReadBody(NamedTuple):
    """What a body says."""

    digest: bytes
    document: Document | None = None  # None: not asked for, or of a type that has no links
    blocks: bytes | None = None  # of its text; None: not asked for, or it is no text


class _Asked(NamedTuple):
    """A body that waits."""

    response: Response
    links: bool
    blocks: bool
    future: "asyncio.Future[ReadBody]"


class Bodies:
    """Reads bodies in threads; all that wait are read in one call, since a call takes long."""

    def __init__(self, settings: Settings) -> None:
        """Start with no body that waits."""
        self._read_document = partial(
            read_document,
            own_name=settings.crawl.token,
            embeds=settings.crawl.embeds,
            max_unpacked=settings.fetch.max_body,
        )
        self._waiting: list[_Asked] = []
        self._running: asyncio.Task[None] | None = None

    async def read(self, response: Response, *, links: bool, blocks: bool) -> ReadBody:
        """Read the body of a response.

        Args:
            response: with its body, decoded from its content encoding.
            links: False if its links are not needed.
            blocks: False if the blocks of its text are not needed.
        """
        size = len(response.body)
        if size <= _SMALL:
            return self._read(response, links=links, blocks=blocks)
        loop = asyncio.get_running_loop()
        if size > _LARGE:
            read = partial(self._read, response, links=links, blocks=blocks)
            return await loop.run_in_executor(_LARGE_THREAD, read)
        asked = _Asked(response, links, blocks, loop.create_future())
        self._waiting.append(asked)
        if self._running is None:
            self._running = loop.create_task(self._run())
        return await asked.future

    async def _run(self) -> None:
        """Read bodies until none waits."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                bodies = await loop.run_in_executor(_THREAD, self._read_all, waiting)
                for waiter, body in zip(waiting, bodies, strict=True):
                    if waiter.future.done():  # the visit was cancelled
                        continue
                    if isinstance(body, Exception):
                        waiter.future.set_exception(body)
                    else:
                        waiter.future.set_result(body)
        finally:
            self._running = None

    def _read_all(self, waiting: Sequence[_Asked]) -> list[ReadBody | Exception]:
        """Read bodies; where that fails, the result is the reason."""
        bodies: list[ReadBody | Exception] = []
        for waiter in waiting:
            try:
                bodies.append(self._read(waiter.response, links=waiter.links, blocks=waiter.blocks))
            except Exception as error:  # noqa: BLE001 - the visit raises it
                bodies.append(error)
        return bodies

    def _read(self, response: Response, *, links: bool, blocks: bool) -> ReadBody:
        """Read the body of a response, once for links and blocks if it is HTML."""
        body, document = response.body, None
        if links:
            document = self._read_document(body, response.headers, response.url, blocks=blocks)
        return ReadBody(
            hashlib.blake2b(body, digest_size=_DIGEST).digest(),
            document,
            read_text(body, response.headers.get("Content-Type"), document) if blocks else None,
        )


def unread_in(status: Mapping[str, Any]) -> dict[str, int]:
    """Return how many pages of a store answered but were not read, by reason.

    Args:
        status: what the store holds, as `report.status` returns it. Its counts of
            pages by HTTP status include them.
    """
    unread = {**status["held"], **status["failed"]}
    return {reason: unread[reason] for reason in _REASONS if unread.get(reason)}


def unread_outcome(
    queued: Queued, response: Response, unread: Unread, hops: Sequence[Hop]
) -> Outcome:
    """Return the outcome of a response whose body was not read.

    The URL is held for its media type, or has failed for its size. No ETag is stored: a later
    request has to get the body.
    """
    too_large = unread.reason == Fault.TOO_LARGE.label
    page = Page(
        status=response.status,
        elapsed=response.elapsed,
        content_type=response.headers.get("Content-Type"),
        size=0,
        digest=hashlib.blake2b(queued.url.encode(), digest_size=16).digest(),  # equal to no other
        title=None,
        canonical=None,
        links=UNREAD,
    )
    return Outcome(
        queued,
        State.FAILED if too_large else State.HELD,
        unread.reason,
        leads=tuple(hops),
        unread=page,
        elapsed=response.elapsed,
        detail=unread.detail,
    )
