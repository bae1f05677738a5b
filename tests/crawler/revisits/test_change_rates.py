"""Rates of change: what visits say of a page, and when it is due again."""

import random
from itertools import pairwise
from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.revisits.change_rates import (
    RATES,
    HostHistory,
    IntervalLimits,
    PageHistory,
    interval,
    is_too_fast,
    shares_of,
)

HOUR, DAY = 3_600.0, 86_400.0
LIMITS = IntervalLimits(least=DAY, first=7 * DAY, most=90 * DAY)
EVEN = [1 / len(RATES)] * len(RATES)


def watched(gap: float, limits: IntervalLimits = LIMITS, visits: int = 60) -> float:
    """Return the last interval of a page that changes at random, so many seconds apart."""
    rng = random.Random(3)
    history, wait = PageHistory(), limits.first
    for _ in range(visits):
        changed = rng.random() < 1 - exp(-wait / gap)
        history = history.after(wait, changed=changed)
        wait = interval(shares_of(history, EVEN), limits)
    return wait


def test_a_page_that_never_changes_waits_longer_and_longer() -> None:
    host, history, waits = HostHistory(), PageHistory(), []
    for _ in range(200):
        wait = waits[-1] if waits else LIMITS.first
        history = history.after(wait, changed=False)
        shares = shares_of(history, host.shares(LIMITS))
        host = host.after(wait, shares)
        waits.append(interval(shares, LIMITS))
    assert all(later > 0.98 * sooner for sooner, later in pairwise(waits))
    assert waits[2] < LIMITS.most / 4 < LIMITS.most * 0.9 < waits[-1]


def test_pages_that_change_more_are_asked_more_until_they_are_too_fast() -> None:
    year, month, week, day = (watched(days * DAY) for days in (365, 30, 7, 1))
    assert year > month > week > day >= LIMITS.least
    # The square root, nearly: the optimum is between one interval for all and one for each rate.
    assert 2 < month / day < 10
    assert LIMITS.least <= watched(600.0) <= 2 * LIMITS.least


def test_a_page_that_changes_every_hour_is_followed_where_that_is_wanted() -> None:
    assert watched(HOUR, IntervalLimits(HOUR, DAY, 90 * DAY)) == pytest.approx(HOUR, rel=0.5)
    history = PageHistory(30.0, 30.0, 30 * DAY, 0.0)
    shares = shares_of(history, EVEN)
    assert is_too_fast(shares, LIMITS)
    assert interval(shares, LIMITS, is_followed=True) == LIMITS.least
    assert interval(shares, LIMITS) == pytest.approx(2 * LIMITS.least, rel=0.02)


def test_regular_visits_give_the_estimate_of_the_paper() -> None:
    """Cho and Garcia-Molina, section 4: -log((n - X + 0.5) / (n + 0.5)) / interval."""
    history = PageHistory()
    for n in range(30):
        history = history.after(DAY, changed=n % 3 == 0)
    shares = shares_of(history, EVEN)
    mean = sum(share * rate for share, rate in zip(shares, RATES, strict=True)) * DAY
    assert mean == pytest.approx(0.40, rel=0.5)  # rates are a factor of three apart


def test_a_new_page_is_like_the_others_of_its_host() -> None:
    host = HostHistory()
    assert not host.is_known(LIMITS)
    soon = shares_of(PageHistory().after(60.0, changed=False), host.shares(LIMITS))
    assert not host.after(60.0, soon).is_known(LIMITS), "a seed that was read again at once"
    still = interval(host.shares(LIMITS), LIMITS)
    for _ in range(20):
        shares = shares_of(PageHistory().after(7 * DAY, changed=True), host.shares(LIMITS))
        host = host.after(7 * DAY, shares)
    busy = interval(host.shares(LIMITS), LIMITS, is_followed=True)
    assert host.is_known(LIMITS)
    assert busy < still / 2


def test_old_visits_count_less() -> None:
    history = PageHistory()
    for _ in range(200):
        history = history.after(DAY, changed=True)
    assert history.visits < 40
    for _ in range(100):
        history = history.after(DAY, changed=False)
    assert history.changes < history.visits / 10


@given(
    st.lists(st.tuples(st.floats(0, 1e9), st.booleans()), max_size=80),
    st.lists(st.floats(0, 1e12), min_size=len(RATES), max_size=len(RATES)),
    st.floats(1, 1e7),
    st.floats(1, 100),
)
def test_an_interval_is_always_within_its_limits(
    visits: list[tuple[float, bool]], seen: list[float], least: float, factor: float
) -> None:
    limits = IntervalLimits(least, least * factor, least * factor**2)
    history = PageHistory()
    for seconds, changed in visits:
        history = history.after(seconds, changed=changed)
    shares = shares_of(history, HostHistory(tuple(seen)).shares(limits))
    assert sum(shares) == pytest.approx(1.0)
    assert limits.least <= interval(shares, limits) <= limits.most * 1.0001
