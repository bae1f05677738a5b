"""Absences: what a recrawl does not find is kept for a run, and asked ever more rarely."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import asdict
from support.stores import admit, assert_counts_are_right, candidate, open_store, visited

from canonry.storage import Page, State, Store
from canonry.storage.facts import fact, put_fact
from canonry.storage.reading import report
from canonry.storage.records import Hop, Outcome
from canonry.storage.recrawls import absences, recrawl_report
from canonry.storage.recrawls.absences import Noted
from canonry.storage.recrawls.recrawl_report import RecrawlRow
from canonry.storage.rows import requeueing
from canonry.storage.steering import walled

pytestmark = pytest.mark.every_database

DAY = 86_400.0
URLS = [f"http://a.example/{n}" for n in range(8)] + ["http://b.example/"]
EVERY = range(1, 10)  # their ids
ON_A = range(1, 9)
Answers = dict[int, Page | str]  # by the id of a URL; a text is where it redirects to


def page(text: str, status: int = 200) -> Page:
    """Return a page with a text."""
    return Page(status, 0.1, "text/html", 10, text.encode().ljust(16), text, None, 0)


GONE = page("not found", 404)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store whose URLs were fetched on day 1; recrawls have begun."""
    opened = open_store(tmp_path)
    admit(opened, URLS)
    with opened.transaction() as connection:
        assert not absences.has_begun(connection)
        absences.begin(connection)
        assert absences.has_begun(connection)
    night(opened, 1)
    yield opened
    with opened.transaction() as connection:
        assert_counts_are_right(connection)
    opened.close()


def night(store: Store, day: int, answers: Answers | None = None) -> tuple[list[int], list[str]]:
    """Crawl on a day; return the ids of the URLs that were asked, and the hosts that were out."""
    now, asked = day * DAY, list[int]()
    job = store.begin_job("crawl", "{}", now - 10)
    with store.transaction() as connection:
        requeueing.requeue(connection, now - 1, absences.is_due(now))
    while queued := queued_in(store):
        for url_id in queued:
            answer = (answers or {}).get(url_id, page(f"page {url_id}"))
            record(store, [outcome_of(url_id, answer)], now)
        asked += queued
    with store.transaction() as connection:
        outages = recrawl_report.close(connection, now - 10)
    store.end_job(job, "finished", now + 10)
    return asked, [one.host for one in outages]


def queued_in(store: Store) -> list[int]:
    with store.transaction() as connection:
        query = "SELECT id FROM url_rows WHERE state = 0 ORDER BY id"
        return list(connection.exec_driver_sql(query).scalars())


def outcome_of(url_id: int, answer: Page | str) -> Outcome:
    if isinstance(answer, Page):
        return visited(url_id, State.FETCHED, page=answer)
    return visited(url_id, State.REDIRECTED, hops=[Hop("redirect", 301, candidate(answer))])


def record(store: Store, outcomes: Sequence[Outcome], now: float) -> Noted:
    """Record outcomes as a crawl does."""
    with store.claiming() as connection:
        known = absences.known_of(connection, [one.url_id for one in outcomes])
        recorded = store.record_in(connection, outcomes, now)
        return absences.note(connection, recorded, known, now)


def titles(store: Store) -> dict[int, str]:
    """Return the titles of the good pages, by the ids of their URLs."""
    with store.transaction() as connection:
        query = "SELECT url_id, title FROM pages WHERE status = 200"
        return dict(map(tuple, connection.exec_driver_sql(query)))


def found(store: Store) -> dict[str, int]:
    """Return what the last recrawl has found, without zeros."""
    with store.transaction() as connection:
        status = report.status(connection)["recrawl"]
    assert status is not None
    return {name: n for name, n in asdict(status).items() if n and name != "began"}


def test_a_report_is_stored_as_numbers_in_the_order_of_its_fields(store: Store) -> None:
    """Stores have it so from run to run, whichever version of ours has written it."""
    with store.transaction() as connection:
        put_fact(connection, "recrawl", "[86400.5, 1, 2, 3, 4, 5, 6, 7, 8]")
        found = recrawl_report.read(connection)
        assert found == RecrawlRow("1970-01-02T00:00:00.500Z", 1, 2, 3, 4, 5, 6, 7, 8)
        recrawl_report.close(connection, 200_000.0)
        assert json.loads(fact(connection, "recrawl") or "")[0] == DAY + 10  # the first run ended


ALL = {url_id: f"page {url_id}" for url_id in EVERY}


