"""What answers and learned rules merged in a store: counts by kind, and the latest of each.

Everything is read by keys and indexes: as fast in a store of any size.
"""

from typing import NamedTuple

from sqlalchemy import Connection, bindparam, select

from canonry.storage.clusters.equivalences import Equivalences
from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.records import UNREAD
from canonry.storage.sql import counts
from canonry.storage.sql.schema import aliases, pages, urls

_PAGES = 400  # the latest pages, which are searched for repeated bodies
_AT_ONCE = 20  # aliases whose classes are read at once
LOOKED_AT = 200  # the latest aliases of a kind, which are searched for merges
_other = pages.alias("other")
_FIRST_OF_BODY = (
    select(_other.c.url_id)
    .where(_other.c.digest == pages.c.digest, _other.c.url_id < pages.c.url_id)
    .where(_other.c.status == OK, _other.c.size > 0, _other.c.links != UNREAD)
    .order_by(_other.c.url_id)
    .limit(1)
    .correlate(pages)
    .scalar_subquery()
)
_RECENT = (
    select(urls.c.id, urls.c.url, urls.c.host_id, pages.c.fetched_at, _FIRST_OF_BODY)
    .join_from(pages, urls, pages.c.url_id == urls.c.id)
    .where(pages.c.status == OK, pages.c.size > 0, pages.c.links != UNREAD)
    .order_by(pages.c.url_id.desc())
    .limit(_PAGES)
)
_PLACE = select(urls.c.url, urls.c.host_id).where(urls.c.id == bindparam("url_id"))


class LatestMerge(NamedTuple):
    """A URL that an answer or a learned rule merged with another."""

    url_id: int
    url: str
    same_as: str  # the URL that it leads to directly
    represented_by: str  # the end of the chain
    kind: str  # redirect, canonical, rule or content
    status: int  # HTTP status of a redirect, else 0
    times: int
    seen_at: float  # seconds since 1970, when it was last seen


class KindCounts(NamedTuple):
    """How many aliases of each kind a store has, and how many pages with a repeated body.

    All redirects and canonical links count, whether they merge or not; `latest` tells which do.
    """

    redirect: int  # permanent; temporary ones never merge
    temporary: int
    canonical: int
    rule: int
    content: int


def kind_counts(connection: Connection) -> KindCounts:
    """Return the counts of all that merges URLs, without the policy's rules."""
    found = dict.fromkeys(("redirect", "temporary", "canonical", "rule"), 0)
    for kind, status, count in counts.alias_counts(connection):
        is_temporary = kind == "redirect" and status not in PERMANENT_REDIRECTS
        found["temporary" if is_temporary else kind] += count
    return KindCounts(**found, content=counts.total_of(connection, counts.REPEATED))


def latest(connection: Connection, kind: str, most: int = LOOKED_AT) -> list[LatestMerge]:
    """Return the URLs that were merged last by one kind of evidence, the latest first.

    Redirects and canonical links that merge nothing are left out, such as those that lead to a
    sink, or whose end did not answer 200.

    Args:
        connection: to a store.
        kind: redirect, canonical or rule.
        most: how many, of the latest `LOOKED_AT` aliases.
    """
    edges: list[tuple[int, int, int, int, int, float]] = []
    for status in _statuses(connection, kind):
        query = (
            select(*(aliases.c[n] for n in ("id", "from_id", "to_id", "status", "count")))
            .add_columns(aliases.c.last_seen)
            .where(aliases.c.kind == kind, aliases.c.status == status)
            .order_by(aliases.c.id.desc())
            .limit(LOOKED_AT)
        )
        edges += [tuple(row) for row in connection.execute(query)]
    edges = sorted(edges, reverse=True)[:LOOKED_AT]
    equivalences = Equivalences(connection)
    latest_merges: list[LatestMerge] = []
    for start in range(0, len(edges), _AT_ONCE):
        part = edges[start : start + _AT_ONCE]
        equivalences.prepare({url_id for _id, url_id, *_rest in part})
        for _id, url_id, _to, status_of, times, seen in part:
            end = equivalences.representative(url_id, awaited=True)
            if end.steps and end.steps[0].kind == kind:
                step = end.steps[0]
                latest_merges.append(
                    LatestMerge(url_id, step.url, step.to, end.url, kind, status_of, times, seen)
                )
        if len(latest_merges) >= most:
            break
    return latest_merges[:most]


def _statuses(connection: Connection, kind: str) -> list[int]:
    """Return the HTTP statuses of a kind of aliases; of redirects, the permanent ones."""
    found = {one.status for one in counts.alias_counts(connection) if one.kind == kind}
    return sorted(found & PERMANENT_REDIRECTS if kind == "redirect" else found)


def equal_pages(connection: Connection, most: int) -> list[LatestMerge]:
    """Return those of the latest pages that repeat the body of an earlier page of their host."""
    if not counts.total_of(connection, counts.REPEATED):
        return []
    repeats: list[LatestMerge] = []
    for url_id, url, host, at, first in connection.execute(_RECENT):
        if first is None:
            continue
        other, host_of_other = connection.execute(_PLACE, {"url_id": first}).one()
        if host == host_of_other:
            repeats.append(LatestMerge(url_id, url, other, other, "content", 0, 1, at))
        if len(repeats) == most:
            break
    return repeats
