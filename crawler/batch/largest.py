"""The resources with the most lines, kept up to date while lines are read."""

import heapq
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

_MOST = 20  # resources


class Numerous(NamedTuple):
    """A resource with several lines."""

    lines: int
    first: int  # the place of its first line, among all
    later: int  # the place of another one
    text: str | None = None  # the first line, for people; None: not known yet


def largest(resources: Iterable[Numerous]) -> list[Numerous]:
    """Return the resources with the most lines; those that came last win ties.

    If a resource is given twice, the element with more lines counts, and the text of either.
    """
    found: dict[int, Numerous] = {}
    for one in resources:
        other = found.get(one.first, one)
        more, less = (one, other) if one.lines > other.lines else (other, one)
        found[one.first] = more if more.text is not None else more._replace(text=less.text)
    return heapq.nlargest(_MOST, found.values(), key=_rank)


def rise(
    known: list[Numerous],
    lines: npt.NDArray[np.integer],
    firsts: npt.NDArray[np.uint64],
    later: npt.NDArray[np.uint64],
) -> list[Numerous]:
    """Return the resources that may now be among the largest, each once.

    Args:
        known: as `largest` returned it.
        lines: how many each resource has. If it is repeated, its largest number counts.
        firsts: the place of its first line.
        later: the place of another line of it.
    """
    if len(known) < _MOST:
        some = np.flatnonzero(lines > 1)
    else:
        least, place = _rank(known[-1])
        some = np.flatnonzero((lines > least) | ((lines == least) & (firsts > place)))
    if not len(some):
        return []
    by_first = some[np.lexsort((lines[some], firsts[some]))]
    is_last = np.append(firsts[by_first][1:] != firsts[by_first][:-1], True)
    each = by_first[is_last]
    top = each[np.lexsort((firsts[each], lines[each]))][-_MOST:]
    rows = zip(lines[top].tolist(), firsts[top].tolist(), later[top].tolist(), strict=True)
    return [Numerous(*row) for row in rows]


def _rank(one: Numerous) -> tuple[int, int]:
    return one.lines, one.first
