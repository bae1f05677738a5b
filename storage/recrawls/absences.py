"""Absences: URLs that a recrawl found without the page they had, or without any, night after night.

The last good page is kept until a run has ended. If a site showed something else in place of all
its pages, as an error or a form to log in, that is an outage: they get their pages back, and are
believed to be gone when the next run finds the same. What is gone, or moved for good, is asked ever
more rarely.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from sqlalchemy import (
    ColumnElement,
    Connection,
    and_,
    exists,
    func,
    or_,
    select,
    text,
    update,
)

from canonry.storage.facts import fact, put_fact
from canonry.storage.http_status import FIRST_ERROR, GONE, OK, PERMANENT_REDIRECTS
from canonry.storage.records import WALL, Outcome, Page, RecordedOutcome
from canonry.storage.recrawls.revisit_rows import host_ids_of
from canonry.storage.rows import pages
from canonry.storage.rows.redirect_chains import chains
from canonry.storage.rows.requeueing import queue_ids_again
from canonry.storage.sql import counts, transitions
from canonry.storage.sql.bulk import change_rows, put, rows_of
from canonry.storage.sql.schema import State, url_rows, urls
from canonry.storage.sql.schema import pages as page_rows
from canonry.storage.sql.tables.recrawl_tables import absences
from canonry.storage.sql.transitions import StateReason

OUTAGE = "outage"  # why a page could not be fetched again
_BEGUN = "recrawled"  # the name of the row in meta
_OUT: StateReason = (State.FETCHED, OUTAGE)
_RESTS = 3  # runs in a row without a page, after which a URL is asked ever more rarely
_LONGEST = 30 * 86_400.0  # seconds
_MOST_RUNS = 1_000  # that are counted
_FEWEST = 5  # pages that have gone at once, for an outage
_NIGHT = 43_200.0  # seconds: what went in one of this length went together
_LIVING, _OF = 2, 10  # pages that a site may still have meanwhile: these, and one of so many

_PAGE = ", ".join(Page._fields)
_PAGES = f"SELECT url_id, fetched_at, {_PAGE} FROM pages WHERE status = {OK:d} AND url_id"  # noqa: S608 - ours
_DELETE = "DELETE FROM absences WHERE url_id"


class Absence(NamedTuple):
    """A row of the table; its columns say what each field means."""

    url_id: int
    host_id: int
    since: float
    due: float = 0.0
    runs: int = 0
    settled: int = 0
    is_left: int = 0
    page: bytes | None = None


_ROWS = f"SELECT {', '.join(Absence._fields)} FROM absences WHERE url_id"  # noqa: S608 - our names


class Outage(NamedTuple):
    """A site that showed something else in place of its pages."""

    host: str
    pages: int  # known ones that are kept


class LostPages(NamedTuple):
    """How many pages a run has found to be others, or not there."""

    changed: int
    gone: int  # an error
    moved: int  # a redirect


class Noted(NamedTuple):
    """What follows from outcomes."""

    queued: int = 0  # URLs that are queued again
    left: tuple[str, ...] = ()  # URLs that limits count no longer: gone for some runs, or moved
    back: tuple[str, ...] = ()  # URLs that they count again


class Known(NamedTuple):
    """What is known of some URLs before their outcomes are recorded."""

    rows: Mapping[int, Absence]
    pages: Mapping[int, tuple[float, Page]]  # good ones, and when they were fetched


def begin(connection: Connection) -> None:
    """Note that a recrawl has begun: from now on, pages that go are absences."""
    put_fact(connection, _BEGUN, "1")


def has_begun(connection: Connection) -> bool:
    """Return True if a recrawl has ever begun in a store."""
    return fact(connection, _BEGUN) is not None


def known_of(connection: Connection, url_ids: Sequence[int]) -> Known:
    """Return what is known of URLs whose outcomes are about to be recorded."""
    found = rows_of(connection, _PAGES, url_ids)
    pages_by_id = {url_id: (at, _page(fields)) for url_id, at, *fields in found}
    return Known(_rows_of(connection, url_ids), pages_by_id)


def _rows_of(connection: Connection, url_ids: Sequence[int]) -> dict[int, Absence]:
    """Return the rows of URLs by their ids, where there are some."""
    return {row[0]: Absence(*row) for row in rows_of(connection, _ROWS, url_ids)}


def note(
    connection: Connection, recorded: Sequence[RecordedOutcome], known: Known, now: float
) -> Noted:
    """Note which URLs have lost their pages, or have them again.

    Of what had gone with a page that is there again, the rest is asked, too.

    Args:
        connection: of the transaction that recorded the outcomes.
        recorded: outcomes; late ones and retries do not count.
        known: what was known before.
        now: seconds since 1970.
    """
    settled = [one.outcome for one in recorded if not one.late and one.outcome.retry_at is None]
    present: list[Outcome] = []  # that were absent
    others: list[Outcome] = []
    for outcome in settled:
        if _is_as_before(outcome, known):
            present += [outcome] if outcome.url_id in known.rows else []
        elif _is_page(outcome) or _is_absent(outcome):  # else it has no answer of its own
            others.append(outcome)
    new = [outcome.url_id for outcome in others if outcome.url_id not in known.rows]
    host_ids = host_ids_of(connection, new)
    before = {one.url_id: Absence(one.url_id, host_ids.get(one.url_id, 0), now) for one in others}
    before |= known.rows
    after = [
        _after(before[outcome.url_id], outcome, known.pages.get(outcome.url_id), now)
        for outcome in others
    ]
    change_rows(connection, _DELETE, [outcome.url_id for outcome in present])
    put(connection, absences, [row._asdict() for row in after])
    returned = [(outcome.queued.url, before[outcome.url_id]) for outcome in present]
    nights = {(row.host_id, row.since) for _url, row in returned if row.runs >= _RESTS}
    queued = sum(_with(connection, host_id, since) for host_id, since in nights)
    left = [
        outcome.queued.url
        for outcome, row in zip(others, after, strict=True)
        if row.is_left and not before[row.url_id].is_left
    ]
    return Noted(queued, tuple(left), tuple(url for url, row in returned if row.is_left))


def _is_page(outcome: Outcome) -> bool:
    return outcome.unchanged or (outcome.page is not None and outcome.page.status == OK)


def _is_absent(outcome: Outcome) -> bool:
    is_error = outcome.page is not None and outcome.page.status >= FIRST_ERROR
    return outcome.state is State.REDIRECTED or is_error


def _is_as_before(outcome: Outcome, known: Known) -> bool:
    """Return True if a URL has its last good page, or one for the first time.

    It is the stored page, unless this run has stored another one before, as of a wall.
    """
    before, row = known.pages.get(outcome.url_id), known.rows.get(outcome.url_id)
    if before is None or not _is_page(outcome):
        return _is_page(outcome)
    _at, good = (row and _last_page(row)) or before
    now = before[1] if outcome.unchanged else outcome.page
    return now is not None and now.digest == good.digest


def _after(
    row: Absence, outcome: Outcome, before: tuple[float, Page] | None, now: float
) -> Absence:
    """Return the row of a URL after a visit that did not find the page that it had."""
    if row.page is None and before is not None:
        row = row._replace(page=msgspec.msgpack.encode((before[0], *before[1])), since=now)
    if not _is_absent(outcome):
        return row._replace(settled=0, since=now) if row.settled else row
    runs = min(row.runs + 1, _MOST_RUNS)
    page, leads = outcome.page, outcome.leads[:1]
    is_gone = page is not None and page.status in GONE
    is_moved = page is None and any(hop.status in PERMANENT_REDIRECTS for hop in leads)
    rests = (is_moved or is_gone) and runs >= _RESTS
    wait = min(2 * (now - row.since), _LONGEST) if rests else 0.0
    return row._replace(
        runs=runs,
        due=now + wait if wait else 0.0,
        is_left=int(row.is_left or rests or is_moved),
    )


def _with(connection: Connection, host_id: int, since: float) -> int:
    """Queue what went when a page did that is there again; return how many URLs."""
    near = absences.c.since.between(since - _NIGHT, since + _NIGHT)
    rested = (absences.c.host_id == host_id, near, absences.c.due > 0)
    found = list(connection.scalars(select(absences.c.url_id).where(*rested)))
    connection.execute(update(absences).where(*rested).values(due=0.0))
    return queue_ids_again(connection, found)


def is_due(now: float) -> ColumnElement[bool]:
    """Return the condition on `urls` that a URL is not to be left alone for longer."""
    rests = (absences.c.url_id == urls.c.id, absences.c.due > now, absences.c.due < now + _LONGEST)
    return ~exists(select(text("1")).select_from(absences).where(*rests))


def are_unseen(connection: Connection) -> bool:
    """Return True if there are pages that could not be fetched again when they were asked last."""
    return any(
        state == "fetched" and reason not in {"", WALL, OUTAGE}
        for state, reason, _number in counts.read(connection, "urls")
    )


_UNSEEN = and_(
    urls.c.state == State.FETCHED, urls.c.reason.is_not(None), urls.c.reason.not_in((WALL, OUTAGE))
)


def is_first() -> ColumnElement[bool]:
    """Return the condition on `urls` that a URL need not wait until its host has answered again.

    Of pages of a host that could not be fetched again, one goes first.
    """
    first = select(func.min(urls.c.id)).where(_UNSEEN).group_by(urls.c.host_id)
    return or_(~_UNSEEN, urls.c.id.in_(first))


def unseen(connection: Connection) -> dict[int, "array[int]"]:
    """Return by the id of their host the ids of URLs of such pages, 8 bytes each."""
    found: defaultdict[int, array[int]] = defaultdict(lambda: array("q"))
    for host_id, url_id in connection.execute(select(urls.c.host_id, urls.c.id).where(_UNSEEN)):
        found[host_id].append(url_id)
    return found


def hosts_answered_since(connection: Connection, since: float) -> set[int]:
    """Return the ids of hosts that have answered a request since a time."""
    is_answer = (url_rows.c.due >= since, url_rows.c.reason.is_(None))
    states = url_rows.c.state.in_((State.FETCHED, State.REDIRECTED))
    return set(connection.scalars(select(url_rows.c.host_id).where(states, *is_answer).distinct()))


def number_left(connection: Connection) -> int:
    """Return how many URLs answer with an error for so many runs that limits do not count them."""
    return int(connection.exec_driver_sql(_LEFT).scalar_one())


_LEFT = f"""
SELECT count(*) FROM absences JOIN url_rows ON url_rows.id = url_id
WHERE is_left = 1 AND state = {State.FETCHED:d} AND reason IS NULL
"""  # noqa: S608 - our own number


def titles_before(connection: Connection, url_ids: Sequence[int]) -> set[str | None]:
    """Return the titles of the pages that URLs had before this run, where they have another now."""
    rows = _rows_of(connection, url_ids).values()
    return {last[1].title for row in rows if (last := _last_page(row)) is not None}


def _last_page(row: Absence) -> tuple[float, Page] | None:
    """Return the last good page of a URL, and when it was fetched; None if none is known."""
    if row.page is None:
        return None
    at, *fields = msgspec.msgpack.decode(row.page)
    return at, _page(fields)


def give_back(connection: Connection, url_ids: Sequence[int]) -> set[int]:
    """Give URLs their last good pages back, where these are known.

    Args:
        connection: in a writing transaction.
        url_ids: of URLs whose answer was no page of theirs.

    Returns:
        The ids of those that have it again.
    """
    rows = _rows_of(connection, url_ids).values()
    kept = {row.url_id: last for row in rows if (last := _last_page(row)) is not None}
    pages.put_pages(
        connection,
        ((url_id, page) for url_id, (_at, page) in kept.items()),
        0.0,
        at={url_id: at for url_id, (at, _page) in kept.items()},
    )
    moved = transitions.from_states(connection, kept, _OUT)
    transitions.move(connection, moved, due_of={url_id: kept[url_id][0] for url_id in moved})
    return set(kept)


def settle(connection: Connection, began: float, since: float) -> tuple[LostPages, list[Outage]]:
    """Decide, at the end of a run, what was an outage.

    A site whose known pages were all answered by an error, or by few redirects and nothing else,
    was out: once. So was one that a wall has blocked. What a site has lost in the next run as
    well, half a day later, is gone. A page that redirects to what could not be asked, and has no
    page of an earlier run, is not gone either, for as long.

    Args:
        connection: in a writing transaction, in a store that has the table.
        began: when what the run goes on with did; seconds since 1970.
        since: when the run began itself.

    Returns:
        What else was lost, and the sites with known pages out of sight.
    """
    give_back(connection, connection.exec_driver_sql(_BEHIND_WALLS).scalars().all())
    lost: defaultdict[int, set[int]] = defaultdict(set)  # URLs, by host
    rows = connection.execute(_LOST).all()
    moved = [url_id for _, url_id, state, *_ in rows if state == State.REDIRECTED]
    ends = {chain[0].url_id: chain[-1] for chain in chains(connection, moved)}
    unasked = {
        url_id
        for url_id, end in ends.items()
        if (end.state in _UNASKED or (end.state, end.reason) == _EXCLUDED) and end.answer is None
    }
    give_back(connection, list(unasked))
    for host_id, url_id, _state, settled, absent in rows:
        if url_id not in unasked and (not settled or absent >= since - _NIGHT):
            lost[host_id].add(url_id)
    out = set(connection.execute(_OUT_BEFORE, {"since": since - _NIGHT}).scalars())
    states: Counter[int] = Counter()
    for host_id, url_ids in lost.items():
        few = _LIVING + len(url_ids) // _OF
        to = {ends[url_id].url_id if url_id in ends else None for url_id in url_ids}
        is_all = len(url_ids) >= _FEWEST and _living(connection, host_id, began) <= few
        if host_id in out or (is_all and len(to) <= few):
            give_back(connection, list(url_ids))
        else:
            states.update(State.REDIRECTED if one in ends else State.FETCHED for one in url_ids)
    changed = connection.exec_driver_sql(_CHANGED).scalar_one()
    connection.exec_driver_sql(_PRESENT)
    connection.execute(update(absences).values(settled=1))
    found = LostPages(changed, states[State.FETCHED], states[State.REDIRECTED])
    return found, [Outage(*row) for row in connection.exec_driver_sql(_OUTAGES)]


# What has changed on hosts that a wall has blocked until the next run, or to the page that shows
# what a wall is; and what was asked again on a host with walls: another worker met it first.
_BEHIND_WALLS = f"""
SELECT url_id FROM absences JOIN hosts ON hosts.id = host_id LEFT JOIN pages USING (url_id)
WHERE settled = 0 AND page IS NOT NULL AND (
    blocked = 2
    OR digest IN (
        SELECT digest FROM pages JOIN url_rows ON url_rows.id = url_id
        WHERE state = {State.FETCHED:d} AND reason = '{WALL}'
    )
    OR runs = 0 AND fetched_at > since AND hosts.id IN (
        SELECT absences.host_id FROM absences JOIN url_rows ON url_rows.id = url_id
        WHERE state = {State.FETCHED:d} AND reason = '{OUTAGE}' AND settled = 0 AND runs = 0
    )
)
"""  # noqa: S608 - our own names
# Hosts that were out when another worker closed the run, which may have asked a page again since.
_OUT_BEFORE = text(f"""
SELECT DISTINCT absences.host_id FROM absences JOIN url_rows ON url_rows.id = url_id
WHERE state = {State.FETCHED:d} AND reason = '{OUTAGE}' AND settled = 1 AND runs > 0
    AND since >= :since
