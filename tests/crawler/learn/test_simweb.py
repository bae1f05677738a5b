"""Learning on a web whose truth is known: merges are right, and adversaries teach nothing."""

import random

import pytest
from support import simweb

_ADVERSARIES = [host.kind for host in simweb.adversaries(0, random.Random(0))]


@pytest.mark.parametrize("place", range(len(_ADVERSARIES)), ids=_ADVERSARIES)
def test_adversaries_teach_nothing(place: int) -> None:
    for seed in range(2):
        host = list(simweb.adversaries(seed, random.Random(seed)))[place]
        found = simweb.crawl([host])
        assert found.active.total() == 0
        assert found.merged == 0
        assert found.lost == []


def test_what_is_merged_is_equal_and_most_of_what_could_be_is() -> None:
    """The figures of many seeds stand in docs/learning.md; these bounds tell when it breaks."""
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


def test_a_host_that_changes_is_found_out() -> None:
    """Until then what its rules drop is wrong: of a share of one in twenty, some twenty a rule."""
    found = simweb.crawl([simweb.honest(n, random.Random(n), turns_at=900.0) for n in range(6)])
    assert found.merged > 1000
    assert len(found.wrong) < 6 * 100


def test_a_web_sees_a_learner_that_is_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """The measure itself can fail: a learner that takes everything for proof is found out."""
    monkeypatch.setattr("canonry.crawler.learn.learner.next_state", lambda *_given: "active")
    found = simweb.crawl(list(simweb.adversaries(0, random.Random(0))))
    assert found.active.total() >= 3
    assert len(found.wrong) > 100
