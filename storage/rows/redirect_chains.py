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

    url_id: int
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


def chains(connection: Connection, url_ids: Sequence[int]) -> list[Chain]:
    """Return the chain that begins with each of some URLs, given by their ids."""
    ends_by_id: dict[int, ChainEnd] = {}
    following: dict[int, int] = {}
    wanted = set(url_ids)
    for _ in range(MAX_REDIRECTS):
        if not wanted:
            break
        new = {found.url_id: found for found in _read(connection, wanted)}
        ends_by_id |= new
        redirected = [url.url_id for url in new.values() if url.state is State.REDIRECTED]
        targets = _last_redirects(connection, redirected)
        following |= targets
        wanted = set(targets.values()) - ends_by_id.keys()
    return [
        Chain(ends_by_id[url_id], ends_by_id[_last(url_id, ends_by_id, following)])
        for url_id in url_ids
    ]


def _last_redirects(connection: Connection, url_ids: Iterable[int]) -> dict[int, int]:
    """Return where URLs redirected when they were last fetched, by their ids."""
    last: dict[int, tuple[float, int, int]] = {}  # the latest, as in `known_url.redirects_from`
    for url_id, to_id, kind, *when in rows_of(connection, _LEADS, list(url_ids)):
        if kind == "redirect":
            last[url_id] = max(last.get(url_id, (0.0, 0, 0)), (*when, to_id))
    return {url_id: to_id for url_id, (_seen, _id, to_id) in last.items()}


def _read(connection: Connection, url_ids: Iterable[int]) -> Iterator[ChainEnd]:
    """Yield URLs by their ids."""
    for url_id, url, state, reason, status in rows_of(connection, _ROWS, list(url_ids)):
        yield ChainEnd(url_id, url, State(state), reason, status)


def _last(url_id: int, ends_by_id: dict[int, ChainEnd], following: dict[int, int]) -> int:
    """Return the last URL of the chain that begins with one."""
    seen = {url_id}
    while (
        (after := following.get(url_id)) is not None and after in ends_by_id and after not in seen
    ):
        url_id = after
        seen.add(url_id)
    return url_id
