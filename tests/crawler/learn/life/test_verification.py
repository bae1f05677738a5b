"""Verification: which predictions are fetched all the same, and how many at most."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import tries

from canonry.canon.syntax import Parts
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.verification import (
    Sampler,
    first_directory,
    first_directory_in,
)

LIMITS = thresholds.load()
LIMIT = LIMITS.family["www"]
SITE = "h.example:8080"
H = f"http://{SITE}"


def sampler(requests: int = 0) -> Sampler:
    one = Sampler(LIMITS.verification)
    for _ in range(requests):
        one.fetched(SITE)
    return one


def asks(one: Sampler, name: str, since: float | None = 1.0, *, known: bool = True) -> bool:
    """Return whether a prediction is verified."""
    places = () if known else ((name.rpartition("/")[0], LIMIT.first),)
    return one.is_chosen("rule", f"{H}/{name}?s", SITE, since, LIMIT, lambda: places)


def test_early_predictions_are_verified_more_often() -> None:
    one = sampler(10_000)
    early = sum(asks(one, f"docs/{n}") for n in range(LIMITS.verification.early_for))
    later = sum(asks(one, f"docs/{n}") for n in range(1000, 6000))
    assert 2 <= early <= 14
    assert 0.015 < later / 5000 < 0.025


def test_as_many_predictions_are_early_as_the_settings_say() -> None:
    limits = msgspec.structs.replace(LIMITS.verification, early=1.0, early_for=7)
    one = Sampler(limits)
    never = msgspec.structs.replace(LIMIT, verified=0.0, first=0)
    urls = [f"{H}/docs/{n}" for n in range(9)]
    chosen = [one.is_chosen("rule", f"{u}?s", SITE, 1.0, never) for u in urls]
    assert chosen == [True] * 7 + [False] * 2


def test_new_parts_of_a_host_are_verified_first() -> None:
    one = sampler(10_000)
    assert all(asks(one, f"new/{n}", known=False) for n in range(LIMIT.first))
    before = sum(asks(one, f"new/{n}", known=False) for n in range(100, 600))
    assert before < 60, "only the first"
    one = sampler(10_000)
    assert not all(asks(one, f"old/{n}") for n in range(LIMIT.first)), "it has evidence there"


def test_a_host_with_many_names_for_a_page_is_not_asked_for_more() -> None:
    one = sampler(1000)
    chosen = sum(asks(one, f"docs/{n}") for n in range(100_000))
    assert chosen == LIMITS.verification.advance + 1000 * LIMITS.verification.share


def test_an_overdue_verification_may_take_a_few_more() -> None:
    one = sampler()
    late = LIMIT.verify_again + 1
    assert sum(asks(one, f"docs/{n}") for n in range(10_000)) == LIMITS.verification.advance
    chosen = [asks(one, f"more/{n}", late) for n in range(100)]
    assert sum(chosen) == LIMIT.first
    assert chosen[0]


def test_what_was_chosen_stays_chosen_and_costs_once() -> None:
    one = sampler(1000)
    first = {n for n in range(500) if asks(one, f"docs/{n}")}
    assert len(first) > 5
    assert all(asks(one, f"docs/{n}") for n in first for _ in range(100))


@given(
    st.lists(
        st.one_of(
            st.just(None),
            st.tuples(st.integers(0, 400), st.sampled_from([1.0, 1e9]), st.booleans()),
        ),
        max_size=400,
    )
)
@settings(max_examples=tries(1))
def test_verification_is_a_share_of_the_requests_of_a_host(
    steps: list[tuple[int, float, bool] | None],
) -> None:
    def run() -> tuple[list[int], int]:
        one, requests = sampler(), 0
        chosen: set[int] = set()
        for step in steps:
            if step is None:
                requests += 1
                one.fetched(SITE)
            elif asks(one, f"a/{step[0]}", step[1], known=step[2]):
                chosen.add(step[0])
            allowed = LIMITS.verification.advance + LIMIT.first
            allowed += LIMITS.verification.share * requests
            assert len(chosen) <= allowed + 1e-6
        return sorted(chosen), requests

    assert run() == run()


@given(st.lists(st.sampled_from(["/", "a", "?", "//", ";", "b.html", ":80", "@", "#"]), max_size=6))
@settings(max_examples=tries(1))
def test_the_first_directory_of_a_url_is_that_of_its_path(tokens: list[str]) -> None:
    url = f"{H}/{''.join(tokens)}"
    assert first_directory_in(url) == first_directory(Parts.of(url).path)
