"""To do: what needs a person, and the command that helps."""

import msgspec
from sqlalchemy import Connection, func, select

from canonry.crawler.inquiry import refusal_listing
from canonry.crawler.inquiry.refusal_listing import RefusalAnswer
from canonry.crawler.web.panel import Asked
from canonry.storage.rows import little_new
from canonry.storage.sql.schema import hosts, pages, urls
from canonry.storage.steering import host_list
from canonry.storage.timestamps import Moment, iso

_ROWS = 5  # of each list
_LATEST = 2_000  # pages that are looked at


class FailingHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host whose last answer was an error."""

    host: str
    failed_at: Moment
    reason: str


class PoorHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host whose pages bring little new text; shares are from 0 to 1."""

    host: str
    share: float  # of the text of its latest pages that was new
    pattern: str  # of most of its latest pages that bring little; "": none stands out
    pages: int  # of the latest 200, with this pattern
    pattern_share: float  # of their text that was new


class ToDo(msgspec.Struct, frozen=True, kw_only=True):
    """The first five of each list; nothing needs a person if all are empty."""

    reasons: list[RefusalAnswer]  # for which URLs failed or limits hold them, the most frequent
    hosts: list[FailingHost]  # those that failed last
    little_new: list[PoorHost]  # those that were found last

    @property
    def total(self) -> int:
        """Return how many things these are."""
        return len(self.reasons) + len(self.hosts) + len(self.little_new)


def view(connection: Connection, _asked: Asked) -> ToDo:
    """Return what needs a person."""
    reasons = refusal_listing.refusals_of(connection, refusal_listing.needs_person)
    return ToDo(
        reasons=reasons[:_ROWS],
        hosts=_failing(connection),
        little_new=[PoorHost(**one._asdict()) for one in little_new.read(connection, _ROWS)],
    )


def _failing(connection: Connection) -> list[FailingHost]:
    """Return the hosts that failed last, and have given no page since then."""
    found = [
        row
        for row in host_list.hosts_in(connection, order="error", most=_ROWS)[0]
        if row.error_at and not row.blocked
    ]
    newest = select(pages.c.url_id, pages.c.fetched_at).order_by(pages.c.fetched_at.desc())
    latest = newest.limit(_LATEST).subquery()
    answered = (
        select(hosts.c.name, func.max(latest.c.fetched_at))
        .join_from(latest, urls, urls.c.id == latest.c.url_id)
        .join(hosts, hosts.c.id == urls.c.host_id)
        .group_by(hosts.c.name)
    )
    last_pages = dict(connection.execute(answered).all())
    return [
        FailingHost(host=row.name, failed_at=iso(row.error_at) or "", reason=row.error or "")
        for row in found
        if row.error_at > last_pages.get(row.name, 0.0)
    ]
