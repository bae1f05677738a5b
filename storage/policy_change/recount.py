"""Counts made anew from the rows, after a change that touched many of them."""

from sqlalchemy import Connection, case, delete, func, insert, select, update

from canonry.storage.http_status import OK
from canonry.storage.sql import counts as counted
from canonry.storage.sql.schema import State, aliases, hosts, pages, urls
from canonry.storage.sql.tables.figure_tables import counts

_KINDS = ("urls", "levels", "pages", "aliases", "bodies")


def recount(connection: Connection) -> None:
    """Count all URLs, pages and aliases, and the queued URLs of each host.

    Args:
        connection: in a writing transaction.
    """
    found: dict[counted.Counted, int] = {}
    reason = case((urls.c.state == State.QUEUED, ""), else_=func.coalesce(urls.c.reason, ""))
    by_state = select(urls.c.state, reason.label("why"), func.count()).group_by("state", "why")
    for state, why, number in connection.execute(by_state):
        found[counted.url(State(state), why)] = number
    queued = urls.c.state == State.QUEUED
    by_depth = select(urls.c.depth, func.count()).where(queued).group_by(urls.c.depth)
    found |= {counted.level(depth): number for depth, number in connection.execute(by_depth)}
    by_status = select(pages.c.status, func.count()).group_by(pages.c.status)
    found |= {counted.page(status): number for status, number in connection.execute(by_status)}
    kind = aliases.c.kind, aliases.c.status
    by_kind = select(*kind, func.count()).group_by(*kind)
    found |= {counted.alias(*one): number for *one, number in connection.execute(by_kind)}
    with_body = pages.c.status == OK, pages.c.size > 0
    bodies = select(func.count(), func.count(pages.c.digest.distinct())).where(*with_body)
    number, distinct = connection.execute(bodies).one()
    found[counted.REPEATED] = number - distinct
    connection.execute(delete(counts).where(counts.c.kind.in_(_KINDS)))
    rows = [{**one._asdict(), "count": number} for one, number in found.items() if number]
    if rows:
        connection.execute(insert(counts), rows)
    pending = select(func.count()).where(urls.c.host_id == hosts.c.id, queued)
    connection.execute(update(hosts).values(pending=pending.scalar_subquery()))
