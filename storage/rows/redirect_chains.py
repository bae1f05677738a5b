"""Chains of redirects, by the latest answers, and what became of each of their URLs."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.storage.http_status import MAX_REDIRECTS
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.schema import State

_ROWS = (
    "SELECT urls.id, url, state, reason, status FROM urls LEFT JOIN pages ON url_id = urls.id "
    "WHERE urls.id"
)
_LEADS = "SELECT last_seen, id, from_id, to_id, status, kind FROM aliases WHERE from_id"


class ChainURL(NamedTuple):
    """A URL of a chain; the first one is not led to."""

    url_id: int
    url: str
    state: State
    reason: str | None
    answer: int | None  # HTTP status of its page; None without one
    status: int = 0  # of the redirect that leads to it; 0 for the first
    led_at: float = 0.0  # when that was seen last; seconds since 1970


def chains(connection: Connection, url_ids: Sequence[int]) -> list[list[ChainURL]]:
    """Return the chain that begins with each of some URLs, given by their ids.

    Without a redirect, the URL is alone in its chain. If the last one is `State.REDIRECTED`, its
    target was refused (then it has a reason), or the redirects are a circle.
    """
    known: dict[int, ChainURL] = {}
    following: dict[int, tuple[int, int, float]] = {}
    wanted = set(url_ids)
    for _ in range(MAX_REDIRECTS):
        new = [ChainURL(*row) for row in rows_of(connection, _ROWS, list(wanted))]
        known |= {one.url_id: one._replace(state=State(one.state)) for one in new}
        following |= _led(connection, [u.url_id for u in new if u.state == State.REDIRECTED])
        wanted = {to_id for to_id, *_how in following.values()} - known.keys()
    return [_chain(known[url_id], known, following) for url_id in url_ids]


def _led(connection: Connection, url_ids: Sequence[int]) -> dict[int, tuple[int, int, float]]:
    """Return where URLs redirected when they were last fetched: the URL, the status, and when."""
    latest_last = sorted(rows_of(connection, _LEADS, url_ids))
    return {
        from_id: (to_id, status, seen)
        for seen, _id, from_id, to_id, status, kind in latest_last
        if kind == "redirect"
    }


def _chain(
    url: ChainURL, known: Mapping[int, ChainURL], following: Mapping[int, tuple[int, int, float]]
) -> list[ChainURL]:
    """Return the chain that begins with a URL."""
    chain, seen = [url], {url.url_id}
    while url.url_id in following:
        to_id, status, led_at = following[url.url_id]
        if to_id in seen or to_id not in known:
            break
        seen.add(to_id)
        url = known[to_id]._replace(status=status, led_at=led_at)
        chain.append(url)
    return chain
