"""Bodies: their fingerprints, made in a thread, and the outcomes of those that were not read."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Response, Unread
from canonry.crawler.hold_reason import HoldReason
from canonry.storage import Hop, Outcome, Page, Queued, State
from canonry.storage.records import UNREAD

_DIGEST = 16  # bytes
_SMALL = 1 << 13  # bytes; smaller bodies take less time than a switch to the thread
_THREAD = ThreadPoolExecutor(1, "canonry-fingerprints")
_REASONS = (HoldReason.OTHER_TYPE.label, Fault.TOO_LARGE.label)


class Fingerprint(NamedTuple):
    """Tells whether two bodies have the same bytes, or similar text."""

    digest: bytes
    blocks: bytes | None = None  # of its text; None: not asked for, or it is no text


class _Asked(NamedTuple):
    """A body whose fingerprint is awaited."""

    body: bytes
    content_type: str | None
    read: bool
    future: "asyncio.Future[Fingerprint]"


class Fingerprints:
    """Makes the fingerprints of bodies in a thread, those of all waiting bodies in one call.

    To pass each body alone would take half as long as the fingerprints themselves.
    """

    def __init__(self) -> None:
        """Start with no body that waits."""
        self._waiting: list[_Asked] = []
        self._running: asyncio.Task[None] | None = None

    async def of(self, body: bytes, content_type: str | None, *, read: bool) -> Fingerprint:
        """Return the fingerprint of a body.

        Args:
            body: decoded from its content encoding.
            content_type: the ``Content-Type`` header, as sent.
            read: False if the blocks of its text are not needed.
        """
        if len(body) <= _SMALL:
            return _of(body, content_type, read=read)
        loop = asyncio.get_running_loop()
        asked = _Asked(body, content_type, read, loop.create_future())
        self._waiting.append(asked)
        if self._running is None:
            self._running = loop.create_task(self._run())
        return await asked.future

    async def _run(self) -> None:
        """Make fingerprints until no body waits."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                waiting, self._waiting = self._waiting, []
                fingerprints = await loop.run_in_executor(_THREAD, _made, waiting)
                for waiter, fingerprint in zip(waiting, fingerprints, strict=True):
                    if waiter.future.done():  # the visit was cancelled
                        continue
                    if isinstance(fingerprint, Exception):
                        waiter.future.set_exception(fingerprint)
                    else:
                        waiter.future.set_result(fingerprint)
        finally:
            self._running = None


def _made(waiting: Sequence[_Asked]) -> list[Fingerprint | Exception]:
    """Return the fingerprints of bodies; where one cannot be made, the reason."""
    fingerprints: list[Fingerprint | Exception] = []
    for waiter in waiting:
        try:
            fingerprints.append(_of(waiter.body, waiter.content_type, read=waiter.read))
        except Exception as error:  # noqa: BLE001 - the visit raises it
            fingerprints.append(error)
    return fingerprints


def _of(body: bytes, content_type: str | None, *, read: bool) -> Fingerprint:
    """Return the fingerprint of a body."""
    return Fingerprint(
        hashlib.blake2b(body, digest_size=_DIGEST).digest(),
        blocks_of(body, content_type) if read else None,
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
