"""Claims beside each other on PostgreSQL: one winner for each key, and nothing is lost."""

import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import func, select
from support import databases
from support.databases import url_of
from support.sites import wait_for
from support.stores import admit, assert_counts_are_right, candidate, open_store

from canonry.storage import Admission, Store, StoreError
from canonry.storage.reading import report
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql.schema import urls

_CLAIM = """
import random, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.stores import candidate, open_store
rng = random.Random(int(sys.argv[3]))
store = open_store(Path(sys.argv[2]))
print("ready", flush=True)
while True:
    some = [candidate(f"http://h{n % 7}.example/{n}") for n in rng.sample(range(3_000), 40)]
    way = store.transaction if rng.random() < 0.1 else store.claiming
    with way() as connection:
        answers = store.admit_in(connection, some, 0.0)
    print(*(one.url for one, answer in zip(some, answers) if answer.new), flush=True)
"""


@pytest.fixture(autouse=True)
def _on_postgresql(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(databases.SERVER, server)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    """Open one store three times."""
    opened = [open_store(tmp_path) for _ in range(3)]
    yield opened
    for store in opened:
        store.close()


def _keys(*names: str) -> list[bytes]:
    return [candidate(f"http://a.example/{name}").key for name in names]


def test_claims_of_different_keys_do_not_wait_for_each_other(stores: list[Store]) -> None:
    one, other, _third = stores
    with one.claiming() as here, other.claiming() as there:
        mine = one.seen.claim(here, _keys("1", "2"))
        yours = other.seen.claim(there, _keys("3", "4"))
        assert all(answer.new for answer in mine + yours)
        assert len({answer.url_id for answer in mine + yours}) == 4
        here.rollback()
        there.rollback()


@pytest.mark.parametrize("fails", [False, True])
def test_a_claim_waits_for_an_earlier_one_of_its_key(stores: list[Store], fails: bool) -> None:
    one, other, _third = stores
    answers = []
    waiting = threading.Thread(target=lambda: answers.extend(admit(other, [f"{_A}1", f"{_A}2"])))
    with suppress(RuntimeError), one.claiming() as connection:
        first = one.admit_in(connection, [candidate(f"{_A}2"), candidate(f"{_A}3")], 0.0)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive(), "it cannot know yet who wins"
        if fails:
            raise RuntimeError
    waiting.join(60)
    assert [answer.new for answer in answers] == [True, fails]
    if not fails:
        assert answers[1].url_id == first[0].url_id
    assert [a.new for a in admit(one, [f"{_A}1", f"{_A}2", f"{_A}3"])] == [False, False, fails]


_A = "http://a.example/"


def _until_somebody_waits(folder: Path, event: str) -> None:
    """Return once a connection to a folder's store waits for a lock of a kind."""
    waiting = (
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = %s"
    )
    latest = time.monotonic() + 90
    with psycopg.connect(url_of(folder), autocommit=True) as connection:
        while connection.execute(waiting, (event,)).fetchone() is None:
            assert time.monotonic() < latest, f"nobody waits: {event}"
            time.sleep(0.02)


def test_one_claimant_at_a_time_has_the_turn(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, third = stores
    monkeypatch.setattr("canonry.storage.sql.write_locks.BUSY_SECONDS", 0.2)
    with one.claiming() as connection:
        one.admit_in(connection, [candidate(f"{_A}1")], 0.0)
        with pytest.raises(StoreError, match="lock timeout"):
            admit(other, [f"{_A}2"])
        with pytest.raises(StoreError, match="lock timeout"):
            admit(other, [])  # what comes after the claims needs the turn, too
    assert admit(third, [f"{_A}2"])[0].new


def test_a_host_that_two_find_at_once_has_one_row(stores: list[Store], tmp_path: Path) -> None:
    one, other, _third = stores
    waiting = threading.Thread(target=admit, args=(other, [f"{_A}2"]))
    with one.claiming() as connection:
        one.admit_in(connection, [candidate(f"{_A}1")], 0.0)
        waiting.start()
        _until_somebody_waits(tmp_path, "advisory")  # it has looked for the host
    waiting.join(90)
    with report.reading(url_of(tmp_path)) as connection:
        names = connection.exec_driver_sql("SELECT name, pending FROM hosts").all()
        assert_counts_are_right(connection)
    assert names == [("a.example", 2)]


def test_who_waits_for_a_key_holds_no_larger_one(
    stores: list[Store], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two that hold what the other waits for would wait for ever."""
    one, other, third = stores
    small, large = sorted(_keys("1", "2"))
    answers: list[Admission] = []

    def wait_for_both() -> None:
        with other.claiming() as connection:
            answers.extend(other.seen.claim(connection, [large, small]))
            connection.rollback()

    waiting = threading.Thread(target=wait_for_both)
    with one.claiming() as connection:
        one.seen.claim(connection, [small])
        waiting.start()
        _until_somebody_waits(tmp_path, "transactionid")
        monkeypatch.setattr("canonry.storage.sql.write_locks.BUSY_SECONDS", 0.2)
        with third.claiming() as beside:
            assert third.seen.claim(beside, [large])[0].new
            beside.rollback()
        connection.rollback()
    waiting.join(90)
    assert [answer.new for answer in answers] == [True, True]


def test_other_writers_wait_until_no_claim_is_under_way(
    stores: list[Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other, _third = stores
    monkeypatch.setattr("canonry.storage.sql.write_locks.BUSY_SECONDS", 0.2)
    with one.claiming() as connection:
        one.seen.claim(connection, _keys("1"))
        with pytest.raises(StoreError, match="lock timeout"):
            other.begin_job("crawl", "{}", 0.0)
        connection.rollback()
    assert other.begin_job("crawl", "{}", 0.0) == 1


def test_keys_are_claimed_once_in_such_a_transaction(stores: list[Store]) -> None:
    store = stores[0]
    with pytest.raises(RuntimeError, match="once"), store.claiming() as connection:
        store.admit_in(connection, [candidate(f"{_A}1")], 0.0)
        store.admit_in(connection, [candidate(f"{_A}2")], 0.0)
    assert [answer.new for answer in admit(store, [f"{_A}1", f"{_A}2"])] == [True, True]


def test_a_key_that_is_committed_late_is_known_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.seen.seen_set.MANY", 0)  # else there is no filter yet
    notices: list[str] = []
    stores = [open_store(tmp_path, notify=notices) for _ in range(3)]
    one, other, third = stores
    has_claimed, may_end = threading.Event(), threading.Event()
    claim, seen = SeenSet.claim, one.seen

    def slowly(self: SeenSet, *given: object) -> object:
        answers = claim(self, *given)  # type: ignore[arg-type]
        if self is seen:
            has_claimed.set()
            may_end.wait(60)
        return answers

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SeenSet, "claim", slowly)
        late = threading.Thread(target=admit, args=(one, [f"{_A}late"]))
        late.start()
        assert has_claimed.wait(60)
        assert admit(other, [f"{_A}early"])[0].new  # its id is larger, and committed first
        assert not admit(third, [f"{_A}early"])[0].new
        may_end.set()
        late.join(60)
    [key] = _keys("late")
    assert third.seen.filter is not None
    assert not any(third.seen.filter.perhaps([key])), "the case that this is about"
    assert [a.new for a in admit(third, [f"{_A}late", f"{_A}new"])] == [False, True]
    with other.transaction() as connection:  # alone, and its filter lacks none that it met
        again = other.admit_in(connection, [candidate(f"{_A}late")], 0.0)
    assert [answer.new for answer in again] == [False]
    for store in stores:
        store.close()
    assert notices == []
    checked = open_store(tmp_path, notify=notices)
    assert not any(a.new for a in admit(checked, [f"{_A}late", f"{_A}early", f"{_A}new"]))
    checked.close()
    assert notices == []


def test_processes_that_are_killed_lose_nothing_and_nothing_is_won_twice(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    tests = str(Path(__file__).parents[2])
    rng = random.Random(1)

    def started(seed: int) -> "subprocess.Popen[str]":
        words = [sys.executable, "-c", _CLAIM, tests, str(tmp_path), str(seed)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)

    def known() -> int:
        with report.reading(url_of(tmp_path)) as connection:
            return connection.scalar(select(func.count(urls.c.id))) or 0

    won: list[str] = []
    running = [started(seed) for seed in range(6)]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    wait_for(lambda: known() > 100, 60)
    for process in running:
        time.sleep(rng.uniform(0.05, 0.3))
        process.kill()
    for process in running:
        assert process.stdout is not None
        out = process.stdout.read()  # with what came together with "ready"
        process.wait(60)
        process.stdout.close()
        won += [
            url
            for line in out.splitlines(keepends=True)
            if line[-1] == "\n"
            for url in line.split()
        ]
    store = open_store(tmp_path)
    with report.reading(url_of(tmp_path)) as connection:
        there = list(connection.scalars(select(urls.c.url)))
        assert_counts_are_right(connection)
    assert len(won) == len(set(won)), "no key was won twice"
    assert set(won) <= set(there), "what was won is there"
    assert len(there) == len(set(there)) > 100
    assert len(there) - len(won) <= 6 * 40, "only answers that were not given before the kill"
    assert not any(answer.new for answer in admit(store, there))
    store.close()