""")  # noqa: S608 - our own names
_UNASKED, _EXCLUDED = {State.QUEUED, State.FAILED}, (State.HELD, "robots")
# URLs without their last good page.
_LOST = text(f"""
SELECT absences.host_id, absences.url_id, url_rows.state, settled, since FROM absences
JOIN url_rows ON url_rows.id = absences.url_id
LEFT JOIN pages ON pages.url_id = absences.url_id AND pages.status = {OK:d}
WHERE absences.page IS NOT NULL AND pages.url_id IS NULL
    AND url_rows.state IN ({State.FETCHED:d}, {State.REDIRECTED:d})
""")  # noqa: S608 - our own numbers
# Pages that were only changed, and those that are there again.
_HAS_PAGE = f"""
url_id IN (
    SELECT url_id FROM pages JOIN url_rows ON url_rows.id = url_id
    WHERE status = {OK:d} AND (reason IS NULL OR reason <> '{OUTAGE}')
)
"""  # noqa: S608 - our own names
_CHANGED = f"SELECT count(*) FROM absences WHERE settled = 0 AND runs = 0 AND {_HAS_PAGE}"  # noqa: S608 - ours
_PRESENT = f"DELETE FROM absences WHERE {_HAS_PAGE}"  # noqa: S608 - ours
_OUTAGES = f"""
SELECT hosts.name, count(*) FROM absences
JOIN url_rows ON url_rows.id = absences.url_id JOIN hosts ON hosts.id = absences.host_id
WHERE state = {State.FETCHED:d} AND reason = '{OUTAGE}' GROUP BY hosts.name ORDER BY hosts.name
"""  # noqa: S608 - our own names


def _living(connection: Connection, host_id: int, since: float) -> int:
    """Return how many pages of a host were fetched in a run."""
    is_new = (page_rows.c.fetched_at >= since, page_rows.c.status == OK)
    counted = select(func.count()).join_from(url_rows, page_rows)
    return connection.scalar(counted.where(url_rows.c.host_id == host_id, *is_new)) or 0


def _page(fields: Sequence[object]) -> Page:
    """Return a page from the values of its fields."""
    page = Page(*fields)  # type: ignore[arg-type]
    return page._replace(digest=bytes(page.digest))
