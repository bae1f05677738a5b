"""Fingerprints of bodies, made beside the event loop: most of that needs no lock of Python's."""

import asyncio
import hashlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from canonry.crawler.learn.text.text_blocks import blocks_of

_DIGEST = 16  # bytes
_SMALL = 1 << 13  # bytes, which take less time than the way to the thread
_THREAD = ThreadPoolExecutor(1, "canonry-fingerprints")


class Fingerprint(NamedTuple):
    """What tells whether two bodies are the same, or say the same."""

    digest: bytes
    blocks: bytes | None = None  # of its text; None: not asked for, or it is no text


class _Asked(NamedTuple):
    """A body whose fingerprint is awaited."""

    body: bytes
    content_type: str | None
    read: bool
    found: "asyncio.Future[Fingerprint]"


class Fingerprints:
    """Makes the fingerprints of bodies on a thread: of all that wait, at once.

    To pass each body to the thread alone would take as long as half of them take there.
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
        return await asked.found

    async def _run(self) -> None:
        """Make fingerprints until no body waits."""
        loop = asyncio.get_running_loop()
        try:
            while self._waiting:
                asked, self._waiting = self._waiting, []
                made = await loop.run_in_executor(_THREAD, _made, asked)
                for one, found in zip(asked, made, strict=True):
                    if one.found.done():  # the visit was cancelled
                        continue
                    if isinstance(found, Exception):
                        one.found.set_exception(found)
                    else:
                        one.found.set_result(found)
        finally:
            self._running = None


def _made(asked: Sequence[_Asked]) -> list[Fingerprint | Exception]:
    """Return the fingerprints of bodies; where one cannot be made, the reason."""
    made: list[Fingerprint | Exception] = []
    for one in asked:
        try:
            made.append(_of(one.body, one.content_type, read=one.read))
        except Exception as error:  # noqa: BLE001 - the visit raises it
            made.append(error)
    return made


def _of(body: bytes, content_type: str | None, *, read: bool) -> Fingerprint:
    """Return the fingerprint of a body."""
    return Fingerprint(
        hashlib.blake2b(body, digest_size=_DIGEST).digest(),
        blocks_of(body, content_type) if read else None,
    )
