"""The order of releases by the names of their directories."""

import random

import pytest

from canonry.crawler.relations.version_order import place_of, preferred, says_release

IN_ORDER = [
    "0.9",
    "v1.9",
    "1.10a1",
    "1.10rc2",
    "1.10",
    "1.10.1",
    "2.0",
    "stable",
    "latest",
    "current",
    "main",
]


def test_names_have_an_order() -> None:
    mixed = random.Random(1).sample(IN_ORDER, len(IN_ORDER))
    assert sorted(mixed, key=lambda name: place_of(name, mixed)) == IN_ORDER


def test_a_number_beside_longer_ones_is_the_last_of_them() -> None:
    assert preferred(["3", "3.9", "3.11", "2.7"], "newest") == "3"
    assert preferred(["3", "2", "4"], "newest") == "4"


@pytest.mark.parametrize(
    ("names", "newest", "oldest", "stable"),
    [
        (["1.9", "1.10", "main"], "main", "1.9", "1.10"),
        (["1.9", "2.0rc1"], "2.0rc1", "1.9", "1.9"),
        (["1.9", "stable", "dev"], "dev", "1.9", "stable"),
        (["1.9", ""], "", "1.9", ""),
        (["dev"], "dev", "dev", "dev"),
    ],
)
def test_one_is_preferred(names: list[str], newest: str, oldest: str, stable: str) -> None:
    assert preferred(names, "newest") == newest
    assert preferred(names, "oldest") == oldest
    assert preferred(names, "stable") == stable
    assert preferred(names, "stable", "1.9") == "1.9"


def test_names_of_releases() -> None:
    assert all(map(says_release, IN_ORDER))
    assert not any(map(says_release, ["2023", "1999", "blog", "www"]))
