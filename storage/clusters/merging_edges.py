"""Merging edges: the step that merges each URL into another, read in one pass."""

from itertools import groupby
from operator import itemgetter
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection

from canonry.storage.clusters.known_rows import Ids, stream
from canonry.storage.clusters.merging_step import (
    EDGE_COLUMNS,
    LATEST_FIRST,
    SINK,
    Edge,
    EdgeEnd,
    are_unlike,
    merging_step,
)

_EDGE = ", ".join(f"aliases.{name}" for name in EDGE_COLUMNS)
_EDGES = f"""
SELECT aliases.from_id, {_EDGE},
    here.id, here.url, here.state, of_here.status, of_here.title, of_here.canonical,
    there.id, there.url, there.state, of_there.status, of_there.title, of_there.canonical
FROM aliases JOIN urls here ON here.id = aliases.from_id JOIN urls there ON there.id = aliases.to_id
LEFT JOIN pages of_here ON of_here.url_id = aliases.from_id
LEFT JOIN pages of_there ON of_there.url_id = aliases.to_id
ORDER BY aliases.from_id, {LATEST_FIRST}
"""  # noqa: S608 - our own names
_LEADING = f"""
SELECT aliases.to_id, aliases.kind, there.url, here.url
FROM (
    SELECT to_id, kind FROM aliases WHERE kind <> 'rule' GROUP BY to_id, kind
    HAVING count(*) >= {SINK}
) ends JOIN aliases ON aliases.to_id = ends.to_id AND aliases.kind = ends.kind
JOIN urls here ON here.id = aliases.from_id JOIN urls there ON there.id = aliases.to_id
ORDER BY aliases.to_id, aliases.kind
"""  # noqa: S608 - our own number
_HERE = 1 + len(Edge._fields)  # where the columns of the edge's source begin
_THERE = _HERE + len(EdgeEnd._fields)


class MergingEdges(NamedTuple):
    """The step from each URL, by its id; 0 for none."""

    to: Ids  # the id of the URL that it leads to
    alias: Ids  # the id of the alias that says so


def read(connection: Connection, size: int) -> MergingEdges:
    """Return the merging step of every URL.

    Args:
        connection: to a store.
        size: one more than the last URL's id.
    """
    sinks = _sinks(connection)
    steps = MergingEdges(np.zeros(size, np.int64), np.zeros(size, np.int64))
    for url_id, group in groupby(stream(connection, _EDGES), key=itemgetter(0)):
        found = list(group)
        here = EdgeEnd._make(found[0][_HERE:_THERE])
        edges = [(Edge._make(one[1:_HERE]), EdgeEnd._make(one[_THERE:])) for one in found]
        step = merging_step(here, edges, lambda *end: end in sinks)
        if step is not None:
            steps.to[url_id], steps.alias[url_id] = step.to_id, step.id
    return steps


def _sinks(connection: Connection) -> set[tuple[int, str]]:
    """Return the sinks: ids of URLs to which many unlike ones lead, each with the kind of edge."""
    groups = groupby(stream(connection, _LEADING), key=itemgetter(0, 1, 2))
    return {
        (url_id, kind)
        for (url_id, kind, target), group in groups
        if are_unlike((url for *_end, url in group), target)
    }
