"""Tests of return links: which parameters name the page that a link stands on."""

import pytest

from canonry.canon.learned import Rewrite
from canonry.canon.syntax import Parts
from canonry.crawler.learn.knowledge.return_links import ReturnLinks

H = "http://h.example"


def found(links: list[tuple[str, str]]) -> set[Rewrite]:
    """Return the rules that links with their pages are a reason to look at."""
    known, rules = ReturnLinks(), set[Rewrite]()
    for url, source in links:
        if opened := known.open(Parts.of(url)):
            rules.update(known.add(opened, Parts.of(source)))
    return rules


def of_page(old: str, new: str) -> set[Rewrite]:
    return {Rewrite("h.example", "parameter-of-page", old=old, new=new)}


@pytest.mark.parametrize(
    ("value", "source"),
    [
        ("/a/p{n}", "/a/p{n}"),
        ("%2Fa%2Fp{n}%3Fx=1", "/a/p{n}?x=1"),
        ("http%3A%2F%2Fh.example%2Fp{n}", "/p{n}"),
        ("p{n}", "/wiki/p{n}"),
        ("Page+{n}", "/w/index.php?title=Page_{n}"),
        ("node/{n}", "/node/{n}"),
        ("./view?t={n}", "/view?t={n}"),
        ("%C3%9C{n}", "/%C3%9C{n}"),
    ],
)
def test_a_value_names_the_linking_page(value: str, source: str) -> None:
    links = [(f"{H}/login?next={value.format(n=n)}", H + source.format(n=n)) for n in range(4)]
    assert found(links) == of_page("next", "/login")
    assert found(links[:3]) == set()
    elsewhere = [(url, f"{H}/other{n}") for n, (url, _source) in enumerate(links)]
    assert found(elsewhere) == set()


def test_the_other_fields_are_part_of_the_page() -> None:
    links = [
        (f"{H}/w?title={name}&returnto=p{n}", f"{H}/w/p{n}")
        for n in range(4)
        for name in ("Log_in", "Join")
    ]
    assert found(links) == {
        *of_page("returnto", "/w?title=Log_in"),
        *of_page("returnto", "/w?title=Join"),
    }


def test_a_parameter_that_never_names_the_page_is_not_looked_at_any_more() -> None:
    known = ReturnLinks()
    for n in range(32):
        list(known.add(known.open(Parts.of(f"{H}/p{n}?ref=x")), Parts.of(f"{H}/")))
    assert not known.open(Parts.of(f"{H}/p99?ref=x"))
    assert known.open(Parts.of(f"{H}/p99?next=x"))


@pytest.mark.parametrize("name", ["page", "id", "title", "of", "url", "topic", "q", ""])
def test_a_parameter_that_may_be_about_the_linking_page_is_no_question(name: str) -> None:
    """Such as /comments?page=/a, which is nearly always the same: nobody has commented."""
    assert not ReturnLinks().open(Parts.of(f"{H}/show?{name}=/a"))


@pytest.mark.parametrize("name", ["next", "returnto", "ReturnUrl", "back_url", "came_from", "ref"])
def test_a_parameter_about_a_way_back_is_a_question(name: str) -> None:
    assert ReturnLinks().open(Parts.of(f"{H}/show?{name}=/a"))


def test_of_a_page_few_names_are_looked_at() -> None:
    known = ReturnLinks()
    for n in range(8):
        assert known.open(Parts.of(f"{H}/view?ref={n}"))
        list(known.add(known.open(Parts.of(f"{H}/view?ref={n}")), Parts.of(f"{H}/list")))
    assert not known.open(Parts.of(f"{H}/view?ref=9"))


@pytest.mark.parametrize("url", ["/a", "/a?", "/a?next=1&next=2"])
def test_without_a_parameter_of_its_own_there_is_nothing_to_know(url: str) -> None:
    assert not ReturnLinks().open(Parts.of(H + url))
