"""Walled URLs: those whose answer was a wall in place of their page. They are asked again later.

All is done in a writing transaction; times are seconds since 1970.
"""

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, and_, func, or_, select, update

from canonry.storage.records import WALL
from canonry.storage.recrawls import absences
from canonry.storage.rows import pages
from canonry.storage.rows.requeueing import queue_again, queue_ids_again
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows
from canonry.storage.sql.schema import State, hosts, urls
from canonry.storage.sql.transitions import QUEUED, StateReason

_HELD: StateReason = (State.HELD, WALL)
_FETCHED: StateReason = (State.FETCHED, None)
_KEPT: StateReason = (State.FETCHED, WALL)  # its page shows what the wall is
_SHORTEST, _LONGEST = 3_600.0, 30 * 86_400.0  # seconds between two runs that ask one again


def hold(connection: Connection, url_ids: Sequence[int]) -> int:
    """Hold URLs that have answered with a wall, and forget that page; return how many.

    Those that had a page before keep it, as after any fault, and the next recrawl asks again. Those
    that are queued again stay so.
    """
    back = _given_back(connection, url_ids)
    moved = transitions.move_ids(connection, [one for one in url_ids if one not in back], _HELD)
    pages.remove(connection, moved)
    return len(moved)


def _given_back(connection: Connection, url_ids: Sequence[int]) -> set[int]:
    """Give those of some URLs their last good pages back that had one before a recrawl."""
    if not url_ids or not absences.has_begun(connection):
        return set()
    return absences.give_back(connection, url_ids)


def keep(connection: Connection, url_id: int) -> None:
    """Mark the URL whose page is kept to show a wall, unless it had another page before."""
    if not _given_back(connection, [url_id]):
        transitions.move_ids(connection, [url_id], _KEPT, _FETCHED)


def wait(connection: Connection, url_ids: Sequence[int], until: float) -> int:
    """Put URLs that have answered with a wall back in the queue until a time; return how many."""
    settled = list(transitions.from_states(connection, url_ids, QUEUED))
    _forget(connection, settled)
    moved = transitions.move_ids(connection, settled, QUEUED, due=until)
    change_rows(connection, f"UPDATE url_rows SET reason = '{WALL}' WHERE id", moved)  # noqa: S608 - ours
    return len(moved)


def _forget(connection: Connection, url_ids: Sequence[int]) -> None:
    """Forget the pages of URLs that are none of theirs."""
    back = _given_back(connection, url_ids)
    pages.remove(connection, [url_id for url_id in url_ids if url_id not in back])


def pause_hosts(connection: Connection, names: Sequence[str], until: float, now: float) -> None:
    """Send no requests to hosts before a time, because of a wall."""
    if names:
        later = func.max if connection.dialect.name == "sqlite" else func.greatest
        paused = {"ready_at": later(hosts.c.ready_at, until), "error": WALL, "error_at": now}
        connection.execute(update(hosts).where(hosts.c.name.in_(names)).values(paused))


def ask_again(connection: Connection, url_ids: Sequence[int]) -> int:
    """Put URLs back in the queue, without the page that a wall gave for them; return how many."""
    _forget(connection, url_ids)
    return queue_ids_again(connection, url_ids)


def ask_all_again(connection: Connection, now: float) -> int:
    """Put walled URLs back in the queue whose pause is over; return how many.

    The pause is as long as it took, since the URL was found, until it was asked last: so it doubles
    each time. The page that was kept to show the wall is asked again with the others of its host.
    """
    asked = urls.c.due  # of a URL that is not queued: when
    ago = now - asked
    is_over = or_(ago >= _LONGEST, and_(ago >= _SHORTEST, ago >= asked - urls.c.found_at))
    walled = and_(urls.c.state == State.HELD, urls.c.reason == WALL, is_over)
    found = list(connection.scalars(select(urls.c.host_id).where(walled).distinct()))
    queued = queue_again(connection, walled)
    return queued + ask_kept_again(connection, urls.c.host_id.in_(found)) if found else queued


def ask_kept_again(connection: Connection, *which: ColumnElement[bool]) -> int:
    """Put the URLs whose pages were kept to show walls back in the queue; return how many."""
    if not counts.total_of(connection, counts.url(*_KEPT)):
        return 0  # else all URLs would be read for nothing
    is_kept = and_(urls.c.state == State.FETCHED, urls.c.reason == WALL)
    return queue_again(connection, and_(is_kept, *which))
