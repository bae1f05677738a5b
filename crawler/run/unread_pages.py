"""Pages whose body was not read: what the store keeps of them."""

import hashlib
from collections.abc import Sequence

from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Response, Unread
from canonry.storage import Hop, Outcome, Page, Queued, State
from canonry.storage.records import UNREAD


def unread_outcome(
    queued: Queued, response: Response, unread: Unread, hops: Sequence[Hop]
) -> Outcome:
    """Return the outcome of a response whose body was not read.

    It is held for its type, until that is wanted, or has failed for its size. It has no ETag: a
    later request has to get the body.
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
        hops=tuple(hops),
        unread=page,
        elapsed=response.elapsed,
        detail=unread.detail,
    )
