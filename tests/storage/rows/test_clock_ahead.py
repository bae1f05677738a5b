"""The times of a store whose clock was ahead, on both databases."""

from pathlib import Path

import pytest
from sqlalchemy import select, update
from support.stores import admit, open_store, visited

from canonry.storage import Page, State
from canonry.storage.rows.clock_ahead import Waits, correct
from canonry.storage.sql.schema import hosts, jobs, pages, robots, urls

pytestmark = pytest.mark.every_database
NOW = 1_000_000.0
DAY = 86_400.0
WAITS = Waits(1.0, 60.0, 100.0, 200.0, DAY, DAY, asked_suffix=" asked")


@pytest.mark.parametrize("ahead", [0.0, 59.0, 7_200.0, 40 * DAY])
def test_no_wait_is_longer_than_a_crawl_makes_it(tmp_path: Path, ahead: float) -> None:
    then = NOW + ahead
    store = open_store(tmp_path)
    names = [f"http://{name}.example/" for name in ("plain", "asked", "lying", "done")]
    url_ids = [one.url_id for one in admit(store, names, now=then)]
    waits = {url_ids[0]: (90.0, "x"), url_ids[1]: (5_000.0, "x asked"), url_ids[2]: (5_000.0, "x")}
    outcomes = [
        visited(url_id, State.QUEUED, reason, retry_at=then + wait)
        for url_id, (wait, reason) in waits.items()
    ]
    store.record([*outcomes, visited(url_ids[3], State.FAILED, "x")], then)
    with store.transaction() as connection:
        for n, wait in enumerate((190.0, 5_000.0, 5_000.0, 150.0), start=1):
            host = update(hosts).where(hosts.c.id == n)
            connection.execute(host.values(ready_at=then + wait))
        connection.execute(
            robots.insert().values(origin="x", expires_at=then + DAY, unreachable_since=then)
        )
        found = correct(connection, NOW, WAITS)
        due = list(connection.scalars(select(urls.c.due).order_by(urls.c.id)))
        ready = list(connection.scalars(select(hosts.c.ready_at).order_by(hosts.c.id)))
        [cached] = connection.execute(select(robots.c.expires_at, robots.c.unreachable_since))
    store.close()
    left = ahead if ahead < 60 else 0.0
    assert found == ahead - left
    settled = NOW + left if found == 0 else 0.0  # no run is known that the clock was right for
    assert due == [0.0 if left + 90 > 100 else NOW + 90 + left, NOW + 5_000 + left, 0.0, settled]
    assert ready[0] == (NOW + 1 if left + 190 > 200 else NOW + 190)
    assert ready[1:] == [NOW + 5_000 + left, NOW + 1, NOW + (1 if left + 150 > 200 else 150)]
    assert cached == ((NOW + DAY if ahead == 0 else 0.0), NOW + left)


def test_a_host_that_was_leased_by_the_wrong_clock_rests(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://plain.example/"], now=NOW)
    with store.transaction() as connection:
        leased = {"holder": "gone", "held_until": NOW + 7_260.0, "ready_at": NOW + 7_200.0}
        connection.execute(update(hosts).values(leased))
        correct(connection, NOW, WAITS)
        [(holder, ready)] = connection.execute(select(hosts.c.holder, hosts.c.ready_at))
    store.close()
    assert (holder, ready) == (None, NOW + 1.0)


def test_what_was_fetched_by_the_wrong_clock_was_before_its_run_ended(tmp_path: Path) -> None:
    then = NOW + 7_200.0
    store = open_store(tmp_path)
    [page] = admit(store, ["http://plain.example/"], now=NOW - 100.0)
    found = Page(200, 0.1, "text/html", 9, b"digest", None, None, 0)
    store.record([visited(page.url_id, State.FETCHED, page=found)], then - 10.0)
    with store.transaction() as connection:
        job = {"command": "crawl", "settings": "{}", "state": "finished"}
        connection.execute(jobs.insert().values(**job, started_at=NOW - 100.0, ended_at=then))
        correct(connection, NOW, WAITS)
        columns = (pages.c.fetched_at, jobs.c.ended_at, urls.c.due)
        fetched, ended, due = map(connection.scalar, map(select, columns))
    store.close()
    assert (fetched, ended) == (NOW - 10.0, NOW)
    assert due == NOW - 100.0, "for a recrawl, it was fetched when the run began"
