"""Merging edges: for each URL, the one step that makes it another URL, read in one pass.

These are the steps of `canonry.storage.learned.equivalences`, for all URLs of a store at once.
"""

from collections.abc import Iterable
from itertools import groupby
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection

from canonry.storage.clusters.known_rows import Ids, KnownRows, stream
from canonry.storage.http_status import PERMANENT_REDIRECTS
from canonry.storage.learned.equivalences import SINK, last_segment
from canonry.storage.sql.schema import State

_EDGES = """
SELECT aliases.from_id, aliases.id, aliases.to_id, aliases.kind, aliases.status, aliases.located,
    here.url, there.url, of_here.canonical, of_there.canonical, of_here.title, of_there.title
FROM aliases JOIN urls here ON here.id = aliases.from_id JOIN urls there ON there.id = aliases.to_id
LEFT JOIN pages of_here ON of_here.url_id = aliases.from_id
LEFT JOIN pages of_there ON of_there.url_id = aliases.to_id
ORDER BY aliases.from_id, aliases.last_seen DESC, aliases.id DESC
"""
_LEADING = f"""
SELECT aliases.to_id, aliases.kind, there.url, here.url
FROM (
    SELECT to_id, kind FROM aliases WHERE kind <> 'rule' GROUP BY to_id, kind
    HAVING count(*) >= {SINK}
) ends JOIN aliases ON aliases.to_id = ends.to_id AND aliases.kind = ends.kind
JOIN urls here ON here.id = aliases.from_id JOIN urls there ON there.id = aliases.to_id
ORDER BY aliases.to_id, aliases.kind
"""  # noqa: S608 - our own number


class MergingEdges(NamedTuple):
    """The step from each URL, by its row; 0 for none."""

    to: Ids  # the row that it leads to
    alias: Ids  # the row of ``aliases`` that says so


class _Edge(NamedTuple):
    """An alias, with what is known of its ends."""

    from_id: int
    id: int
    to_id: int
    kind: str
    status: int
    located: str
    url: str
    target: str
    canonical: str | None
    target_canonical: str | None
    title: str | None
    target_title: str | None

    def leads_to_sink(self, sinks: set[tuple[int, str]]) -> bool:
        """Return True if many unlike pages lead to its end, and its beginning is one of these."""
        is_sink = (self.to_id, self.kind) in sinks
        return is_sink and last_segment(self.url) != last_segment(self.target)


def read(connection: Connection, known: KnownRows) -> MergingEdges:
    """Return the merging step of every URL.

    Of several, the one that was seen last counts; and only what the URL's last answer says.
    """
    sinks = _sinks(connection)
    redirects, alive = known.is_redirect, known.is_alive
    edges = MergingEdges(*(np.zeros(len(known.state), np.int64) for _ in range(2)))
    for row, group in groupby(stream(connection, _EDGES), key=itemgetter(0)):
        is_held = known.state[row] == State.HELD
        found = _merging(
            map(_Edge._make, group), sinks, alive, is_redirect=redirects[row], is_held=is_held
        )
        if found is not None:
            edges.to[row], edges.alias[row] = found.to_id, found.id
    return edges


def _merging(
    edges: Iterable[_Edge],
    sinks: set[tuple[int, str]],
    alive: Any,  # noqa: ANN401 - an array, or what answers as one
    *,
    is_redirect: bool,
    is_held: bool,
) -> _Edge | None:
    """Return the first edge of a URL, the latest first, that merges it into another."""
    for edge in edges:
        if edge.to_id == edge.from_id:
            continue
        if edge.kind == "redirect" and is_redirect:
            # The last answer counts: a URL with a temporary redirect is a resource of its own.
            lasts = edge.status in PERMANENT_REDIRECTS
            return edge if lasts and not edge.leads_to_sink(sinks) else None
        if edge.kind == "rule" and is_held:
            return edge
        is_canonical = edge.kind == "canonical" and alive[edge.to_id] and _holds(edge)
        if is_canonical and not edge.leads_to_sink(sinks):
            return edge
    return None


def _holds(edge: _Edge) -> bool:
    """Return True if the page still has a canonical link, and nothing refutes it."""
    if edge.canonical != edge.located or edge.target_canonical not in {None, edge.target}:
        return False
    return not (edge.title and edge.target_title and edge.title != edge.target_title)


def _sinks(connection: Connection) -> set[tuple[int, str]]:
    """Return the rows of pages to which a site leads from many unlike ones, and how it does."""
    found: set[tuple[int, str]] = set()
    for end, group in groupby(stream(connection, _LEADING), key=itemgetter(0, 1, 2)):
        row, kind, target = end
        own = last_segment(target)
        names: set[str] = set()
        for *_end, url in group:
            name = last_segment(url)
            if name != own and len(names) < SINK:
                names.add(name)
        if len(names) >= SINK:
            found.add((row, kind))
    return found
