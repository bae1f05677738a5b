"""Pages whose body was not read: what the store keeps of them."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

from canonry.crawler.fetch.faults import Fault
from canonry.crawler.fetch.response import Response, Unread
from canonry.crawler.hold_reason import HoldReason
from canonry.storage import Hop, Outcome, Page, Queued, State
from canonry.storage.records import UNREAD

_REASONS = (HoldReason.OTHER_TYPE.label, Fault.TOO_LARGE.label)


def unread_in(status: Mapping[str, Any]) -> dict[str, int]:
    """Return how many pages of a store answered and were not read, by reason.

    Args:
        status: what the store holds, as `canonry.storage.report.status` returns it. Its counts of
            pages by HTTP status include them.
    """
    unread = {**status["held"], **status["failed"]}
    return {reason: unread[reason] for reason in _REASONS if unread.get(reason)}


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