def test_a_page_that_goes_is_gone_and_one_that_changes_has_changed(store: Store) -> None:
    assert titles(store) == ALL
    _asked, out = night(store, 2, {2: GONE, 3: page("new text"), 4: URLS[0]})
    assert out == []
    assert titles(store) == {k: v for k, v in ALL.items() if k not in {2, 4}} | {3: "new text"}
    assert found(store) == {"changed": 1, "gone": 1, "moved": 1, "unchanged": 6}


@pytest.mark.parametrize("instead", [GONE, page("forbidden", 403), "http://a.example/login"])
def test_all_gone_at_once_is_believed_in_the_next_run(store: Store, instead: Page | str) -> None:
    lost: Answers = dict.fromkeys(ON_A, instead)
    assert night(store, 2, lost)[1] == ["a.example"]
    assert {**ALL, **titles(store)} == titles(store) | ALL
    assert titles(store).items() >= ALL.items()
    assert found(store)["unseen"] == 8
    with store.transaction() as connection:
        assert report.status(connection)["not_again"] == {"outage": 8}
    asked, out = night(store, 3, lost)
    assert set(asked) >= set(ON_A)
    assert out == []
    assert not titles(store).keys() & set(ON_A)
    assert found(store).get("unseen", 0) == 0


def test_a_page_that_a_second_worker_asks_again_is_kept_too(store: Store) -> None:
    now = 2 * DAY
    night(store, 2, dict.fromkeys(ON_A, GONE))
    with store.transaction() as connection:
        requeueing.queue_ids_again(connection, [1])
    record(store, [outcome_of(1, GONE)], now + 5)
    with store.transaction() as connection:
        assert [one.host for one in recrawl_report.close(connection, now - 5)] == ["a.example"]
    assert titles(store) == ALL


def test_an_outage_leaves_no_trace_when_it_is_over(store: Store) -> None:
    night(store, 2, dict.fromkeys(ON_A, GONE))
    assert night(store, 3) == (list(EVERY), [])
    assert titles(store) == ALL
    assert found(store) == {"unchanged": 9}
    night(store, 4, dict.fromkeys(ON_A, GONE))
    assert titles(store) == ALL, "another outage is one, too"


def test_pages_that_moved_to_as_many_others_have_moved(store: Store) -> None:
    answers: Answers = {n: f"http://c.example/{n}" for n in ON_A}
    assert night(store, 2, answers)[1] == []
    assert found(store)["moved"] == 8


def test_a_few_pages_or_a_part_of_a_site_are_no_outage(store: Store) -> None:
    assert night(store, 2, {9: GONE})[1] == []
    assert night(store, 3, dict.fromkeys(range(1, 6), GONE))[1] == []
    assert titles(store).keys() == {6, 7, 8, 9}


def test_a_wall_gives_back_what_was_known(store: Store) -> None:
    now = 2 * DAY
    with store.transaction() as connection:
        requeueing.requeue(connection, now)
    record(store, [outcome_of(n, page("are you human?")) for n in ON_A], now)
    with store.transaction() as connection:
        assert absences.titles_before(connection, [1, 2]) == {"page 1", "page 2"}
        assert walled.hold(connection, [1, 2]) == 0
        walled.keep(connection, 3)
        assert walled.wait(connection, [4], now + 5) == 1
        assert walled.ask_again(connection, [5]) == 1
    kept = {n: f"page {n}" for n in (1, 2, 3, 4, 5, 9)}
    assert {n: title for n, title in titles(store).items() if n not in {6, 7, 8}} == kept
    assert queued_in(store) == [4, 5, 9]
    with store.transaction() as connection:
        assert report.status(connection)["not_again"] == {"outage": 3}


def test_a_wall_that_a_killed_process_met_first_gives_back_too(store: Store) -> None:
    now, wall = 2 * DAY, page("something went wrong")
    with store.transaction() as connection:
        requeueing.requeue(connection, now)
    admit(store, ["http://a.example/new"])
    record(store, [outcome_of(n, wall) for n in (1, 2, 10)], now)
    with store.transaction() as connection:
        walled.keep(connection, 10)
        recrawl_report.close(connection, now - 10)
    assert titles(store) == ALL | {10: "something went wrong"}


def test_a_wall_that_is_asked_twice_before_it_is_found_gives_back_too(store: Store) -> None:
    """A process was killed after it had met the wall, and the clock was set back."""
    now, wall = 2 * DAY, page("something went wrong")
    for at in (now, now - 3_600):
        with store.transaction() as connection:
            requeueing.queue_ids_again(connection, ON_A)
        record(store, [outcome_of(n, wall) for n in ON_A], at)
    with store.transaction() as connection:
        walled.keep(connection, 1)
        walled.hold(connection, ON_A[1:])
    assert titles(store) == ALL


