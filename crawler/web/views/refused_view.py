"""What is held or has failed, by reason; and the URLs of one reason."""

import msgspec
from sqlalchemy import Connection

from canonry.crawler.inquiry import refusal_listing
from canonry.crawler.inquiry.refusal_listing import RefusalAnswer, RefusalPage
from canonry.crawler.web.panel import Asked
from canonry.storage.steering.releases import Refusal

_MOST = 1 << 53


class RefusedView(msgspec.Struct, frozen=True, kw_only=True):
    """All reasons, or one of them."""

    reasons: list[RefusalAnswer]
    one: RefusalPage | None  # the URLs of the reason that the query names


def view(connection: Connection, asked: Asked) -> RefusedView:
    """Return the reasons; with ``state`` and ``reason``, the URLs of that one, a page of them."""
    reason = asked.text("reason")
    if not reason:
        return RefusedView(reasons=refusal_listing.refusals_of(connection), one=None)
    wanted = Refusal(asked.choice("state", ("held", "failed")), reason)
    before = asked.number("after", 0, _MOST) or None
    return RefusedView(reasons=[], one=refusal_listing.urls_of(connection, wanted, before))
