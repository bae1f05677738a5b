"""Forgetting: what has long been gone leaves all tables, once every reader of exports knows it."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import (
    admit,
    assert_counts_are_right,
    candidate,
    faults_of,
    open_store,
    visited,
)

from canonry.storage import Hop, Page, State, Store, StoreError
from canonry.storage.clusters import cluster_export, export_log
from canonry.storage.clusters.cluster_export import Reading
from canonry.storage.clusters.cluster_rows import ClusterRow
from canonry.storage.reading import report
from canonry.storage.records import Outcome
from canonry.storage.recrawls import absences, forgetting
from canonry.storage.recrawls.forgetting import LONG_GONE, READERS
from canonry.storage.rows import requeueing

pytestmark = pytest.mark.every_database

DAY = 86_400.0
A = "http://a.example/"
LONG = 9 * DAY


def page(text: str, status: int = 200) -> Page:
    """Return a page with a text."""
    return Page(status, 0.1, "text/html", 10, text.encode().ljust(16), text, None, 0)


def gone(url_id: int) -> Outcome:
    return visited(url_id, State.FETCHED, page=page("not found", 404))


def moved(url_id: int, to: str, status: int = 301) -> Outcome:
    return visited(url_id, State.REDIRECTED, hops=[Hop("redirect", status, candidate(A + to))])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Return a store of a seed (1) and six pages that were linked (2 to 7), fetched on day 1."""
    opened = open_store(tmp_path)
    admit(opened, [A])
    admit(opened, [f"{A}{n}" for n in range(2, 8)], depth=1)
    with opened.transaction() as connection:
        absences.begin(connection)
    every = [visited(n, State.FETCHED, page=page(f"page {n}")) for n in range(1, 8)]
    visit(opened, 1, *every)
    yield opened
    with opened.transaction() as connection:
        assert_counts_are_right(connection)
        assert faults_of(connection) == []
    opened.close()


def visit(store: Store, day: int, *outcomes: Outcome) -> None:
    """Ask URLs on a day."""
    url_ids = [one.url_id for one in outcomes]
    with store.claiming() as connection:
        requeueing.queue_ids_again(connection, url_ids)
        known = absences.known_of(connection, url_ids)
        recorded = store.record_in(connection, outcomes, day * DAY)
        absences.note(connection, recorded, known, day * DAY)


def visit_thrice(store: Store, *outcomes: Outcome) -> None:
    for day in (2, 3, 4):
        visit(store, day, *outcomes)


def forget(store: Store, day: float) -> int:
    with store.transaction() as connection:
        return forgetting.forget(connection, day * DAY, LONG)


def find_again(folder: Path) -> int:
    """Fetch a page that was forgotten, in the next run; return its id."""
    with closing(open_store(folder)) as store:
        [again] = admit(store, [f"{A}2"], depth=1)
        assert again.new
        visit(store, 300, visited(again.url_id, State.FETCHED, page=page("page 2")))
    return again.url_id


def known(store: Store, reason: str | None = None) -> list[int]:
    """Return the ids of all URLs, or of those with a reason."""
    with store.transaction() as connection:
        rows = connection.exec_driver_sql("SELECT id, reason FROM urls ORDER BY id").all()
    return [url_id for url_id, its in rows if reason in {None, its}]


def test_what_nobody_has_exported_goes_at_once_and_is_new_when_it_comes_again(
    store: Store, tmp_path: Path
) -> None:
    visit_thrice(store, gone(1), gone(2), gone(3), gone(7))
    visit(store, 4, visited(4, State.FETCHED, page=page("forbidden", 403)))
    assert forget(store, 2 + 8.9) == 0, "not yet"
    assert forget(store, 2 + 9) == 2
    assert known(store) == [1, 4, 5, 6, 7], "neither a seed, nor the last id"
    assert find_again(tmp_path) not in range(8)
    assert forget(store, 12) == 1, "by now, it is the last no more"


def test_a_url_to_which_another_one_leads_stays_as_long_as_that(store: Store) -> None:
    visit_thrice(store, moved(2, "3"), gone(3), moved(4, "5"), gone(5), gone(6))
    visit(store, 5, moved(4, "5", 302))  # no more for good
    assert forget(store, 20) == 3
    assert known(store) == [1, 4, 5, 7]


class Reader:
    """A reader of the export log, and the ids of the documents that it has."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cursor, self.documents = folder, "start", set[str]()

    def read(self, day: float, since: str | None = None) -> list[ClusterRow]:
        with report.reading(url_of(self.folder)) as connection:
            reading = Reading.begin(connection, since or self.cursor)
            rows = list(cluster_export.clusters(connection, lambda *_: (), reading))
        self.cursor = export_log.write(
            url_of(self.folder), reading.last, reading.changes, day * DAY
        )
        for row in rows:
            self.documents.discard(row.id)
            self.documents |= {row.id} if row.action == "upsert" else set()
        return rows


def test_readers_are_told_before_the_row_goes(store: Store, tmp_path: Path) -> None:
    reader, late = Reader(tmp_path), Reader(tmp_path)
    reader.read(1.5)
    late.read(1.5)
    visit_thrice(store, gone(2), moved(3, "4"))
    assert forget(store, 20) == 0
    assert known(store, LONG_GONE) == [2, 3]
    assert forget(store, 200) == 0, "no reader has come since"
    assert sorted(row.url for row in reader.read(200) if row.action == "delete") == [
        A + "2",
        A + "3",
    ]
    assert reader.read(200.1) == []
    assert not admit(store, [f"{A}2"], depth=1)[0].new, "a tombstone and a page would have one id"
    told, days = reader.cursor, 200 + READERS / DAY
    assert forget(store, days - 0.1) == 0
    assert forget(store, days) == 2
    assert known(store) == [1, 4, 5, 6, 7]
    with pytest.raises(StoreError, match="too old; export everything again"):
        late.read(days)
    with pytest.raises(StoreError, match="is forgotten; export everything again"):
        late.read(days, since="1970-01-10")
    find_again(tmp_path)
    assert [(row.action, row.url) for row in reader.read(300, told)] == [("upsert", A + "2")]
    late.documents.clear()
    late.read(300, "start")
    assert late.documents == reader.documents
