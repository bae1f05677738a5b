"""One cluster: a resource with its first URLs, for display, read by indexes only.

Its members are those that `canonry.storage.clusters.clustering` finds.
"""

from typing import NamedTuple

from sqlalchemy import Connection

from canonry.storage.clusters.equivalences import CONTENT, Equivalences

_LOOKED_AT = 400  # aliases read for each target
_LEADING = "SELECT from_id FROM aliases WHERE to_id = {url_id:d} LIMIT {most:d}"


class FoundMember(NamedTuple):
    """A URL of a cluster that is not its representative."""

    url_id: int
    url: str
    kind: str  # redirect, canonical, rule or content
    status: int  # HTTP status of a redirect, else 0
    via: str  # the URL that it leads to directly
    last_seen: float  # seconds since 1970; when the page was fetched for equal content


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
    found = equivalences.representative(url_id, awaited=True)
    root, url = found.url_id, found.url
    equal = equivalences.equal_to(root)
    pages = {} if equal is None else equal.pages
    members = [
        FoundMember(one, page.url, CONTENT, 0, url, page.fetched_at)
        for one, page in sorted(pages.items())
        if one != root
    ]
    has_more = False
    for end in sorted({root, *pages}):
        if len(members) > most:
            break
        leading, is_cut = _leading(connection, equivalences, end, most + 1 - len(members))
        members += leading
        has_more |= is_cut
    return OneCluster(root, url, members[:most], has_more or len(members) > most)


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
            led = equivalences.led_end(url_id, awaited=True)
            if led.url_id == end and led.steps:
                near.append(url_id)
                step = led.steps[0]
                members.append(
                    FoundMember(url_id, step.url, step.kind, step.status, step.to, step.last_seen)
                )
    return members, is_cut
