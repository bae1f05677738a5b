"""Tests of the order of keys: it is that of their bytes, however many there are."""

import random

import pytest

from canonry.storage.seen import key_rows
from canonry.storage.seen.key_rows import in_order

_ODD = [b"\0" * 16, b"\xff" * 16, b"\x01" + b"\0" * 15, b"\0" * 15 + b"\x01", b"a" * 8 + b"\0" * 8]


@pytest.mark.parametrize("loads_numpy", [False, True])
@pytest.mark.parametrize("distinct_halves", [1, 3, 256])
def test_keys_are_in_the_order_of_their_bytes(
    monkeypatch: pytest.MonkeyPatch, loads_numpy: bool, distinct_halves: int
) -> None:
    """Keys whose first halves are equal are told apart by the second ones."""
    monkeypatch.setattr(key_rows, "loads_numpy", lambda _number: loads_numpy)
    rng = random.Random(7)
    halves = [rng.randbytes(8) for _ in range(distinct_halves)]
    given = {rng.choice(halves) + rng.randbytes(8): rng.randrange(1 << 63) for _ in range(2_000)}
    given |= {key: n for n, key in enumerate(_ODD)}
    keys, numbers = in_order(given)
    assert keys == sorted(given)
    assert numbers == [given[key] for key in keys]
    assert {type(value) for value in keys} == {bytes}
    assert {type(value) for value in numbers} == {int}


@pytest.mark.parametrize("loads_numpy", [False, True])
def test_there_may_be_none(monkeypatch: pytest.MonkeyPatch, loads_numpy: bool) -> None:
    """No keys are in order."""
    monkeypatch.setattr(key_rows, "loads_numpy", lambda _number: loads_numpy)
    assert in_order({}) == ([], [])
