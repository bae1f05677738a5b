"""The store's promises: no URL is lost, leases, atomic outcomes, versions never mixed."""

import multiprocessing
import os
import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update
from support.stores import (
    admit,
    assert_counts_are_right,
    candidate,
    lease,
    open_store,
    url_of,
    visited,
)

import canonry.storage.store
from canonry.canon.policies import preset
from canonry.storage import Hop, Page, RefusedLink, State, Store, StoreError
from canonry.storage.reading import report
from canonry.storage.rows import leases as rows
from canonry.storage.rows.requeueing import review
from canonry.storage.sql.bulk import rows_of
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import VERSION, meta
from canonry.storage.timestamps import utc

pytestmark = pytest.mark.every_database

PAGE = Page(200, 0.1, "text/html", 10, bytes(16), "title", None, 1)


def queued(folder: Path) -> list[str]:
    """Return the queued URLs, read through another connection."""
    with report.reading(url_of(folder)) as connection:
        rows = connection.exec_driver_sql("SELECT url FROM urls WHERE state = 0 ORDER BY id")
        found = [url for (url,) in rows]
        pending = connection.exec_driver_sql("SELECT coalesce(sum(pending), 0) FROM hosts")
        assert pending.scalar() == len(found), "the hosts' counts say the same"
        assert report.status(connection)["urls"]["queued"] == len(found)
        assert_counts_are_right(connection)
    return found


def test_each_database_is_really_used(tmp_path: Path, database: str) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        assert connection.dialect.name == database
    store.close()


