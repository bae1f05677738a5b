"""Tests of canonical links: when they are meant."""

import pytest

from canonry.crawler.learn.knowledge.canonical_links import CanonicalLinks

H = "http://h.example"


@pytest.mark.parametrize(
    ("source", "target", "meant"),
    [
        ("/p{}?reply=1", "/p{}", True),
        ("/p{}?a=1&b=2", "/p{}?b=2", True),
        ("/p{}?a=1", "/p{}?a=2", False),  # another page, by its parameter
        ("/p{}/", "/p{}", False),
        ("/p{}", "/p{}?a=1", False),
    ],
)
def test_links_that_drop_parameters_are_meant(source: str, target: str, *, meant: bool) -> None:
    links = CanonicalLinks()
    changes = [links.add(H + source.format(n), H + target.format(n)) for n in range(4)]
    assert changes == [False, False, meant, False]
    assert links.are_meant is meant


def test_one_page_counts_once_and_what_is_forgotten_stays_meant() -> None:
    links = CanonicalLinks()
    assert not any(links.add(f"{H}/p?a=1", f"{H}/p") for _ in range(9))
    for n in range(2):
        links.add(f"{H}/{n}?a=1", f"{H}/{n}")
    less = links.only({f"{H}/p?a=1"})
    assert less.are_meant
    assert less.targets == {f"{H}/p?a=1": f"{H}/p"}
