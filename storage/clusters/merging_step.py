"""The merging step: the one test for merging a URL into another (RFC 3986 6.2.4).

A permanent redirect merges its ends; a temporary one merges nothing. A canonical link merges if its
page still has it, its target answers 200 and names itself or nothing, and the titles do not differ.
A learned rule merges the URLs that it held. Neither a redirect nor a canonical link merges into a
sink: a page to which many unlike pages lead, such as a login page, or the home page for deleted
pages.

`Equivalences` follows the steps.
"""

import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from canonry.storage.http_status import OK, PERMANENT_REDIRECTS
from canonry.storage.sql.schema import State

SINK = 10  # sources with names unlike the target's that make it a sink
CURRENT = (State.FETCHED, State.QUEUED)  # a URL that is queued again keeps the page it had
_LAST = re.compile(r"://[^/?#]*/?(?:[^?#]*/)?([^/?#]*)/*(?:[?#]|\Z)")


class EdgeEnd(NamedTuple):
    """One end of an edge: a URL; the last three fields are those of its page."""

    id: int
    url: str
    state: int
    status: int | None
    title: str | None
    canonical: str | None

    @property
    def is_alive(self) -> bool:
        """True if it may represent others: its last answer is a page with status 200."""
        return self.status == OK and self.state in CURRENT

    @property
    def may_redirect(self) -> bool:
        """True if its last answer may be a redirect: it redirected, or is queued without a page."""
        return self.state == State.REDIRECTED or (
            self.state == State.QUEUED and self.status is None
        )


class Edge(NamedTuple):
    """One URL leading to another: a row of ``aliases``."""

    id: int
    to_id: int
    kind: str  # redirect, canonical or rule
    status: int
    target_url: str  # the target as given, resolved
    times: int
    last_seen: float


EDGE_COLUMNS = ("id", "to_id", "kind", "status", "target_url", "count", "last_seen")  # of `Edge`


def latest_first(edge: Edge) -> tuple[float, int]:
    """Return the sort key of the edges of one URL: the one that was seen last comes first."""
    return -edge.last_seen, -edge.id


def merging_step(
    here: EdgeEnd,
    edges: Iterable[tuple[Edge, EdgeEnd]],
    is_sink: Callable[[int, str], bool],
) -> Edge | None:
    """Return the edge that merges a URL into another; None if it is a resource of its own.

    Args:
        here: the URL.
        edges: those of the URL, each with its target, the latest first.
        is_sink: returns True if a URL, given by its id, is a sink for edges of a kind.
    """
    for edge, there in edges:
        if there.id == here.id:
            continue
        if edge.kind == "rule" and here.state == State.HELD:
            return edge
        if edge.kind == "redirect" and here.may_redirect:
            # The last answer counts: a URL with a temporary redirect is a resource of its own.
            lasts = edge.status in PERMANENT_REDIRECTS
            return edge if lasts and not _ends_in_sink(here, edge, there, is_sink) else None
        is_canonical = edge.kind == "canonical" and _holds(here, edge, there)
        if is_canonical and not _ends_in_sink(here, edge, there, is_sink):
            return edge
    return None


def _holds(here: EdgeEnd, edge: Edge, there: EdgeEnd) -> bool:
    """Return True if a page still has a canonical link, and its target does not contradict it."""
    if here.canonical != edge.target_url or not there.is_alive:
        return False
    if there.canonical not in {None, there.url}:
        return False
    return not (here.title and there.title and here.title != there.title)


def _ends_in_sink(
    here: EdgeEnd, edge: Edge, there: EdgeEnd, is_sink: Callable[[int, str], bool]
) -> bool:
    """Return True if an edge leads to a sink from a URL with another name."""
    return last_segment(here.url) != last_segment(there.url) and is_sink(there.id, edge.kind)


def are_unlike(urls: Iterable[str], target: str) -> bool:
    """Return True if the URLs that lead to a target have enough other names to make it a sink."""
    own = last_segment(target)
    names: set[str] = set()
    for url in urls:
        name = last_segment(url)
        if name != own:
            names.add(name)
            if len(names) >= SINK:
                return True
    return False


def last_segment(url: str) -> str:
    """Return the last segment of a URL's path, in lower case; "" for the root."""
    found = _LAST.search(url)
    return found[1].lower() if found else ""
