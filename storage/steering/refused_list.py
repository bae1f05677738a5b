"""What is held or has failed, by reason: counts, examples, and all of it in pages."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from sqlalchemy import Connection, select, text

from canonry.storage.sql import counts
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.steering.pages_of_rows import InOrder, PageOfRows, page_of
from canonry.storage.steering.releases import STATES, Refusal

_HERE = text("state > 2")  # the condition of the index


class RefusedURL(NamedTuple):
    """A URL that is held or has failed."""

    url_id: int
    url: str
    host: str
    depth: int
    hops: int
    attempts: int
    at: float  # when it failed, or was found; seconds since 1970


def refusals(connection: Connection) -> list[tuple[Refusal, int]]:
    """Return why URLs are held or have failed, and how many, the most frequent reason first."""
    found = [
        (Refusal(state, reason), number)
        for state, reason, number in counts.read(connection, "urls")
        if state in STATES
    ]
    return sorted(found, key=lambda one: (-one[1], one[0]))


def urls_of(
    connection: Connection, refusal: Refusal, *, before: int | None = None, most: int = 50
) -> PageOfRows[RefusedURL]:
    """Return a page of the URLs that are held or have failed for a reason, the newest first.

    Args:
        connection: in a transaction.
        refusal: state and reason, as the store has it.
        before: the id of the URL that ended the page before.
        most: URLs on a page.
    """
    query = (
        select(
            *(urls.c.id, urls.c.url, hosts.c.name, urls.c.depth, urls.c.hops, urls.c.attempts),
            *(urls.c.due, urls.c.found_at),
        )
        .join_from(urls, hosts, hosts.c.id == urls.c.host_id)
        .where(_HERE, urls.c.state == STATES[refusal.state], urls.c.reason == refusal.reason)
    )
    if before is not None:
        query = query.where(urls.c.id < before)
    is_failed = STATES[refusal.state] is State.FAILED

    def make(row: Sequence[Any]) -> RefusedURL:
        *columns, due, found_at = row
        return RefusedURL._make([*columns, due if is_failed and due else found_at])

    listed = InOrder(query, (urls.c.id,), ascending=False, make=make, cursor_of=_cursor)
    return page_of(connection, listed, most)


def _cursor(one: RefusedURL) -> str:
    return str(one.url_id)
