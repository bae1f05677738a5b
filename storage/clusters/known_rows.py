"""The rows of a store as arrays: what clustering needs of each URL, in a few bytes."""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from canonry.storage.clusters.merging_step import CURRENT
from canonry.storage.http_status import OK
from canonry.storage.records import UNREAD

BATCH = 20_000  # rows in memory at once
_ROWS = f"""
SELECT urls.id, urls.state, urls.host_id, coalesce(pages.status, 0),
    CASE WHEN pages.size > 0 AND pages.links <> {UNREAD} THEN 1 ELSE 0 END
FROM urls LEFT JOIN pages ON pages.url_id = urls.id ORDER BY urls.id
"""  # noqa: S608 - our own number

Ids = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class KnownRows(NamedTuple):
    """Data of each URL, in arrays that are indexed by the URL's id; no URL has the id 0."""

    state: npt.NDArray[np.int8]  # -1: no URL has this id
    host: npt.NDArray[np.int32]
    status: npt.NDArray[np.int16]  # HTTP status of its page; 0: it has none
    has_body: Flags

    @property
    def is_page(self) -> Flags:
        """The URLs that have answered with a page, of whatever status."""
        return self.status > 0

    @property
    def is_alive(self) -> Flags:
        """The URLs that may represent others; the same test as `EdgeEnd.is_alive`."""
        alive: Flags = (self.status == OK) & np.isin(self.state, CURRENT)
        return alive


def batches_of(connection: Connection, question: str) -> Iterator[Sequence[Any]]:
    """Yield the rows of a query in batches."""
    found = connection.exec_driver_sql(question, execution_options={"yield_per": BATCH})
    yield from found.partitions(BATCH)


def stream(connection: Connection, question: str) -> Iterator[Any]:
    """Yield the rows of a query without loading all of them."""
    return chain.from_iterable(batches_of(connection, question))


def read(connection: Connection) -> KnownRows:
    """Read all rows, a batch at a time."""
    size = (connection.exec_driver_sql("SELECT max(id) FROM urls").scalar() or 0) + 1
    arrays: tuple[npt.NDArray[Any], ...] = (
        np.full(size, -1, np.int8),
        np.zeros(size, np.int32),
        np.zeros(size, np.int16),
        np.zeros(size, np.bool_),
    )
    for batch in batches_of(connection, _ROWS):
        url_ids, *columns = zip(*batch, strict=True)
        place = np.array(url_ids, np.int64)
        for array, values in zip(arrays, columns, strict=True):
            array[place] = values
    return KnownRows(*arrays)


def read_keys(connection: Connection, size: int) -> npt.NDArray[np.void]:
    """Read the key of each URL into an array of 16-byte values, by the URL's id.

    Args:
        connection: to a store.
        size: one more than the last URL's id.
    """
    keys_by_id = np.zeros(size, "V16")
    for batch in batches_of(connection, "SELECT url_id, key FROM keys"):
        url_ids, keys = zip(*batch, strict=True)
        place = np.array(url_ids, np.int64)
        joined = np.frombuffer(b"".join(map(bytes, keys)), "V16")
        inside = place < size
        keys_by_id[place[inside]] = joined[inside]
    return keys_by_id


def no_keys() -> npt.NDArray[np.void]:
    """Return an empty array, for callers that show no keys."""
    return np.zeros(0, "V16")
