"""The filter: "surely not" is never wrong, and "perhaps" no more often than allowed."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.storage.seen.bloom import KeyFilter


def keys(start: int, count: int) -> list[bytes]:
    """Return keys that are hashes, as the canonicalizer's are."""
    return [
        hashlib.blake2b(n.to_bytes(8, "big"), digest_size=16).digest()
        for n in range(start, start + count)
    ]


@given(st.lists(st.binary(min_size=16, max_size=16), max_size=60, unique=True))
def test_added_keys_are_always_found(added: list[bytes]) -> None:
    found = KeyFilter(first_capacity=8)
    found.add(added)
    assert all(found.perhaps(added))
    assert found.count == len(added)


def test_keys_of_only_zeros_or_only_ones_work() -> None:
    found = KeyFilter()
    found.add([bytes(16), b"\xff" * 16])
    assert all(found.perhaps([bytes(16), b"\xff" * 16]))
    assert not any(found.perhaps(keys(0, 1)))


@pytest.mark.parametrize("rate", [0.01, 0.001])
@pytest.mark.parametrize("growths", [0, 1, 3])
def test_the_error_rate_holds_after_every_growth(rate: float, growths: int) -> None:
    first = 20_000
    total = first * (2 ** (growths + 1) - 1)
    found = KeyFilter(rate, first)
    for start in range(0, total, 10_000):
        found.add(keys(start, min(10_000, total - start)))
    asked = 600_000
    wrong = sum(found.perhaps(keys(10_000_000, asked)))
    assert wrong / asked <= rate * 1.12
    assert found.count == total


def test_a_full_filter_is_small_and_has_the_error_rate() -> None:
    found = KeyFilter(0.01, 100_000)
    found.add(keys(0, 100_000))
    assert found.bits / found.count <= 12
    wrong = sum(found.perhaps(keys(10_000_000, 500_000))) / 500_000
    assert 0.009 <= wrong <= 0.011


def test_after_a_growth_a_key_takes_at_most_sixteen_bits() -> None:
    found = KeyFilter(0.01, 50_000)
    found.add(keys(0, 150_000))
    assert found.bits / found.count <= 16
    assert found.links == 2
