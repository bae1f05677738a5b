"""Walled URLs: those whose answer was a wall in place of their page. They are asked again later."""

from collections.abc import Sequence

from sqlalchemy import Connection, and_, func, or_, update

from canonry.storage.rows import pages
from canonry.storage.rows.requeueing import queue_again, queue_ids_again
from canonry.storage.sql import transitions
from canonry.storage.sql.bulk import change_rows, rows_of
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.transitions import QUEUED, StateReason, Transition, state_reason

WALL = "wall"
_HELD: StateReason = (State.HELD, WALL)
_SHORTEST, _LONGEST = 3_600.0, 30 * 86_400.0  # seconds between two runs that ask one again


def hold(connection: Connection, url_ids: Sequence[int]) -> int:
    """Hold URLs that have answered with a wall, and forget that page; return how many.

    Args:
        connection: in the transaction that recorded the answers, or a later one.
        url_ids: of the URLs; those that are queued again stay so.
    """
    moved = _moved(connection, url_ids, _HELD)
    transitions.move(connection, moved)
    pages.remove(connection, list(moved))
    return len(moved)


def wait(connection: Connection, url_ids: Sequence[int], until: float) -> int:
    """Put URLs that have answered with a wall back in the queue; return how many.

    Args:
        connection: as for `hold`.
        url_ids: of the URLs.
        until: no request for them before; seconds since 1970.
    """
    moved = _moved(connection, url_ids, QUEUED)
    transitions.move(connection, moved, due=until)
    pages.remove(connection, list(moved))
    if moved:
        change_rows(connection, f"UPDATE url_rows SET reason = '{WALL}' WHERE id", list(moved))  # noqa: S608 - ours
    return len(moved)


def pause_hosts(connection: Connection, names: Sequence[str], until: float, now: float) -> None:
    """Send no requests to hosts before a time, because of a wall; seconds since 1970."""
    if names:
        later = func.max if connection.dialect.name == "sqlite" else func.greatest
        paused = {"ready_at": later(hosts.c.ready_at, until), "error": WALL, "error_at": now}
        connection.execute(update(hosts).where(hosts.c.name.in_(names)).values(paused))


def ask_again(connection: Connection, url_ids: Sequence[int]) -> int:
    """Put URLs back in the queue, without the page that a wall gave for them; return how many."""
    pages.remove(connection, url_ids)
    return queue_ids_again(connection, url_ids, urls.c.state != State.QUEUED)


def ask_all_again(connection: Connection, now: float) -> int:
    """Put walled URLs back in the queue whose pause is over; return how many.

    The pause is as long as it took, since the URL was found, until it was asked last: so it doubles
    each time.

    Args:
        connection: in a writing transaction.
        now: seconds since 1970.
    """
    asked = urls.c.due  # of a URL that is not queued: when
    ago = now - asked
    is_over = or_(ago >= _LONGEST, and_(ago >= _SHORTEST, ago >= asked - urls.c.found_at))
    return queue_again(connection, and_(urls.c.state == State.HELD, urls.c.reason == WALL, is_over))


def _moved(
    connection: Connection, url_ids: Sequence[int], after: StateReason
) -> dict[int, Transition]:
    """Return the transitions of URLs that have a page."""
    question = "SELECT id, host_id, depth, state, reason FROM url_rows WHERE state <> 0 AND id"
    return {
        url_id: Transition(host_id, depth, state_reason(state, reason), after)
        for url_id, host_id, depth, state, reason in rows_of(connection, question, list(url_ids))
    }
