"""Rows of revisits: written, read, and used to queue what is due."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import admit, assert_counts_are_right, lease, open_store, visited

from canonry.storage import Page, State, Store
from canonry.storage.reading import report
from canonry.storage.recrawls import revisit_rows
from canonry.storage.recrawls.revisit_rows import LIST, Revisited, RevisitedHost

pytestmark = pytest.mark.every_database

PAGE = Page(200, 0.1, "text/html", 10, b"d" * 16, None, None, 0)
URLS = [f"http://a.example/{n}" for n in range(4)] + ["http://b.example/"]
FIRST, MOST = 100.0, 10_000.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store whose five URLs were fetched at 1,000 seconds."""
    opened = open_store(tmp_path)
    ids = [admission.url_id for admission in admit(opened, URLS)]
    opened.record([visited(one, State.FETCHED, page=PAGE) for one in ids], 1_000.0)
    with opened.transaction() as connection:
        assert revisit_rows.number_due(connection, 9e9) is None
    yield opened
    opened.close()


def queued(store: Store, now: float) -> list[int]:
    """Return the ids of the URLs that are queued at a time, in the order of their requests."""
    with store.transaction() as connection:
        revisit_rows.requeue(connection, now, FIRST, MOST)
    return [url.url_id for host in lease(store, now=now) for url in host.urls]


def test_rows_are_read_as_they_were_written(store: Store) -> None:
    row = Revisited(1, 5.5, 4.5, 3.0, 2.0, 7.0, 8.0, 9.0, None, LIST, b"places")
    host = RevisitedHost(1, None, 1.0, 2.0, 3.0, 4.0, b"rates", b"")
    with store.transaction() as connection:
        revisit_rows.put(connection, [row._replace(visits=1.0), row._replace(url_id=2)])
        revisit_rows.put(connection, [row])
        revisit_rows.put_hosts(connection, [host._replace(first=1.0)])
        revisit_rows.put_hosts(connection, [host])
    with store.transaction() as connection:
        assert revisit_rows.read(connection, [1, 2, 3]) == {1: row, 2: row._replace(url_id=2)}
        assert revisit_rows.read_hosts(connection, [1, 2]) == {1: host}
        revisit_rows.put_dates(connection, {1: 11.0, 3: 12.0})
        revisit_rows.postpone(connection, [2, 3], 99.0)
        found = revisit_rows.read(connection, [1, 2, 3])
    assert {url_id: (one.listed, one.due) for url_id, one in found.items()} == {
        1: (11.0, 5.5),
        2: (9.0, 99.0),
    }


def test_what_is_due_is_queued_once(store: Store) -> None:
    with store.transaction() as connection:
        rows = [Revisited(1, 5_000.0, 1_000.0), Revisited(2, 2_000.0, 1_000.0)]
        revisit_rows.put(connection, rows)
    assert queued(store, 1_050.0) == []
    assert queued(store, 1_100.0) == [3, 4, 5], "those without a row wait for the first interval"
    with store.transaction() as connection:
        assert revisit_rows.number_due(connection, 2_000.0) == 1
        assert revisit_rows.requeue(connection, 2_000.0, FIRST, MOST) == 1
        assert revisit_rows.requeue(connection, 2_000.0, FIRST, MOST) == 0
        assert revisit_rows.number_due(connection, 2_000.0) == 0
        assert_counts_are_right(connection)


def test_pages_without_a_row_wait_as_those_of_their_host(store: Store) -> None:
    with store.transaction() as connection:
        revisit_rows.put_hosts(connection, [RevisitedHost(1, 500.0, 0, 0, 0, 0, b"", b"")])
    assert queued(store, 1_200.0) == [5]
    assert sorted(queued(store, 1_500.0)) == [1, 2, 3, 4, 5]
    store.record([visited(1, State.FAILED, "dns")], 2_000.0)
    assert 1 in queued(store, 2_100.0), "that is for pages, not for failures"


def test_sitemaps_and_feeds_go_first(store: Store) -> None:
    with store.transaction() as connection:
        rows = [Revisited(one, 1_500.0, 1_000.0, role=LIST * (one == 3)) for one in (1, 2, 3)]
        revisit_rows.put(connection, rows)
    assert queued(store, 1_600.0)[0] == 3


def test_a_wait_of_a_clock_that_was_ahead_does_not_count(store: Store) -> None:
    with store.transaction() as connection:
        revisit_rows.put(connection, [Revisited(1, 1_050.0 + MOST + 1, 1_000.0)])
    assert queued(store, 1_050.0) == [1]


def test_only_fetched_pages_are_brought_forward(store: Store) -> None:
    with store.transaction() as connection:
        assert revisit_rows.bring_forward(connection, {1, 2}) == 2
        assert revisit_rows.bring_forward(connection, {1, 2}) == 0
        assert_counts_are_right(connection)


def test_status_says_how_many_are_due(store: Store, tmp_path: Path) -> None:
    with store.transaction() as connection:
        revisit_rows.put(connection, [Revisited(1, 2_000.0, 1_000.0), Revisited(2, 9e12, 1_000.0)])
    with report.reading(url_of(tmp_path)) as connection:
        assert report.status(connection)["due"] == 1
