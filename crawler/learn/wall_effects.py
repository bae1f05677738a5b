"""The effects of walls: in the transaction of their answers, hold URLs, pause hosts, ask again."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection

from canonry.crawler.learn.walls import Walls
from canonry.crawler.plurals import counted
from canonry.storage.sql.bulk import rows_of
from canonry.storage.steering import blocked_hosts, walled


class WallEffects(NamedTuple):
    """What a crawl has to do because of walls."""

    held: int = 0  # URLs that are held now
    queued: int = 0  # URLs that are queued again; neither they nor those held are pages any more
    paused: tuple[tuple[str, float], ...] = ()  # hosts, and until when; seconds since 1970
    blocked: tuple[str, ...] = ()  # hosts that get no requests in this run any more
    questions: tuple[str, ...] = ()  # URLs to be requested once


def apply(
    connection: Connection, sites: Iterable[Walls], now: float, notify: Callable[[str], None]
) -> WallEffects:
    """Write what follows from the answers of some sites.

    Args:
        connection: of the transaction that recorded the answers.
        sites: that have answered.
        now: seconds since 1970.
        notify: receives sentences for people.
    """
    held = queued = 0
    paused: dict[str, float] = {}
    blocked: dict[str, None] = {}
    questions: list[str] = []
    for walls in sites:
        for news in walls.news():
            questions += news.questions
            queued += walled.ask_again(connection, news.again)
            held += walled.hold(connection, news.held)
            if news.kept is not None:
                walled.keep(connection, news.kept)
            if not news.waiting:
                continue
            until = walls.pause(news, now)
            names = _hosts_of(connection, news.waiting) if news.hides_host else []
            if until is not None:
                queued += walled.wait(connection, news.waiting, until)
                walled.pause_hosts(connection, names, until, now)
                if not paused.keys() >= set(names):
                    _tell_of_pause(names, until - now, notify)
                paused |= dict.fromkeys(names, until)
            else:
                held += walled.hold(connection, news.waiting)
                if not blocked.keys() >= set(names):
                    blocked_hosts.block_for_now(connection, names)
                    _tell_of_end(names, walls.tries, notify)
                blocked |= dict.fromkeys(names)
    return WallEffects(held, queued, tuple(paused.items()), tuple(blocked), tuple(questions))


def _hosts_of(connection: Connection, url_ids: Sequence[int]) -> list[str]:
    """Return the hosts of URLs."""
    question = (
        "SELECT DISTINCT hosts.name FROM hosts JOIN url_rows ON host_id = hosts.id "
        "WHERE url_rows.id"
    )
    return sorted({name for (name,) in rows_of(connection, question, list(url_ids))})


def _tell_of_pause(names: Sequence[str], seconds: float, notify: Callable[[str], None]) -> None:
    """Report that hosts are paused."""
    notify(
        f"{', '.join(names)}: one content in place of every page (wall); asked again in "
        f"{seconds:,.0f} s"
    )


def _tell_of_end(names: Sequence[str], pauses: int, notify: Callable[[str], None]) -> None:
    """Report that hosts are asked no more in this run."""
    notify(
        f"{', '.join(names)}: after {counted(pauses, 'pause')} still one content in place of every "
        f"page (wall); blocked until the next run, or 'canonry hosts unblock {names[0]}'"
    )
