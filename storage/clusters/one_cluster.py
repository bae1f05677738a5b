"""One cluster: a resource with its first URLs, for display, read by indexes only.

Its members are those that `canonry.storage.clusters.clustering` finds.
"""

from typing import NamedTuple

from sqlalchemy import Connection

from canonry.storage.clusters.equivalences import Equivalences, best_of
from canonry.storage.clusters.merging_step import CURRENT
from canonry.storage.http_status import OK
from canonry.storage.records import UNREAD

CONTENT = "content"  # the reason of members whose body is that of the representative
_LOOKED_AT = 400  # aliases read for each target
_LEADING = "SELECT from_id FROM aliases WHERE to_id = {url_id:d} LIMIT {most:d}"
# "+ 0" keeps SQLite from looking through all URLs of the host.
_EQUAL = """
SELECT urls.id, urls.url FROM pages JOIN pages other ON other.digest = pages.digest
JOIN urls ON urls.id = other.url_id
WHERE pages.url_id = {url_id:d} AND pages.status = {ok:d} AND pages.size > 0
    AND pages.links <> {unread:d} AND other.status = {ok:d} AND other.links <> {unread:d}
    AND urls.state IN ({current})
    AND urls.host_id + 0 = (SELECT host_id FROM urls WHERE id = {url_id:d})
LIMIT {most:d}
"""


class FoundMember(NamedTuple):
    """A URL of a cluster that is not its representative."""

    url_id: int
    url: str
    kind: str  # redirect, canonical, rule or content
    status: int  # HTTP status of a redirect, else 0
    via: str  # the URL that it leads to directly
    last_seen: float  # seconds since 1970; 0 for equal content


class OneCluster(NamedTuple):
    """A resource: the URL that represents it, and its other URLs."""

    url_id: int
    url: str
    members: list[FoundMember]
    has_more: bool  # there may be more members than were looked for


def cluster_of(connection: Connection, url_id: int, most: int) -> OneCluster:
    """Return the cluster of a URL.

    Args:
        connection: to a store.
        url_id: of the URL.
        most: the largest number of members.
    """
    equivalences = Equivalences(connection)
    end = equivalences.representative(url_id, awaited=True)
    pages = _equal_pages(connection, end.url_id, most + 1)
    pages.setdefault(end.url_id, end.url)
    ends = {
        end_id: url
        for end_id, url in pages.items()
        if equivalences.representative(end_id).url_id == end_id
    }
    ends[end.url_id] = end.url
    members: list[FoundMember] = []
    led_to: set[int] = set()
    has_more = len(pages) > most
    for end_id in sorted(ends):
        leading, is_cut = _leading(connection, equivalences, end_id, most + 1 - len(members))
        if leading:
            led_to.add(end_id)
        members += leading
        has_more |= is_cut
        if len(members) > most:
            break
    root = best_of(ends, led_to.__contains__)
    equal = [
        FoundMember(end_id, url, CONTENT, 0, ends[root], 0.0)
        for end_id, url in sorted(ends.items())
        if end_id != root
    ]
    every = [*equal, *members]
    return OneCluster(root, ends[root], every[:most], has_more or len(every) > most)


def _equal_pages(connection: Connection, url_id: int, most: int) -> dict[int, str]:
    """Return by id the pages of a page's host with the same body; empty for no page."""
    question = _EQUAL.format(
        url_id=url_id, most=most, ok=OK, unread=UNREAD, current=", ".join(f"{s:d}" for s in CURRENT)
    )
    return {int(one): str(url) for one, url in connection.exec_driver_sql(question)}


def _leading(
    connection: Connection, equivalences: Equivalences, end: int, most: int
) -> tuple[list[FoundMember], bool]:
    """Return the URLs whose chains end at one, and True if some aliases were not read.

    It follows no further steps once it has ``most`` of them.
    """
    members: list[FoundMember] = []
    seen, near, is_cut = {end}, [end], False
    while near and len(members) < most:
        leading: list[int] = []
        for url_id in near:
            question = _LEADING.format(url_id=url_id, most=_LOOKED_AT)
            found = [from_id for (from_id,) in connection.exec_driver_sql(question)]
            is_cut |= len(found) == _LOOKED_AT
            leading += found
        new = sorted(set(leading) - seen)
        seen.update(new)
        equivalences.prepare(new)
        near = []
        for url_id in new:
            representative = equivalences.representative(url_id, awaited=True)
            if representative.url_id == end and representative.steps:
                near.append(url_id)
                step = representative.steps[0]
                members.append(
                    FoundMember(url_id, step.url, step.kind, step.status, step.to, step.last_seen)
                )
    return members, is_cut
