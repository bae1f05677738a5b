"""Tests of the order of keys: it is that of their bytes, however many there are."""

import random

import pytest

from canonry.storage.seen import key_order
from canonry.storage.seen.key_order import places_in_order


@pytest.mark.parametrize("loads_numpy", [False, True])
@pytest.mark.parametrize("distinct_halves", [1, 3, 256])
def test_places_are_in_the_order_of_the_bytes(
    monkeypatch: pytest.MonkeyPatch, loads_numpy: bool, distinct_halves: int
) -> None:
    """Keys whose first halves are equal are told apart by the second ones."""
    monkeypatch.setattr(key_order, "loads_numpy", lambda _number: loads_numpy)
    rng = random.Random(7)
    halves = [rng.randbytes(8) for _ in range(distinct_halves)]
    keys = list({rng.choice(halves) + rng.randbytes(8) for _ in range(2_000)})
    assert [keys[place] for place in places_in_order(keys)] == sorted(keys)


@pytest.mark.parametrize("loads_numpy", [False, True])
def test_there_may_be_none(monkeypatch: pytest.MonkeyPatch, loads_numpy: bool) -> None:
    """Nothing has no places."""
    monkeypatch.setattr(key_order, "loads_numpy", lambda _number: loads_numpy)
    assert places_in_order([]) == []
