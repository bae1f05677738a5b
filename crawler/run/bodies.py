"""Bodies: what is read of them, and the outcomes of those not read."""

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
# Bytes. Smaller bodies are read at once: a switch to the thread would cost a tenth of a page's time
# on the processor, and the page would come no sooner. The worst markup of this length takes 50 ms.
_LARGE = 1 << 17
_THREAD = ThreadPoolExecutor(1, "canonry-bodies")  # one thread limits memory
_REASONS = (HoldReason.OTHER_TYPE.label, Fault.TOO_LARGE.label)


class ReadBody(NamedTuple):
    """What a body says."""

    digest: bytes
    document: Document | None = None  # None: not asked for, or of a type that has no links
    blocks: bytes | None = None  # of its text; None: not asked for, or it is no text


class Bodies:
    """Reads bodies: large ones in a thread."""

    def __init__(self, settings: Settings) -> None:
        """Bind the settings."""
        self._read_document = partial(
            read_document,
            own_name=settings.crawl.token,
            embeds=settings.crawl.embeds,
            max_unpacked=settings.fetch.max_body,
        )

    async def read(self, response: Response, *, links: bool, blocks: bool) -> ReadBody:
        """Read the body of a response.

        Args:
            response: with its body, decoded from its content encoding.
            links: False if its links are not needed.
            blocks: False if the blocks of its text are not needed.
        """
        read = partial(self._read, response, links=links, blocks=blocks)
        if len(response.body) <= _LARGE:
            return read()
        return await asyncio.get_running_loop().run_in_executor(_THREAD, read)

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
