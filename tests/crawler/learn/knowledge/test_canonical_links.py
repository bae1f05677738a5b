"""Tests of canonical links: when they are confirmed, and when they are meant."""

import pytest

from canonry.crawler.learn.knowledge.canonical_links import CanonicalLinks

H = "http://h.example"


def add(links: CanonicalLinks, source: str, target: str) -> bool:
    """Add a link that is confirmed; return True if the links are meant."""
    links.note(source, target)
    links.confirm(target)
    return links.are_meant


def test_all_links_to_one_url_are_confirmed_with_the_first() -> None:
    links = CanonicalLinks()
    for n in (1, 2, 1):
        links.note(f"{H}/p?a={n}", f"{H}/p")
    links.note(f"{H}/q?a=1", f"{H}/q")
    assert not links.targets
    assert links.confirm(f"{H}/p") == [f"{H}/p?a=1", f"{H}/p?a=2"]
    links.note(f"{H}/p?a=3", f"{H}/p")
    assert links.targets == {f"{H}/p?a={n}": f"{H}/p" for n in (1, 2, 3)}
    assert links.confirm(f"{H}/p") == []


def test_links_that_wait_are_forgotten_with_their_pages() -> None:
    links = CanonicalLinks()
    for n in (1, 2):
        links.note(f"{H}/p?a={n}", f"{H}/p")
    assert links.only({f"{H}/p?a=2"}).confirm(f"{H}/p") == [f"{H}/p?a=2"]


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
    are_meant = [add(links, H + source.format(n), H + target.format(n)) for n in range(4)]
    assert are_meant == [False, False, meant, meant]


def test_one_page_counts_once_and_what_is_forgotten_stays_meant() -> None:
    links = CanonicalLinks()
    assert not any(add(links, f"{H}/p?a=1", f"{H}/p") for _ in range(9))
    for n in range(2):
        add(links, f"{H}/{n}?a=1", f"{H}/{n}")
    less = links.only({f"{H}/p?a=1"})
    assert less.are_meant
    assert less.targets == {f"{H}/p?a=1": f"{H}/p"}
