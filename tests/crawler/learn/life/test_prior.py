"""Priors: the Beta distribution as scipy has it, and what a fit finds."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.crawler.learn.life import prior
from canonry.crawler.learn.life.prior import Prior, fit, incomplete_beta, lower_quantile

DEFAULT = Prior.of(0.9, 4.0)
_SHAPES = st.floats(0.05, 2000.0)
_PRIORS = st.builds(Prior.of, st.floats(0.02, 0.99), st.floats(0.5, 40.0))
_CASES = st.lists(st.tuples(st.integers(0, 3000), st.integers(0, 300)), max_size=12)


def mean(prior: Prior) -> float:
    return prior.a / (prior.a + prior.b)


@pytest.mark.parametrize(
    ("a", "b", "x", "expected"),  # scipy.special.betainc 1.17
    [
        (0.5, 0.5, 0.3, 0.369010119566),
        (2, 3, 0.4, 0.5248),
        (30.6, 0.4, 0.95, 0.0573158921386),
        (9.7, 0.3, 0.8, 0.0196964336959),
        (1, 1, 0.25, 0.25),
        (200, 7, 0.98, 0.878555457698),
        (0.1, 40, 0.01, 0.927171196669),
        (3000, 2.5, 0.9995, 0.699754513983),
        (2, 3, 0.0, 0.0),
        (2, 3, 1.0, 1.0),
    ],
)
def test_the_incomplete_beta_function(a: float, b: float, x: float, expected: float) -> None:
    assert incomplete_beta(a, b, x) == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize(
    ("a", "b", "expected"),  # scipy.stats.beta.ppf(.025) 1.17
    [
        (1, 1, 0.025),
        (0.5, 0.5, 0.001541333133),
        (9.7, 0.3, 0.8162614614),
        (17.7, 0.3, 0.896289911),
        (28.6, 0.4, 0.924406853),
        (21.6, 0.4, 0.9008415282),
        (390, 4, 0.9778545833),
        (2, 20, 0.01174931788),
        (0.05, 3, 0.0),
        (1000, 0.02, 0.9998071677),
    ],
)
def test_the_lower_quantile(a: float, b: float, expected: float) -> None:
    assert lower_quantile(a, b) == pytest.approx(expected, rel=1e-6, abs=1e-9)


@given(_SHAPES, _SHAPES)
@settings(max_examples=tries(1))
def test_the_quantile_inverts_the_function(a: float, b: float) -> None:
    x = lower_quantile(a, b)
    assert 0.0 <= x < 1.0
    if x > 1e-6:
        assert incomplete_beta(a, b, x) == pytest.approx(0.025, abs=1e-5)


@given(_PRIORS, st.integers(0, 400), st.integers(0, 50))
@settings(max_examples=tries(1))
def test_more_agreement_never_lowers_the_bound(prior: Prior, agree: int, disagree: int) -> None:
    bound = prior.bound(agree, disagree)
    assert prior.bound(agree + 1, disagree) >= bound - 1e-7
    assert prior.bound(agree, disagree + 1) <= bound + 1e-7


@given(a=_SHAPES, b=_SHAPES)
@example(a=0.05, b=0.05)
@example(a=DEFAULT.a + 2000, b=DEFAULT.b)
def test_a_bound_takes_few_steps_and_is_kept(a: float, b: float) -> None:
    """Bisection alone would take 40 and more."""
    with pytest.MonkeyPatch.context() as patch:
        steps = []
        patch.setattr(
            prior, "incomplete_beta", lambda *at: steps.append(at) or incomplete_beta(*at)
        )
        lower_quantile.cache_clear()
        found = lower_quantile(a, b)
        assert 1 <= len(steps) <= 30
        assert lower_quantile(a, b) == found
        assert lower_quantile.cache_info().hits == 1


def test_without_cases_the_shipped_experience_stands() -> None:
    assert fit([], DEFAULT, 20) == DEFAULT
    assert fit([(0, 0)], DEFAULT, 20)[:2] == pytest.approx(DEFAULT[:2])


def test_cases_move_the_prior_and_their_number_matters() -> None:
    clean, failed = [(30, 0)] * 40, [(3, 27)] * 40
    assert mean(fit(clean, DEFAULT, 20)) > mean(DEFAULT)
    assert mean(fit(failed, DEFAULT, 20)) < mean(fit(failed[:5], DEFAULT, 20)) < mean(DEFAULT)
    assert mean(fit(failed, DEFAULT, 500)) > mean(fit(failed, DEFAULT, 20))
    assert fit(clean, DEFAULT, 20).hosts == 40


def test_a_family_that_often_fails_a_little_needs_more_clean_paths() -> None:
    """One that holds on most hosts and fails altogether on others needs fewer."""

    def needed(prior: Prior) -> int:
        return next(n for n in range(1000) if prior.bound(n, 0) >= 0.9)

    partly = fit([(24, 6)] * 50, DEFAULT, 20)
    altogether = fit([(30, 0)] * 40 + [(0, 30)] * 10, DEFAULT, 20)
    assert needed(altogether) < needed(DEFAULT) < needed(partly)


def test_a_fit_recovers_what_cases_were_drawn_from() -> None:
    rng = random.Random(7)
    cases = []
    for _ in range(1500):
        share = rng.betavariate(6.0, 1.5)
        agree = sum(rng.random() < share for _ in range(40))
        cases.append((agree, 40 - agree))
    found = fit(cases, Prior.of(0.5, 2.0), 5)
    assert mean(found) == pytest.approx(0.8, abs=0.02)
    assert found.a + found.b == pytest.approx(7.5, rel=0.15)


@given(_CASES, _PRIORS, st.floats(0.5, 100))
@settings(max_examples=tries(1) // 10, deadline=None)
def test_a_fit_is_bounded_and_does_not_depend_on_the_order(
    cases: list[tuple[int, int]], default: Prior, weight: float
) -> None:
    found = fit(cases, default, weight)
    assert 0.0199 < mean(found) < 0.9901
    assert 0.499 < found.a + found.b < 40.01
    assert fit(cases[::-1], default, weight)[:2] == pytest.approx(found[:2], rel=1e-6)


@pytest.mark.parametrize(
    ("case", "reduced"),
    [
        ((64, 0), (64, 0)),
        ((60, 4), (60, 4)),
        ((640, 0), (64, 0)),
        ((6400, 1), (63, 1)),  # one that disagrees is kept
        ((100, 100), (32, 32)),
        ((0, 1000), (0, 64)),
    ],
)
def test_many_paths_of_one_host_say_no_more_than_64(
    case: tuple[int, int], reduced: tuple[int, int]
) -> None:
    assert fit([case] * 3, DEFAULT, 20) == fit([reduced] * 3, DEFAULT, 20)
