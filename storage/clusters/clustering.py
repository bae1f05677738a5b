"""Clustering: which known URLs are one resource, and which of them represents it.

Every page is in exactly one cluster. A URL that leads to another belongs to the cluster at the end
of its chain, if that end answered 200. Pages of one host with equal bodies are one cluster, too.
"""

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from canonry.storage.clusters import known_rows, merging_edges
from canonry.storage.clusters.known_rows import Flags, Ids, stream
from canonry.storage.http_status import OK
from canonry.storage.records import UNREAD

_EQUAL = f"""
SELECT pages.digest, urls.host_id, urls.id, urls.url FROM pages JOIN urls ON urls.id = pages.url_id
WHERE pages.status = {OK} AND pages.size > 0 AND pages.links <> {UNREAD} AND pages.digest IN (
    SELECT digest FROM pages WHERE status = {OK} AND size > 0 GROUP BY digest HAVING count(*) > 1
)
ORDER BY pages.digest, urls.host_id, urls.id
"""  # noqa: S608 - our own numbers


class Clustering(NamedTuple):
    """The cluster of each URL, in arrays that are indexed by the URL's id."""

    root: Ids  # the id of the representative
    to: Ids  # the id of the URL that this one leads to directly; 0 for the representative
    alias: Ids  # the id of the alias that says so; 0: equal bodies, or the representative
    clustered: Flags  # True for the URLs that are in a cluster

    def url_ids(self) -> Ids:
        """Return the ids of all clustered URLs, cluster by cluster, each representative first."""
        url_ids = np.flatnonzero(self.clustered)
        roots = self.root[url_ids]
        return url_ids[np.lexsort((url_ids, url_ids != roots, roots))]


def cluster(connection: Connection) -> Clustering:
    """Return the clusters of a store.

    The representative of a cluster is the page at the end of its chains of redirects, canonical
    links and rules. Of pages with equal bodies it is the one that other URLs lead to; else one
    with https; else the one with the shortest URL; else the one that was found first.
    """
    urls = known_rows.read(connection)
    edges = merging_edges.read(connection, len(urls.state))
    alive = urls.is_alive
    to, alias = edges.to, edges.alias
    end = _ends(to)
    merged = (to > 0) & (end > 0) & alive[end]
    url_ids = np.arange(len(to))
    root = np.where(merged, end, url_ids)
    to, alias = np.where(merged, to, 0), np.where(merged, alias, 0)
    led_to = np.bincount(root[merged], minlength=len(root)) > 0
    may_join = alive & urls.has_body & (root == url_ids)
    for url_id, one in _equal_pages(connection, may_join, led_to):
        root[url_id] = to[url_id] = one
    root = root[root]
    return Clustering(root, to, alias, (root != url_ids) | urls.is_page)


def _ends(to: Ids) -> Ids:
    """Return the end of each URL's chain; 0 for chains that lead into a circle.

    Each round doubles the steps that were followed, so long chains need few rounds.
    """
    url_ids = np.arange(len(to))
    end = np.where(to > 0, to, url_ids)
    for _ in range(len(to).bit_length()):
        further = end[end]
        if np.array_equal(further, end):
            break
        end = further
    return np.where(to[end] > 0, 0, end)  # an end that leads on is in a circle


def _equal_pages(
    connection: Connection, may_join: Flags, led_to: Flags
) -> Iterator[tuple[int, int]]:
    """Yield pages with equal bodies on one host, each with the page that represents it."""
    usable = (row for row in stream(connection, _EQUAL) if may_join[row[2]])
    for _body, group in groupby(usable, key=itemgetter(0, 1)):
        pages = [(url_id, url) for _digest, _host, url_id, url in group]
        one = _best(pages, led_to)
        yield from ((url_id, one) for url_id, _url in pages if url_id != one)


def _best(pages: Iterable[tuple[int, str]], led_to: Flags) -> int:
    """Return the id of the best representative of some pages with equal bodies."""

    def rank(page: tuple[int, str]) -> tuple[bool, bool, int, int]:
        url_id, url = page
        return not led_to[url_id], not url.startswith("https:"), len(url), url_id

    return min(pages, key=rank)[0]
