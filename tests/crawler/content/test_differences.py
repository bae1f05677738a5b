"""How much pages differ in all, and whether that is chance."""

from collections import Counter
from math import comb, exp, factorial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.crawler.content.differences import (
    Difference,
    Differences,
    chance_of_so_few,
    chance_of_so_many,
    spread_of,
)

found = st.builds(
    Difference,
    st.integers(0, 20),
    st.sampled_from([0, 1000, 2**24 - 1]),
    st.integers(0, 2**32 - 1),
)


@given(st.lists(st.tuples(st.sampled_from("abcd"), found), max_size=12))
@settings(max_examples=tries(0.2))
def test_each_page_counts_once_as_it_was_compared_last(given: list[tuple[str, Difference]]) -> None:
    sums = Differences()
    for url, one in given:
        sums.set(url, one)
    last = [one for one in dict(given).values() if one.watched]
    assert (sums.pages, sums.shingles, sums.watched) == (
        len(last),
        sum(one.shingles for one in last),
        sum(one.watched for one in last),
    )
    bits = Counter(at for one in last for at in range(32) if one.numbers >> at & 1)
    assert +sums.numbers == bits


def test_a_lady_tells_whether_milk_was_poured_first() -> None:
    """All four cups of eight: one way of seventy (Fisher 1935)."""
    assert chance_of_so_many(4, 4, 0, 4) == pytest.approx(1 / 70)


@given(st.integers(1, 40), st.integers(1, 40), st.data())
@settings(max_examples=tries(0.5))
def test_the_chance_of_so_many_is_that_of_drawing_them(
    these: int, those: int, data: st.DataObject
) -> None:
    here, there = data.draw(st.integers(0, these)), data.draw(st.integers(0, those))
    both = here + there
    drawn = sum(
        comb(both, n) * comb(these + those - both, these - n)
        for n in range(here, min(these, both) + 1)
    ) / comb(these + those, these)
    chance = chance_of_so_many(here, these, there, those)
    assert chance == pytest.approx(drawn) or (chance == 1.0 and drawn > 0.01)


@pytest.mark.parametrize(("most", "mean"), [(0, 0.5), (3, 2.0), (40, 60.0)])
def test_the_chance_of_so_few_is_poissons(most: int, mean: float) -> None:
    terms = (mean**n * exp(-mean) / factorial(n) for n in range(most + 1))
    assert chance_of_so_few(most, mean) == pytest.approx(sum(terms))


def poisson(rng: Random, mean: float) -> int:
    """Return how many events fall into a time, of which so many are expected."""
    at, number = rng.expovariate(1), 0
    while at < mean:
        at, number = at + rng.expovariate(1), number + 1
    return number


def test_what_comes_in_groups_varies_more() -> None:
    rng = Random(1)
    times = [rng.randrange(1, 30) for _ in range(400)]
    single = [(poisson(rng, time), time) for time in times]
    assert spread_of(single) == pytest.approx(1, abs=0.2)
    grouped = [(5 * count, time) for count, time in single]
    assert spread_of(grouped) == pytest.approx(5, rel=0.2)
    assert spread_of(grouped[:3]) == spread_of([]) == spread_of([(0, 7)] * 9) == 1
