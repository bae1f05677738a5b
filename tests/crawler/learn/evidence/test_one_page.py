"""Tests of rules about one page with many names: forms to log in that say where to return to."""

import random

import pytest
from support.repeated_pages import decided

from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.memory.archive import NoArchive
from canonry.crawler.learn.news import Answered, Moved

H = "http://h.example"
SAID = "parameter-of-page"
News = Answered | Moved
_WORDS = [
    "some",
    "words",
    "that",
    "a",
    "page",
    "may",
    "have",
    "in",
    "its",
    "own",
    "text",
    "and",
    "others",
    "may",
    "not",
]
_FORM = "Please log in with the name and the password that you chose when you joined this site."


class _Linked(NoArchive):
    """Knows that ``/login?next=/p1`` is linked on ``/p1``."""

    def linked_on(self, url: str) -> str | None:
        return H + url.partition("next=")[2].partition("&")[0]


class _LinkedAtHome(NoArchive):
    """Knows that all links are on the home page."""

    def linked_on(self, url: str) -> str | None:
        del url
        return f"{H}/"


def learned(
    news: list[News], archive: type[NoArchive] = _Linked
) -> dict[str, tuple[str, int, int]]:
    """Return the state and evidence of the rules about one page, by that page."""
    one = decided(news, archive())
    rules = [rule for rule in one.rules("h.example") if rule.rewrite.family == SAID]
    return {rule.rewrite.new: (rule.state, rule.agree, rule.disagree) for rule in rules}


def forms(count: int, path: str = "/login", body: bytes = b"log in") -> list[News]:
    """Return answers for a form, one for each page of a site."""
    return [Answered(f"{H}{path}?next=/p{n}", body, float(n)) for n in range(count)]


def test_one_page_with_many_names_is_learned() -> None:
    state, agree, disagree = learned(forms(70))["/login"]
    assert (state, disagree) == ("active", 0)
    assert agree == 69, "all names but the one that they are compared with"
    assert learned(forms(40))["/login"][0] == "probation"


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_answers_does_not_matter(seed: int) -> None:
    news = [*forms(60), *forms(60, "/join", b"join"), Answered(f"{H}/login", b"log in", 7.0)]
    random.Random(seed).shuffle(news)
    found = learned(news)
    assert found == {"/login": ("active", 60, 0), "/join": ("active", 59, 0)}


def test_links_of_another_kind_are_no_question() -> None:
    assert learned(forms(70), _LinkedAtHome) == {}


def test_a_page_with_the_parameter_that_is_another_page_contradicts() -> None:
    news = forms(70)
    news[60] = Answered(f"{H}/login?next=/p60", b"the second step", 60.0)
    assert learned(news)["/login"][0] != "active"
    late = [*forms(70), Answered(f"{H}/login?next=/p99", b"the second step", 99.0)]
    assert learned(late)["/login"][0] == "suspended"
    later = [*late, Answered(f"{H}/login?next=/p98", b"the third step", 100.0), *forms(72)[70:]]
    assert learned(later)["/login"][0] == "revoked", "both were asked twice, and are as before"


def test_pages_to_print_stay_apart() -> None:
    news: list[News] = [
        Answered(f"{H}/print?next=/p{n}", b"page %d" % n, float(n)) for n in range(70)
    ]
    assert learned(news) == {}


def test_what_is_learned_of_one_page_says_nothing_of_another() -> None:
    other: list[News] = [
        Answered(f"{H}/edit?next=/p{n}", b"edit %d" % n, float(n)) for n in range(20)
    ]
    found = learned([*forms(70), *other])
    assert found.keys() == {"/login"}
    assert found["/login"][0] == "active"


def test_canonical_links_speak_for_it_sooner() -> None:
    named: list[News] = [
        Moved(f"{H}/login?next=/p{n}", f"{H}/login", float(n), "canonical") for n in range(30)
    ]
    news = [one for pair in zip(forms(30), named, strict=True) for one in pair]
    assert learned(news)["/login"][:2] == ("active", 30)
    assert learned(forms(30))["/login"][:2] == ("probation", 29)


@pytest.mark.parametrize("keeps", [False, True])
def test_canonical_links_that_keep_the_parameter_speak_against_it(*, keeps: bool) -> None:
    """On a host whose links drop others, the site has chosen to keep this one."""
    news: list[News] = []
    for n in range(70):
        text = " ".join(
            random.Random(n).choices(["some", "words", "that", "a", "page", "may", "have"], k=60)
        )
        page = f"<title>page {n}</title><p>{text} number {n}</p>".encode()
        named = f"<title>log in</title><input value={n}><p>{_FORM}</p>".encode()
        news += [
            Answered(f"{H}/p{n}", page, float(n), sketch=encoded_sketch(page, "text/html")),
            Moved(f"{H}/p{n}?view=1", f"{H}/p{n}", float(n), "canonical"),
            Answered(
                f"{H}/login?next=/p{n}",
                named,
                float(n),
                sketch=encoded_sketch(named, "text/html"),
                names=f"{H}/login?next=/p{n}" if keeps else None,
            ),
        ]
    found = learned(news)
    assert (found.get("/login", ("", 0, 0))[0] == "active") is not keeps
