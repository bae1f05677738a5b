"""Learning on a simulated web: merges are right, and nothing is learned from adversaries."""

import random

import pytest
from support import simweb

_ADVERSARIES = [host.kind for host in simweb.adversaries(0, random.Random(0))]


@pytest.mark.parametrize("place", range(len(_ADVERSARIES)), ids=_ADVERSARIES)
def test_nothing_is_learned_from_adversaries(place: int) -> None:
    for seed in range(2):
        host = list(simweb.adversaries(seed, random.Random(seed)))[place]
        found = simweb.crawl([host])
        assert found.active.total() == 0
        assert found.merged == 0
        assert found.lost == []


@pytest.mark.slow
def test_merges_are_right_and_most_duplicates_are_merged() -> None:
    """docs/learning.md has the figures of many seeds; these bounds only catch a regression."""
    merged = wrong = avoided = repeated = 0
    for seed in range(2):
        found = simweb.crawl(simweb.web(seed, 16))
        assert found.lost == []
        merged += found.merged
        wrong += sum(kind != "turning" for kind, _url, _one in found.wrong)
        avoided += found.avoided
        repeated += found.repeated
    assert merged > 10_000
    assert wrong / merged < 0.004
    assert avoided / (avoided + repeated) > 0.75


def test_a_host_that_changes_is_detected() -> None:
    """Until then its rules hold the wrong URLs: some twenty each, as one in twenty is verified."""
    found = simweb.crawl([simweb.honest(n, random.Random(n), turns_at=900.0) for n in range(6)])
    assert found.merged > 1000
    assert len(found.wrong) < 6 * 100


def test_the_simulated_web_detects_a_wrong_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure itself works: it detects a learner that takes everything for proof."""
    monkeypatch.setattr("canonry.crawler.learn.learner.next_state", lambda *_given: "active")
    found = simweb.crawl(list(simweb.adversaries(0, random.Random(0))))
    assert found.active.total() >= 3
    assert len(found.wrong) > 100