@pytest.mark.parametrize("end", [(State.HELD, "robots"), (State.FAILED, "timeout")])
def test_pages_that_lead_to_what_was_not_asked_are_kept(
    store: Store, end: tuple[State, str]
) -> None:
    now = 2 * DAY
    with store.transaction() as connection:
        requeueing.requeue(connection, now)
    record(store, [outcome_of(n, f"https://a.example/{n}") for n in ON_A], now)
    record(store, [visited(n, *end) for n in queued_in(store) if n not in EVERY], now)
    with store.transaction() as connection:
        assert [one.host for one in recrawl_report.close(connection, now - 10)] == ["a.example"]
    assert titles(store) == ALL


def test_a_page_that_moved_to_a_known_one_does_not_come_back_while_that_is_not_asked(
    store: Store,
) -> None:
    night(store, 2, {3: URLS[0]})
    now = 3 * DAY
    with store.transaction() as connection:
        requeueing.requeue(connection, now - 1)
    closed = [visited(n, State.HELD, "robots") for n in ON_A if n != 3]
    record(store, [*closed, outcome_of(3, URLS[0]), outcome_of(9, page("page 9"))], now)
    with store.transaction() as connection:
        assert recrawl_report.close(connection, now - 10) == []
    assert titles(store) == {n: title for n, title in ALL.items() if n != 3}


def test_what_is_gone_is_asked_ever_more_rarely(store: Store) -> None:
    dead: Answers = {2: GONE, 3: URLS[0], 4: page("forbidden", 403)}
    asked = {2: list[int](), 3: list[int](), 4: list[int]()}
    for day in range(2, 40):
        for url_id in asked.keys() & set(night(store, day, dead)[0]):
            asked[url_id].append(day)
    assert asked[2] == asked[3] == [2, 3, 4, 8, 20]
    assert asked[4] == list(range(2, 40)), "who is forbidden today may be allowed tomorrow"


def test_with_one_page_that_is_back_those_are_asked_that_went_with_it(store: Store) -> None:
    lost: Answers = dict.fromkeys(ON_A, GONE)
    for day in range(2, 11):
        night(store, day, lost)
    with store.transaction() as connection:
        requeueing.queue_ids_again(connection, [1])
    assert night(store, 11)[0] == [1, 9, *range(2, 9)]
    assert titles(store) == ALL


def test_limits_count_what_lives(store: Store) -> None:
    left: list[str] = []
    back: list[str] = []
    for day in range(2, 5):
        with store.transaction() as connection:
            requeueing.requeue(connection, day * DAY - 1)
        for url_id in queued_in(store):
            answer: Page | str = {2: GONE, 3: URLS[0]}.get(url_id, page(f"page {url_id}"))
            noted = record(store, [outcome_of(url_id, answer)], day * DAY)
            left += noted.left
    assert left == ["http://h/3", "http://h/2"], "what moved leaves at once, what is gone later"
    with store.transaction() as connection:
        requeueing.requeue(connection, 5 * DAY)
    for url_id in (2, 3):
        noted = record(store, [outcome_of(url_id, page(f"page {url_id}"))], 5 * DAY)
        back += noted.back
    assert back == ["http://h/2", "http://h/3"]


def test_of_what_could_not_be_seen_one_of_each_host_is_asked_first(store: Store) -> None:
    with store.transaction() as connection:
        assert not absences.are_unseen(connection)
        requeueing.requeue(connection, 2 * DAY)
    record(store, [visited(n, State.FAILED, "server") for n in (3, 4, 9)], 2 * DAY)
    record(store, [outcome_of(n, page(f"page {n}")) for n in (1, 2, 5, 6, 7, 8)], 2 * DAY)
    assert titles(store) == ALL
    with store.transaction() as connection:
        assert absences.are_unseen(connection)
        requeueing.requeue(connection, 3 * DAY, absences.is_first())
        assert list(map(list, absences.unseen(connection).values())) == [[4]]
        assert absences.hosts_answered_since(connection, 3 * DAY) == set()
    assert queued_in(store) == [n for n in EVERY if n != 4]
    record(store, [outcome_of(1, page("page 1")), visited(9, State.FAILED, "server")], 3 * DAY)
    with store.transaction() as connection:
        assert absences.hosts_answered_since(connection, 3 * DAY) == {1}