def test_a_new_url_is_queued_unless_it_is_held(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.admit([candidate("http://a.example/"), candidate("http://b.example/", held="robots")], 0)
    assert queued(tmp_path) == ["http://a.example/"]
    store.close()


def test_an_outcome_is_recorded_completely_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    outcome = visited(
        seed.url_id,
        State.FETCHED,
        page=PAGE,
        hops=[Hop("canonical", 200, candidate("http://a.example/c"))],
    )._replace(
        links=(candidate("http://a.example/1", 1),), refused=(RefusedLink("host", "http://["),)
    )

    def broken(*_args: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(canonry.storage.store.pages, "put_refusals", broken)
        with pytest.raises(OSError, match="full"):
            store.record([outcome], 1.0)
    assert queued(tmp_path) == ["http://a.example/"]
    store.record([outcome], 1.0)
    assert queued(tmp_path) == ["http://a.example/c", "http://a.example/1"]
    store.close()
    with report.reading(url_of(tmp_path)) as connection:
        found = report.status(connection)
        assert found["urls"] == {"queued": 2, "fetched": 1, "redirected": 0, "failed": 0, "held": 0}
        assert found["aliases"] == [{"kind": "canonical", "status": 200, "aliases": 1}]
        assert found["refused"] == [{"reason": "host", "links": 1, "link": "http://["}]
        assert [row["url"] for row in report.rows(connection, "pages")] == ["http://a.example/"]


def test_an_outcome_recorded_twice_counts_once(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    for _ in range(2):
        store.record([visited(seed.url_id, State.FETCHED, page=PAGE)], 1.0)
    assert queued(tmp_path) == []
    store.close()


def test_an_alias_seen_again_is_counted(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    hop = Hop("redirect", 301, candidate("http://a.example/to"))
    for now in (1.0, 5.0):
        with store.transaction() as connection:
            store.record_in(
                connection, [visited(seed.url_id, State.REDIRECTED, hops=(hop,))], now, again=True
            )
    store.close()
    with report.reading(url_of(tmp_path)) as connection:
        [row] = report.rows(connection, "aliases")
    assert row == {
        "url": "http://a.example/",
        "same_as": "http://a.example/to",
        "kind": "redirect",
        "status": 301,
        "target_url": "http://a.example/to",
        "first_seen": utc(1.0),
        "last_seen": utc(5.0),
        "count": 2,
        "representative": "http://a.example/",  # the target has not been fetched yet
    }


def test_a_lease_is_exclusive_until_it_expires_or_is_released(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/1", "http://a.example/2", "http://b.example/"])
    mine = lease(store, "me", now=100)
    assert {host.name: len(host.urls) for host in mine} == {"a.example": 2, "b.example": 1}
    assert lease(store, "you", now=120) == []
    assert len(lease(store, "you", now=161)) == 2, "a dead worker's hosts go to the others"
    assert lease(store, "me", now=170) == []
    with store.transaction() as connection:
        assert rows.HOSTS.holders(connection) == {"you"}
        rows.HOSTS.give_back(connection, ["you"])
    assert len(lease(store, "me", now=171)) == 2
    store.close()


def test_reclaimed_hosts_pause_for_their_delay(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, [f"http://{name}.example/" for name in "abc"])
    lease(store, "me", now=100)
    with store.transaction() as connection:
        ready = {"a.example": 90.0, "b.example": 90.0, "c.example": 125.0}
        rows.pace(connection, ready, {"b.example": 20.0})
        rows.reclaim(connection, ["me"], 110.0, 2.0)
    leased = lease(store, "you", now=110)
    store.close()
    assert {host.name: host.ready_at for host in leased} == {
        "a.example": 112.0,  # nobody knows when its last request was sent
        "b.example": 130.0,  # its own delay is longer
        "c.example": 125.0,  # its next request was due later anyway
    }


def test_rows_in_memory_are_not_leased_again(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    given = admit(store, [f"http://a.example/{n}" for n in range(10)])
    [first] = lease(store, per_host=4)
    held = {url.url_id for url in first.urls}
    [second] = lease(store, per_host=4, loaded={"a.example": held})
    assert [u.url_id for u in (*first.urls, *second.urls)] == [a.url_id for a in given[:8]]
    store.close()


def test_depths_end_where_the_column_does(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/deep"], depth=1 << 40)
    [host] = lease(store, level_by_level=True)
    assert [url.depth for url in host.urls] == [32_767]
    with store.transaction() as connection:
        assert_counts_are_right(connection)
    store.close()


def test_level_by_level_leases_only_the_lowest_depth(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/deep"], depth=2)
    [top] = admit(store, ["http://b.example/top"], depth=1)
    assert [h.name for h in lease(store, level_by_level=True)] == ["b.example"]
    store.record([visited(top.url_id, State.FETCHED, page=PAGE)], 1.0)
    assert [h.name for h in lease(store, level_by_level=True)] == ["a.example"]
    store.close()


def test_pace_survives_a_restart(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/"])
    with store.transaction() as connection:
        rows.pace(connection, {"a.example": 1000.0}, {"a.example": 7.0})
    store.close()
    store = open_store(tmp_path)
    assert lease(store, now=900) == [], "not ready within the lease"
    [host] = lease(store, now=990)
    assert (host.ready_at, host.delay) == (1000.0, 7.0)
    store.close()


def test_a_retry_waits_and_is_counted(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    store.record([visited(seed.url_id, State.QUEUED, retry_at=50.0)], 1.0)
    assert lease(store, now=49) == []
    with store.transaction() as connection:
        assert rows.next_due(connection) == 50.0
    [host] = lease(store, now=50)
    assert host.urls[0].attempts == 1
    store.close()


def test_a_clock_that_is_set_back_blocks_no_host(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    days = 10 * 86_400.0
    store.record([visited(seed.url_id, State.QUEUED, retry_at=days + 50)], days)
    assert len(lease(store, "dead", now=days + 60)) == 1
    with store.transaction() as connection:
        rows.pace(connection, {"a.example": days + 90}, {"a.example": None})
    assert [host.name for host in lease(store, "other", now=1_000)] == ["a.example"]
    assert lease(store, "third", now=1_010) == [], "the lease counts as usual from then on"
    store.close()


def test_a_failed_look_up_raises_a_store_error(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    reported = pytest.raises(StoreError, match="nothing of the last step was kept")
    with reported, store.transaction() as connection:
        list(rows_of(connection, "SELECT id FROM there_is_none WHERE id", [1]))
    store.close()


def test_changed_limits_release_and_hold_urls(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/shallow"], depth=1)
    store.admit([candidate("http://a.example/deep", 3, held="too-deep")], 0)
    store.admit([candidate("http://a.example/private", 1, held="robots")], 0)
    with store.transaction() as connection:
        out = review(
            connection,
            State.HELD,
            lambda _u, depth, _h: "too-deep" if depth > 4 else None,
            {"too-deep"},
        )
        held = review(
            connection, State.QUEUED, lambda _u, depth, _h: "too-deep" if depth < 2 else None
        )
    assert (out, held) == (1, 1)
    assert queued(tmp_path) == ["http://a.example/deep"]
    store.close()


def test_a_store_of_another_policy_is_refused_with_the_command_that_works(
    tmp_path: Path,
) -> None:
    open_store(tmp_path, "search").close()
    with pytest.raises(StoreError, match="under policy search@1, not web@1; give --policy search"):
        open_store(tmp_path, "web")


@pytest.mark.parametrize(
    ("fact", "value", "message"),
    [
        ("schema", "99", f"it has schema 99, and this program reads schema {VERSION};"),
        ("fingerprint", "0" * 16, "has changed since the store was made, but not its version"),
    ],
)
def test_a_store_of_another_version_is_refused(
    tmp_path: Path, fact: str, value: str, message: str
) -> None:
    open_store(tmp_path).close()
    engine = open_engine(url_of(tmp_path))
    with engine.begin() as connection:
        connection.execute(update(meta).where(meta.c.name == fact).values(value=value))
    engine.dispose()
    with pytest.raises(StoreError, match=message):
        open_store(tmp_path)


@pytest.mark.sqlite
def test_a_file_that_is_no_store_is_refused_and_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match="not a database"):
        open_store(tmp_path)
    assert path.read_bytes() == b"this is no database" * 100
    path.unlink()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE theirs (x)")
    with pytest.raises(StoreError, match="has tables, but none of Canonry's"):
        open_store(tmp_path)


@pytest.mark.sqlite
def test_reading_does_not_create_a_missing_store(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no store"), report.reading(url_of(tmp_path)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_urls_have_no_length_limit(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    long = "http://a.example/" + "x" * 1_000_000
    given = admit(store, [long + "1", long + "2"])
    assert [answer.new for answer in given] == [True, True]
    assert queued(tmp_path) == [long + "1", long + "2"]
    store.close()


@pytest.mark.sqlite
def test_a_locked_database_is_reported_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.sql.sqlite_engine.BUSY_SECONDS", 0.1)
    store = open_store(tmp_path)
    admit(store, ["http://a.example/1"])
    other = sqlite3.connect(tmp_path / "store.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match=r"database is locked; .* the same command resumes"):
        admit(store, ["http://a.example/2"])
    other.execute("ROLLBACK")
    other.close()
    answers = admit(store, ["http://a.example/1", "http://a.example/2"])
    assert [answer.new for answer in answers] == [False, True]
    store.close()


_FILL = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.stores import admit, open_store
from canonry.storage import StoreError
store = open_store(Path(sys.argv[2]))
resource.setrlimit(resource.RLIMIT_FSIZE, (3_000_000, resource.RLIM_INFINITY))
done = 0
try:
    while True:
        admit(store, [f"http://a.example/{done + n}/{'x' * 200}" for n in range(500)])
        done += 500
except StoreError as error:
    print(done, error)
store.close()
"""


@pytest.mark.sqlite
def test_a_read_only_store_is_reported(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    found = preset("web")
    store = Store(
        f"sqlite:///file:{tmp_path / 'store.db'}?mode=ro&uri=true",
        policy=found.label,
        fingerprint=found.fingerprint,
    )
    with closing(store), pytest.raises(StoreError, match="readonly database"):
        store.begin_job("crawl", "{}", 0.0)


def _forking() -> Any:  # noqa: ANN401 - untyped there
    """Return how processes are started that have imported all of this."""
    found = multiprocessing.get_context("forkserver")
    found.set_forkserver_preload([__name__, "support.stores"])
    return found


def _admit_on_and_on(environment: dict[str, str], folder: Path, number: int, told: Any) -> None:  # noqa: ANN401 - untyped there
    """Admit URLs by their numbers; tell after each batch which of them were new."""
    os.environ.clear()  # it is that of the first test that forked
    os.environ.update(environment)
    store = open_store(folder)
    told.send([])
    while True:
        urls = [f"http://h{n % 7}.example/{n}" for n in range(number, number + 40)]
        told.send([n for n, a in enumerate(admit(store, urls), number) if a.new])
        number += 20


def test_a_url_that_was_answered_new_is_queued_whenever_the_process_is_killed(
    tmp_path: Path,
) -> None:
    rng = random.Random(5)
    reported: list[int] = []
    forking = _forking()
    for _ in range(int(os.environ.get("CANONRY_TEST_KILLS", "6"))):
        news, told = forking.Pipe(duplex=False)
        words = ({**os.environ}, tmp_path, max(reported, default=0), told)
        process = forking.Process(target=_admit_on_and_on, args=words, daemon=True)
        process.start()
        told.close()
        assert news.recv() == []
        reported += news.recv()  # however slow the machine is
        time.sleep(rng.random() * 0.1)
        process.kill()
        with news, suppress(EOFError, OSError):  # the last message may be cut
            while True:
                reported += news.recv()
        process.join()
        process.close()
    assert len(reported) > 40
    assert len(reported) == len(set(reported)), "no URL is new twice"
    there = {int(url.rpartition("/")[2]) for url in queued(tmp_path)}
    assert set(reported) <= there, "nothing is lost"
    assert there == set(range(len(there))), (
        "the others belong to the last batch, whose answer was lost"
    )
    store = open_store(tmp_path)
    assert not any(a.new for a in admit(store, [f"http://h{n % 7}.example/{n}" for n in there]))
    store.close()


@pytest.mark.sqlite
def test_a_full_disk_is_reported_and_the_store_stays_intact(tmp_path: Path) -> None:
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", _FILL, tests, str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    [first] = done.stdout.splitlines()
    assert "once this is fixed, the same command resumes" in first
    count = int(first.split()[0])
    assert count > 1000
    assert len(queued(tmp_path)) == count
    store = open_store(tmp_path)
    assert not admit(store, [f"http://a.example/{count - 1}/{'x' * 200}"])[0].new
    assert admit(store, [f"http://a.example/{count}/{'x' * 200}"])[0].new
    store.close()


def _open_each(
    environment: dict[str, str],
    folder: Path,
    rounds: int,
    together: Any,  # noqa: ANN401 - untyped there
    notices: Any,  # noqa: ANN401 - same
) -> None:
    """Open one new store after the other, each at the same moment as other processes."""
    os.environ.clear()  # as above
    os.environ.update(environment)
    for number in range(rounds):
        together.wait(100)
        try:
            open_store(folder / str(number)).close()
        except StoreError as error:
            notices.put(str(error))
    notices.put(None)


def test_processes_that_create_a_store_at_the_same_time_wait_for_each_other(tmp_path: Path) -> None:
    processes, rounds = 3, 15
    for number in range(rounds):
        (tmp_path / str(number)).mkdir()
    forking = _forking()
    together, notices = forking.Barrier(processes), forking.SimpleQueue()
    words = ({**os.environ}, tmp_path, rounds, together, notices)
    workers = [
        forking.Process(target=_open_each, args=words, daemon=True) for _ in range(processes)
    ]
    for worker in workers:
        worker.start()
    ended = 0
    while ended < processes:
        message = notices.get()
        assert message is None, message
        ended += 1
    for worker in workers:
        worker.join()
