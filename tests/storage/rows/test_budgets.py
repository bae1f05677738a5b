"""Budgets: how many URLs of a pattern are let in, counted exactly, whoever lets them in."""

from pathlib import Path

import pytest
from support.stores import assert_counts_are_right, candidate, open_store

from canonry.storage import State, Store, report
from canonry.storage.records import Share
from canonry.storage.rows import urls

_LIMITS = {"even": 3, "odd": 5}


def shares(url: str) -> list[Share]:
    """Return what a URL draws on: that of even or of odd numbers, and that of all."""
    kind = "even" if int(url.rpartition("/")[2]) % 2 == 0 else "odd"
    return [
        Share(kind.encode().ljust(16), kind, _LIMITS[kind], f"too-{kind}"),
        Share(b"all".ljust(16), "all", 7, "too-many"),
    ]


def let_in(store: Store, numbers: range) -> None:
    """Let numbered URLs through the door."""
    store.admit([candidate(f"http://a.example/{n}") for n in numbers], 0.0)


def states(store: Store) -> dict[str, str | None]:
    """Return why each URL is held."""
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        return {row["url"][17:]: row["reason"] for row in report.rows(connection, "urls")}


def test_a_pattern_is_held_when_its_budget_is_spent(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budget = shares
    let_in(store, range(4))
    let_in(store, range(12))  # those that are known draw on nothing
    assert states(store) == {
        **dict.fromkeys(["0", "1", "2", "3", "4", "5", "7"]),
        "6": "too-even",
        "8": "too-even",
        "10": "too-even",
        "9": "too-many",
        "11": "too-many",
    }
    store.close()


def test_several_who_let_in_share_a_budget(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    one.budget = other.budget = shares
    for n in range(12):
        let_in((one, other)[n % 3 == 0], range(n, n + 1))
    assert sum(reason is None for reason in states(one).values()) == 7
    one.close()
    other.close()


def test_what_is_held_for_other_reasons_draws_on_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budget = shares
    held = [candidate(f"http://a.example/{n}", held="out-of-scope") for n in range(100, 110)]
    store.admit(held, 0.0)
    let_in(store, range(3))
    found = states(store)
    assert [found[str(n)] for n in range(3)] == [None, None, None]
    store.close()


def test_a_step_that_is_rolled_back_spends_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budget = shares
    with pytest.raises(ZeroDivisionError), store.transaction() as connection:
        store.admit_in(connection, [candidate("http://a.example/0")], 0.0)
        raise ZeroDivisionError
    let_in(store, range(0, 6, 2))
    assert set(states(store).values()) == {None}
    store.close()


def test_a_larger_budget_lets_out_what_it_has_room_for(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.budget = shares
    let_in(store, range(0, 12, 2))
    with store.transaction() as connection:
        urls.review(connection, State.HELD, lambda url, _d, _h: None if url[-1] in "68" else "no")
    assert [n for n, reason in states(store).items() if reason is None] == ["0", "2", "4", "6", "8"]
    store.close()
