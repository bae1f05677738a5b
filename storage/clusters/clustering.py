"""Clustering: the classes of all known URLs, in arrays; a page is in exactly one cluster.

A URL that leads to another belongs to the cluster of its `Equivalences`. Pages of one host with
equal bodies are one cluster, too.
"""

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from canonry.storage.clusters.equivalences import EQUAL_BODIES, Equivalences, best_of
from canonry.storage.http_status import OK

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

_BATCH = 20_000  # rows in memory at once
_EQUAL = f"""{EQUAL_BODIES} IN (
    SELECT digest FROM pages WHERE status = {OK} AND size > 0 GROUP BY digest HAVING count(*) > 1
)
ORDER BY pages.digest, urls.host_id, urls.id
"""  # noqa: S608 - our own numbers


class Clustering(NamedTuple):
    """The cluster of each URL, in arrays that are indexed by the URL's id; no URL has the id 0."""

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
    """Return the clusters of a store."""
    size = (connection.exec_driver_sql("SELECT max(id) FROM urls").scalar() or 0) + 1
    root, to, alias = np.arange(size), np.zeros(size, np.int64), np.zeros(size, np.int64)
    clustered = np.zeros(size, np.bool_)
    for batch in _batches_of(connection, "SELECT url_id FROM pages"):
        clustered[[url_id for (url_id,) in batch]] = True
    equivalences = Equivalences(connection)
    leading = "SELECT DISTINCT from_id FROM aliases ORDER BY from_id"
    for batch in _batches_of(connection, leading):
        url_ids = [url_id for (url_id,) in batch]
        equivalences.prepare(url_ids)
        for url_id in url_ids:
            end, _url, steps = equivalences.led_end(url_id)
            if steps:
                root[url_id], to[url_id], alias[url_id] = end, steps[0].to_id, steps[0].alias_id
    led_to = np.bincount(root[to > 0], minlength=size) > 0
    for url_id, one in _equal_pages(connection, to == 0, led_to):
        root[url_id] = to[url_id] = one
    root = root[root]
    return Clustering(root, to, alias, clustered | (to > 0))


def _equal_pages(connection: Connection, alone: Flags, led_to: Flags) -> Iterator[tuple[int, int]]:
    """Yield pages with equal bodies on one host, each with the page that represents it."""
    usable = (row for row in chain.from_iterable(_batches_of(connection, _EQUAL)) if alone[row[2]])
    for _body, group in groupby(usable, key=itemgetter(0, 1)):
        pages = {url_id: url for _digest, _host, url_id, url, _at in group}
        one = best_of(pages, led_to.__getitem__)
        yield from ((url_id, one) for url_id in pages if url_id != one)


def _batches_of(connection: Connection, question: str) -> Iterator[Sequence[Any]]:
    """Yield the rows of a query in batches."""
    found = connection.exec_driver_sql(question, execution_options={"yield_per": _BATCH})
    yield from found.partitions(_BATCH)


def read_keys(connection: Connection, size: int) -> npt.NDArray[np.void]:
    """Read the key of each URL into an array of 16-byte values, by the URL's id.

    Args:
        connection: to a store.
        size: one more than the last URL's id.
    """
    keys_by_id = np.zeros(size, "V16")
    for batch in _batches_of(connection, "SELECT url_id, key FROM keys"):
        url_ids, keys = zip(*batch, strict=True)
        place = np.array(url_ids, np.int64)
        joined = np.frombuffer(b"".join(map(bytes, keys)), "V16")
        inside = place < size
        keys_by_id[place[inside]] = joined[inside]
    return keys_by_id


def no_keys() -> npt.NDArray[np.void]:
    """Return an empty array, for callers that show no keys."""
    return np.zeros(0, "V16")
