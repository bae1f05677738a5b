"""To do: what needs a person, and the command that helps."""

import msgspec
from sqlalchemy import Connection, func, select

from canonry.crawler.inquiry import refusal_listing
from canonry.crawler.inquiry.refusal_listing import RefusalAnswer
from canonry.crawler.web.panel import Asked
from canonry.storage.rows import little_new
from canonry.storage.rows.little_new import LittleNew
from canonry.storage.sql.schema import hosts, pages, urls
from canonry.storage.steering import host_list, releases
from canonry.storage.steering.releases import Refusal
from canonry.storage.timestamps import Moment, iso

_ROWS = 5  # of each list
_LATEST = 2_000  # pages that are looked at


class FailingHost(msgspec.Struct, frozen=True, kw_only=True):
    """A host whose last answer was an error."""

    host: str
    failed_at: Moment
    reason: str


class ToDo(msgspec.Struct, frozen=True, kw_only=True):
    """The first five of each list; nothing needs a person if all are empty."""

    reasons: list[RefusalAnswer]  # for which URLs failed or limits hold them, the most frequent
    hosts: list[FailingHost]  # those that failed last
    little_new: list[LittleNew]  # those that were found last


def view(connection: Connection, _asked: Asked) -> ToDo:
    """Return what needs a person."""
    return ToDo(
        reasons=refusal_listing.answers(connection, _refusals(connection)),
        hosts=_failing(connection),
        little_new=little_new.read(connection, _ROWS),
    )


def number(connection: Connection) -> int:
    """Return how many things a `ToDo` has."""
    poor = little_new.read(connection, _ROWS)
    return len(_refusals(connection)) + len(_failing(connection)) + len(poor)


def _refusals(connection: Connection) -> list[tuple[Refusal, int]]:
    """Return the reasons of which the most URLs need a person, with the number of these."""
    found = releases.refusals(connection)
    return [one for one in found if refusal_listing.needs_person(one[0])][:_ROWS]


def _failing(connection: Connection) -> list[FailingHost]:
    """Return the hosts that failed last, and have given no page since then."""
    found = [
        row
        for row in host_list.hosts_in(connection, order="error", most=_ROWS)[0]
        if row.error_at and not row.blocked
    ]
    if not found:
        return []
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
