"""The session of a recrawl, on real stores: what visits show is written with their outcomes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import select
from support.stores import admit, candidate, open_store

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.revisits.change_rates import IntervalLimits
from canonry.crawler.revisits.revisit_session import RevisitNews, RevisitSession
from canonry.storage import Hop, Outcome, Page, Queued, State, Store
from canonry.storage.recrawls import revisit_rows
from canonry.storage.recrawls.revisit_rows import LIST, SEED, Revisited
from canonry.storage.rows import requeueing
from canonry.storage.sql.schema import urls

pytestmark = pytest.mark.every_database

DAY = 86_400.0
LIMITS = IntervalLimits(DAY, 7 * DAY, 90 * DAY)
URLS = ("http://h.example/", "http://h.example/a", "http://h.example/list.xml")


@pytest.fixture
def store(tmp_path: Path, database: str) -> Iterator[Store]:
    opened = open_store(tmp_path)
    admit(opened, URLS)
    yield opened
    opened.close()
    assert database in {"sqlite", "postgresql"}


def answer(
    url_id: int, text: str, listed: tuple[tuple[bytes, float], ...] = (), depth: int = 1
) -> Outcome:
    """Return the outcome of a page with a text."""
    body = f"<p>{text}</p>".encode()
    page = Page(200, 0.1, "text/html", len(body), text.ljust(16).encode()[:16], None, None, 0)
    queued = Queued(url_id, URLS[url_id - 1], depth, 0, 0)
    blocks = blocks_of(body, "text/html")
    return Outcome(queued, State.FETCHED, page=page, blocks=blocks, listed=listed)


def visit(store: Store, session: RevisitSession, now: float, *outcomes: Outcome) -> RevisitNews:
    """Record outcomes of URLs that are queued again before that."""
    with store.transaction() as connection:
        requeueing.requeue(connection, now)
        stored = session.stored(connection, outcomes)
        recorded = store.record_in(connection, outcomes, now)
        return session.record(connection, recorded, stored, now)


def row(store: Store, url_id: int) -> Revisited:
    with store.transaction() as connection:
        return revisit_rows.read(connection, [url_id])[url_id]


def test_a_change_counts_once_a_control_has_confirmed_it(store: Store) -> None:
    session = RevisitSession(LIMITS, 0.0)
    assert visit(store, session, 1.0, answer(1, "one", depth=0)) == RevisitNews()
    first = row(store, 1)
    assert (first.due, first.role, first.visits) == (1.0 + LIMITS.first, SEED, 0.0)
    for turn, text in enumerate(("two", "three"), 1):
        news = visit(store, session, turn * 7 * DAY, answer(1, text))
        [control] = news.controls
        assert row(store, 1).changes == turn - 1
        with store.transaction() as connection:
            session.observe(connection, control, answer(1, text))
            session.observe(connection, control, answer(1, "asked by nobody"))
        assert (row(store, 1).visits, row(store, 1).changes) == (turn, turn)
    news = visit(store, session, 21 * DAY, answer(1, "four"))
    assert news.controls == (), "two controls are enough for a place"
    assert row(store, 1).changes == 3


def test_a_control_that_differs_again_shows_that_it_was_none(store: Store) -> None:
    session = RevisitSession(LIMITS, 0.0)
    visit(store, session, 1.0, answer(1, "one"))
    [control] = visit(store, session, 8 * DAY, answer(1, "two")).controls
    with store.transaction() as connection:
        session.observe(connection, control, answer(1, "three"))
    assert (row(store, 1).visits, row(store, 1).changes) == (1.0, 0.0)
    assert visit(store, session, 16 * DAY, answer(1, "four")).controls == ()
    assert row(store, 1).changes == 0


def test_a_control_without_an_answer_leaves_the_visit_uncounted(store: Store) -> None:
    session = RevisitSession(LIMITS, 0.0)
    visit(store, session, 1.0, answer(1, "one"))
    visit(store, session, 8 * DAY, answer(1, "two"))
    assert (row(store, 1).visits, row(store, 1).seen_at) == (0.0, 8 * DAY)
    assert row(store, 1).due > 8 * DAY


def test_unchanged_pages_and_equal_bytes_are_no_change(store: Store) -> None:
    visit(store, RevisitSession(LIMITS, 0.0), 1.0, answer(1, "one"), answer(2, "two"))
    with store.transaction() as connection:  # as a crawl without --recrawl leaves them
        connection.exec_driver_sql("DELETE FROM revisits")
    unchanged = answer(1, "")._replace(page=None, blocks=None, unchanged=True)
    visit(store, RevisitSession(LIMITS, 0.0), 8 * DAY, unchanged, answer(2, "two"))
    for url_id in (1, 2):
        found = row(store, url_id)
        assert (found.visits, found.changes, found.same_for) == (1.0, 0.0, 8 * DAY - 1.0)
    assert row(store, 1).places is None
    visit(store, RevisitSession(LIMITS, 0.0), 16 * DAY, answer(1, "text that was never seen"))
    assert (row(store, 1).visits, row(store, 1).changes) == (1.0, 0.0)
    assert row(store, 1).places is not None


def test_what_is_no_page_any_more_waits_for_the_first_interval(store: Store) -> None:
    session = RevisitSession(LIMITS, 0.0)
    visit(store, session, 1.0, answer(1, "one"))
    hop = Hop("redirect", 301, candidate(URLS[1]))
    moved = Outcome(answer(1, "").queued, State.REDIRECTED, leads=(hop,))
    visit(store, session, 8 * DAY, moved)
    assert row(store, 1).due == 8 * DAY + LIMITS.first
    retried = Outcome(answer(1, "").queued, State.QUEUED, "timeout", retry_at=9 * DAY)
    visit(store, session, 8 * DAY + 1, retried)
    assert row(store, 1).due == 8 * DAY + LIMITS.first


def test_dates_are_kept_for_known_pages_of_the_same_host(store: Store) -> None:
    session = RevisitSession(LIMITS, 0.0)
    admit(store, ["http://other.example/"])
    visit(store, session, 1.0, answer(1, "one"))
    with store.transaction() as connection:
        revisit_rows.put(connection, [Revisited(4, 1.0, 1.0)])
    keys = [candidate(url).key for url in (URLS[0], URLS[1], "http://other.example/", "http://n/")]
    far = 9e9
    dates = (*((key, 5.0) for key in keys), (candidate(URLS[0]).key[::-1], far))
    assert visit(store, session, 8 * DAY, answer(3, "list", dates)).queued == 0
    found = row(store, 3)
    assert (found.role, found.due) == (LIST, 9 * DAY)
    assert [row(store, url_id).listed for url_id in (1, 4)] == [5.0, None]
    late = ((keys[0], 8 * DAY + 2 * DAY + 9),)
    visit(store, session, 8 * DAY + 5, answer(3, "list", late))
    assert row(store, 1).listed == 5.0, "a date in the future is none"


@pytest.mark.parametrize(
    ("is_visited", "began", "queued"), [(False, 8 * DAY, 1), (True, 8 * DAY, 0), (False, 0.0, 0)]
)
def test_a_page_with_a_new_date_is_queued_unless_this_run_has_visited_it(
    store: Store, is_visited: bool, began: float, queued: int
) -> None:
    visit(store, RevisitSession(LIMITS, 0.0), 1.0, answer(2, "two"), answer(3, "list"))
    with store.transaction() as connection:
        [host] = revisit_rows.read_hosts(connection, [1]).values()
        believed = host._replace(moved_changed=5.0, rested_same=5.0)
        revisit_rows.put_hosts(connection, [believed])
    session = RevisitSession(LIMITS, began)
    dates = ((candidate(URLS[1]).key, 7 * DAY),)
    visited = [answer(2, "two")] * is_visited
    with store.transaction() as connection:
        requeueing.queue_again(connection, urls.c.id == 3)
        recorded = store.record_in(connection, [answer(3, "list", dates), *visited], 8 * DAY)
        if is_visited:  # it was queued, too
            recorded = [one._replace(late=False) for one in recorded]
        assert session.record(connection, recorded, {}, 8 * DAY).queued == queued
        found = connection.scalar(select(urls.c.state).where(urls.c.id == 2))
    assert found == (State.QUEUED if queued else State.FETCHED)
