"""Acknowledgement: outcomes take URLs out of the queue; those that come late change nothing."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, case, update

from canonry.storage.http_status import FIRST_ERROR
from canonry.storage.learned.classes import LEARNED, delete_edges
from canonry.storage.records import DEEPEST, HOST_BLOCKED, PATTERN_EXCLUDED, UNREAD, Outcome
from canonry.storage.sql import transitions
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.prepared import Prepared
from canonry.storage.sql.schema import State, hosts, url_rows
from canonry.storage.sql.transitions import Transition, state_reason

_ANSWERED = frozenset({State.FETCHED, State.REDIRECTED})
# Built once: building a statement takes longer than running it.
_attempts = url_rows.c.attempts
_one_more = case((_attempts < DEEPEST, _attempts + 1), else_=_attempts)
_POSTPONE = Prepared(
    update(url_rows)
    .where(url_rows.c.id == bindparam("url_id"))
    .values(due=bindparam("at"), reason=bindparam("why"), attempts=_one_more)
)
# A URL may be held by a learned rule, or by people, while it is fetched; its outcome counts all the
# same.
_IN_FLIGHT = f"'{LEARNED}', '{HOST_BLOCKED}', '{PATTERN_EXCLUDED}'"
# No parameter for states: SQLite would prepare the statement anew for each value.
_OPEN = (
    "SELECT id, host_id, depth, state, reason FROM url_rows "  # noqa: S608 - our names
    f"WHERE (state = {State.QUEUED:d} "
    f"OR state = {State.HELD:d} AND reason IN ({_IN_FLIGHT})) AND id"
)
_VALIDATORS = "SELECT url_id, etag, modified FROM pages WHERE url_id"
_PAGES = (
    "SELECT url_id, fetched_at FROM pages "  # noqa: S608 - our names
    f"WHERE status < {FIRST_ERROR} AND links <> {UNREAD} AND url_id"
)
_REDIRECTS = "SELECT from_id, last_seen FROM aliases WHERE kind = 'redirect' AND from_id"
_FAIL = Prepared(
    update(hosts)
    .where(hosts.c.id == bindparam("host_id"))
    .values(error=bindparam("why"), error_at=bindparam("at"))
)


def acknowledge(connection: Connection, outcomes: Sequence[Outcome], now: float) -> list[bool]:
    """Take URLs out of the queue, or leave them in it for a retry.

    Returns:
        For each outcome, True if it counts. Else its URL stays as it is: another outcome was
        recorded first, or this one is outdated.
    """
    wanted: dict[int, int] = {}  # by URL id, the place of the outcome that counts
    outdated = _outdated(connection, outcomes)
    for place, one in enumerate(outcomes):
        if place not in outdated and (
            one.url_id not in wanted or outcomes[wanted[one.url_id]].retry_at is not None
        ):
            wanted[one.url_id] = place
    before = _answers_before(
        connection, [id_ for id_, n in wanted.items() if _is_silent(outcomes[n])]
    )
    settled: dict[int, Transition] = {}
    postponed = []
    in_flight: list[int] = []  # a learned rule held them while they were fetched
    failed: dict[int, str | None] = {}
    open_rows = list(rows_of(connection, _OPEN, list(wanted)))
    for url_id, host_id, depth, state, reason in open_rows:
        outcome = outcomes[wanted[url_id]]
        if outcome.retry_at is None:
            after = (outcome.state, outcome.reason)
            if url_id in before:  # what it was stays true, as far as anybody knows
                is_page = before[url_id].state is State.FETCHED
                after = (before[url_id].state, outcome.reason if is_page else None)
            settled[url_id] = Transition(host_id, depth, state_reason(state, reason), after)
            in_flight += [url_id] * (state == State.HELD and reason == LEARNED)
        elif state == State.QUEUED:  # else it was held meanwhile, and is not retried
            postponed.append({"url_id": url_id, "at": outcome.retry_at, "why": outcome.reason})
        if outcome.retry_at is not None or outcome.state is State.FAILED:
            failed[host_id] = outcome.reason
    times = {url_id: answer.at for url_id, answer in before.items()}
    transitions.move(connection, settled, due=now, due_of=times)
    delete_edges(connection, in_flight)
    errors = [
        {"host_id": host_id, "why": why, "at": now} for host_id, why in sorted(failed.items())
    ]
    _FAIL.run_many(connection, errors)
    _POSTPONE.run_many(connection, postponed)
    counting = {wanted[url_id] for url_id, *_rest in open_rows}
    return [place in counting for place in range(len(outcomes))]


def _is_silent(outcome: Outcome) -> bool:
    """Return True if a URL was given up without an answer of its own."""
    has_answer = outcome.page or outcome.unread or outcome.leads
    return outcome.state is State.FAILED and outcome.retry_at is None and not has_answer


class _Answer(NamedTuple):
    """What a URL has answered in an earlier crawl."""

    state: State
    at: float  # seconds since 1970


def _answers_before(connection: Connection, given_up: Sequence[int]) -> dict[int, _Answer]:
    """Return what URLs that gave no answer now have answered before: their pages and redirects."""
    led = {
        url_id: _Answer(State.REDIRECTED, at)
        for url_id, at in rows_of(connection, _REDIRECTS, given_up)
    }
    return led | {
        url_id: _Answer(State.FETCHED, at) for url_id, at in rows_of(connection, _PAGES, given_up)
    }


def _outdated(connection: Connection, outcomes: Sequence[Outcome]) -> set[int]:
    """Return the places of 304 answers about pages that the store no longer has.

    While this worker was stopped, another one recorded something else, and the URL was queued
    again. It stays queued, and is requested again.
    """
    unchanged = {place: outcome for place, outcome in enumerate(outcomes) if outcome.unchanged}
    if not unchanged:
        return set()
    found = rows_of(connection, _VALIDATORS, [outcome.url_id for outcome in unchanged.values()])
    stored = {url_id: validators for url_id, *validators in found}
    return {
        place
        for place, outcome in unchanged.items()
        if stored.get(outcome.url_id) != [outcome.queued.etag, outcome.queued.modified]
    }


def known_answers(connection: Connection, url_ids: Sequence[int]) -> set[int]:
    """Return the ids of those URLs that count as answered, although they may have failed now."""
    found = rows_of(connection, "SELECT id, state FROM url_rows WHERE id", url_ids)
    return {url_id for url_id, state in found if state in _ANSWERED}


def fetched_anew(connection: Connection, outcomes: Iterable[Outcome]) -> set[int]:
    """Return the ids of URLs that have answered before, and now answered in the same way."""
    now = {outcome.url_id: outcome.state for outcome in outcomes if outcome.state in _ANSWERED}
    found = rows_of(connection, "SELECT id, state FROM url_rows WHERE id", list(now))
    return {url_id for url_id, state in found if state == now[url_id]}
