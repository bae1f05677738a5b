"""Which rules are tested by a sample, and how."""

import pytest

from canonry.canon.learned import Rewrite
from canonry.crawler.learn.questions.to_sample import to_sample
from canonry.storage.learned.tracked_rule import TrackedRule


@pytest.mark.parametrize(
    ("family", "old", "names"),
    [
        ("parameter-irrelevant", "a", 1),
        ("parameter-group", "a&b&c", 1),
        ("parameter-mix", "a&b&c", 3),
    ],
)
def test_a_mix_has_a_sample_for_its_names(family: str, old: str, names: int) -> None:
    """All parameters of a group are always together, so what is asked tests them all."""
    found = to_sample(TrackedRule(Rewrite("h.example", family, old=old, beside=("id",))), None)
    assert found is not None
    assert found.names == names
    assert found.is_by_asking == (names > 1)
