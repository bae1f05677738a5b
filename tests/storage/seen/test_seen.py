"""Claim once: of all claims of a key, exactly one is ever answered with "new"."""

import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import select
from support.stores import admit, candidate, open_store
from support.strategies import tries

from canonry.storage import Store
from canonry.storage.seen import seen_set
from canonry.storage.seen.seen_set import Recent
from canonry.storage.sql.schema import keys

pytestmark = pytest.mark.every_database

_CLAIM = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from support.stores import admit, open_store
import random
numbers = list(range(400))
random.Random(int(sys.argv[3])).shuffle(numbers)
store = open_store(Path(sys.argv[2]))
new = []
for start in range(0, 400, 20):
    part = numbers[start:start + 20]
    answers = admit(store, [f"http://a.example/{n}" for n in part])
    new += [n for n, answer in zip(part, answers) if answer.new]
store.close()
print(*new)
"""


_EXAMPLES = count()


@pytest.fixture
def one_store(tmp_path: Path) -> Iterator[Store]:
    """Open a store for all examples of a test."""
    store = open_store(tmp_path)
    yield store
    store.close()


@given(batches=st.lists(st.lists(st.integers(0, 30), max_size=12), max_size=8))
@settings(max_examples=tries(0.15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_claims_agree_with_a_dict(one_store: Store, batches: list[list[int]]) -> None:
    known: dict[int, int] = {}
    example = next(_EXAMPLES)  # examples share a store, but no URLs
    for batch in batches:
        answers = admit(one_store, [f"http://a.example/{example}/{n}" for n in batch])
        for n, answer in zip(batch, answers, strict=True):
            assert answer.new == (n not in known)
            assert known.setdefault(n, answer.url_id) == answer.url_id


def test_a_failed_transaction_claims_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/1"])
    with pytest.raises(RuntimeError), store.transaction() as connection:
        more = [candidate("http://a.example/2"), candidate("http://a.example/1")]
        first = store.admit_in(connection, more, 0.0)
        second = store.admit_in(connection, more, 0.0)
        assert [a.new for a in first] == [True, False]
        assert [a.new for a in second] == [False, False]
        raise RuntimeError
    assert [a.new for a in admit(store, ["http://a.example/2", "http://a.example/1"])] == [
        True,
        False,
    ]
    store.close()


def test_a_failed_transaction_does_not_hide_claims_of_others(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    with pytest.raises(RuntimeError), one.transaction() as connection:
        one.admit_in(connection, [candidate("http://a.example/1")], 0.0)
        raise RuntimeError
    urls = ["http://a.example/1", "http://a.example/2"]
    assert [answer.new for answer in admit(other, urls)] == [True, True]
    assert [answer.new for answer in admit(one, urls)] == [False, False]
    one.close()
    other.close()


def test_one_transaction_may_claim_more_keys_than_the_cache_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("canonry.storage.seen.seen_set._RECENT", 50)
    store = open_store(tmp_path)
    urls = [f"http://a.example/{n}" for n in range(300)]
    with store.transaction() as connection:
        new = []
        for start in [*range(0, 300, 30), *range(0, 300, 30)]:
            part = [candidate(url) for url in urls[start : start + 30]]
            new += [answer.new for answer in store.admit_in(connection, part, 0.0)]
    assert new == [True] * 300 + [False] * 300
    assert not any(answer.new for answer in admit(store, urls))
    store.close()


def test_two_stores_on_one_file_see_each_others_claims(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    for n in range(20):
        claimants = [one, other] if n % 2 else [other, one]
        answers = [admit(store, [f"http://a.example/{n}"])[0] for store in claimants]
        assert [answer.new for answer in answers] == [True, False]
        assert answers[0].url_id == answers[1].url_id
    one.close()
    other.close()


@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, 2),  # which store
            st.sampled_from(["claim", "claim", "claim alone", "fail", "reopen"]),
            st.lists(st.integers(0, 25), min_size=1, max_size=6),
        ),
        max_size=14,
    )
)
@settings(max_examples=tries(0.02), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_filter_lacks_no_key_that_it_has_read(
    tmp_path: Path, steps: list[tuple[int, str, list[int]]]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seen_set, "_AT_ONCE", 2)
        patch.setattr(seen_set, "MANY", 0)
        claim_in_turns(tmp_path, steps)


def claim_in_turns(folder: Path, steps: list[tuple[int, str, list[int]]]) -> None:
    """Claim keys in three stores, and look at their filters after each step."""
    example = next(_EXAMPLES)
    stores = [open_store(folder) for _ in range(3)]
    known: set[str] = set()
    for place, step, numbers in steps:
        store = stores[place]
        urls = [f"http://b.example/{example}/{n}" for n in numbers]
        if step == "reopen":
            store.close()
            stores[place] = open_store(folder)
            continue
        way = store.claiming if step == "claim" else store.transaction
        with suppress(RuntimeError), way() as connection:
            answers = store.admit_in(connection, [candidate(url) for url in urls], 0.0)
            expected = [url not in known and url not in urls[:at] for at, url in enumerate(urls)]
            assert [answer.new for answer in answers] == expected
            if step == "fail":
                raise RuntimeError
        known.update(() if step == "fail" else urls)
        with store.transaction() as connection:
            rows = connection.execute(select(keys.c.key, keys.c.url_id)).all()
        for seen in (one.seen for one in stores):
            read = [k for k, url_id in rows if k <= seen.read_up_to and url_id <= seen.newest]
            assert seen.filter is None or all(seen.filter.perhaps(read))
    for store in stores:
        store.close()


def test_the_filter_is_filled_while_keys_are_claimed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seen_set, "_AT_ONCE", 30)
    monkeypatch.setattr(seen_set, "MANY", 100)
    known, more = ([f"http://a.example/{part}/{n}" for n in range(100)] for part in "ab")
    store = open_store(tmp_path)
    admit(store, known[:50])
    assert store.seen.filter is None, "few keys need none"
    admit(store, known[50:])
    store.close()
    store = open_store(tmp_path)
    counts = []
    for start in range(0, 100, 20):
        mixed = known[start : start + 20] + more[start : start + 20]
        assert [one.new for one in admit(store, mixed)] == [False] * 20 + [True] * 20
        counts.append(store.seen.filter.count)
    assert counts == sorted(counts)
    assert counts[0] < 60
    assert counts[-1] == 200, "each key once"
    store.close()


def test_of_several_processes_exactly_one_wins_each_key(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    tests = str(Path(__file__).parents[2])
    running = [
        subprocess.Popen(
            [sys.executable, "-c", _CLAIM, tests, str(tmp_path), str(n)], stdout=subprocess.PIPE
        )
        for n in range(4)
    ]
    won: list[int] = []
    for process in running:
        out, _ = process.communicate(timeout=100)
        assert process.returncode == 0
        won += map(int, out.split())
    assert sorted(won) == list(range(400))


def test_of_several_threads_exactly_one_wins_each_key(tmp_path: Path) -> None:
    won: list[int] = []

    def claim(seed: int) -> None:
        store = open_store(tmp_path)
        numbers = random.Random(seed).sample(range(200), 200)
        won.extend(n for n in numbers if admit(store, [f"http://a.example/{n}"])[0].new)
        store.close()

    open_store(tmp_path).close()
    threads = [threading.Thread(target=claim, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(won) == list(range(200))


def test_the_cache_of_recent_keys_is_bounded_and_never_wrong() -> None:
    recent = Recent(size=10)
    for n in range(0, 1000, 3):
        recent.update({(n + m).to_bytes(16, "big"): n + m for m in range(3)})
        young, old = recent.generations
        assert young[(n + 2).to_bytes(16, "big")] == n + 2
        assert len(young) <= 10
        assert len(old) <= 10
        assert all(key == url_id.to_bytes(16, "big") for key, url_id in {**young, **old}.items())
    assert len({**young, **old}) >= 10


def test_the_rules_that_merged_a_link_are_counted_once_for_each_link(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/x?utm_source=1"])
    admit(store, ["http://a.example/x", "HTTP://a.example/x", "http://a.example/x"])
    with store.transaction() as connection:
        found = connection.exec_driver_sql("SELECT rules, count, raw_url, same_as FROM merges")
        merged = {row[0]: tuple(row[1:]) for row in found}
    store.close()
    first = "http://a.example/x?utm_source=1"
    assert merged == {
        "tracking": (2, "http://a.example/x", first),
        "scheme-case + tracking": (1, "HTTP://a.example/x", first),
    }
