"""Chains of redirects: where URLs lead, and what became of the last URL of each chain."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.storage.http_status import MAX_REDIRECTS
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State

_ROWS = (
    "SELECT urls.id, url, state, reason, status FROM urls LEFT JOIN pages ON url_id = urls.id "
    "WHERE urls.id"
)
_LEADS = "SELECT from_id, to_id, kind, last_seen, id FROM aliases WHERE from_id"


class ChainEnd(NamedTuple):
    """The first or the last URL of a chain."""

    row: int
    url: str
    state: State
    reason: str | None
    status: int | None  # HTTP status of its page; None without one


class Chain(NamedTuple):
    """The first and the last URL of a chain: one and the same without a redirect.

    If the last one is `State.REDIRECTED`, its target was refused (then it has a reason), or the
    chain is a circle.
    """

    first: ChainEnd
    last: ChainEnd


def chains(connection: Connection, rows: Sequence[int]) -> list[Chain]:
    """Return the chain that begins with each of some URLs, given by their rows."""
    urls_by_row: dict[int, ChainEnd] = {}
    following: dict[int, int] = {}
    wanted = set(rows)
    for _ in range(MAX_REDIRECTS):
        if not wanted:
            break
        new = {found.row: found for found in _read(connection, wanted)}
        urls_by_row |= new
        redirected = [url.row for url in new.values() if url.state is State.REDIRECTED]
        targets = _last_redirects(connection, redirected)
        following |= targets
        wanted = set(targets.values()) - urls_by_row.keys()
    return [
        Chain(urls_by_row[row], urls_by_row[_last(row, urls_by_row, following)]) for row in rows
    ]


def _last_redirects(connection: Connection, rows: Iterable[int]) -> dict[int, int]:
    """Return where URLs redirected when they were last fetched, by their rows."""
    last: dict[int, tuple[float, int, int]] = {}  # the latest, as in `known_url.redirects_from`
    for row, to_id, kind, *when in rows_of(connection, _LEADS, list(rows)):
        if kind == "redirect":
            last[row] = max(last.get(row, (0.0, 0, 0)), (*when, to_id))
    return {row: to_id for row, (_seen, _id, to_id) in last.items()}


def _read(connection: Connection, rows: Iterable[int]) -> Iterator[ChainEnd]:
    """Yield URLs by their rows."""
    for row, url, state, reason, status in rows_of(connection, _ROWS, list(rows)):
        yield ChainEnd(row, url, State(state), reason, status)


def _last(row: int, urls_by_row: dict[int, ChainEnd], following: dict[int, int]) -> int:
    """Return the last row of the chain that begins with a row."""
    seen = {row}
    while (after := following.get(row)) is not None and after in urls_by_row and after not in seen:
        row = after
        seen.add(row)
    return row
