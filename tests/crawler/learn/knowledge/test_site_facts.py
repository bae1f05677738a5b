"""Tests of what is known of a site: which equal bodies are evidence."""

import random

import pytest
from support.made_pages import WORDS

from canonry.canon.syntax import Parts
from canonry.crawler.content.sketch import Sketch, encoded_sketch
from canonry.crawler.learn.knowledge.site_facts import Fact, SiteFacts

H = "http://h.example"


def filed(urls: list[str], digest: bytes) -> bool:
    """Return True if a body that pages have in common is still evidence."""
    site = SiteFacts()
    for url in urls:
        site.add(Fact(url, 1.0, digest), Parts.of(url))
    return site.is_telling(digest)


@pytest.mark.parametrize(
    "form",
    ["/page;sid={}", "/page?sid={}", "/(S({}))/page", "/{}/page", "/{}/page/index.php;s=1"],
)
def test_one_page_under_many_names_is_no_boilerplate(form: str) -> None:
    rng = random.Random(7)
    sessions = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz012345", k=24)) for _ in range(9)]
    assert filed([H + form.format(session) for session in sessions], b"page")


@pytest.mark.parametrize("form", ["/docs/{}", "/docs/{};sid=1", "/docs/{}/index.html"])
def test_a_body_that_many_resources_have_is_boilerplate(form: str) -> None:
    assert filed([H + form.format(n) for n in range(3)], b"nothing here")
    assert not filed([H + form.format(n) for n in range(4)], b"nothing here")


@pytest.mark.parametrize(("walls", "same"), [(3, True), (8, None)])
def test_words_that_many_resources_have_say_nothing_whatever_token_each_answer_shows(
    walls: int, same: bool | None
) -> None:
    site, rng = SiteFacts(), random.Random(1)

    def add(url: str, text: str) -> Fact:
        body = f"<title>{text}</title><p>{text}</p><p>token {rng.random()}</p>".encode()
        fact = Fact(url, 1.0, str(rng.random()).encode(), encoded_sketch(body, "text/html"))
        site.add(fact, Parts.of(url))
        return fact

    for n in range(30):
        add(f"{H}/p{n}", " ".join(random.Random(n).choices(WORDS, k=60)))
    for n in range(10):  # a page that is asked twice has another token
        url = f"{H}/p{n}"
        first = site.facts[url].sketch
        again = add(f"{H}/again/{n}", " ".join(random.Random(n).choices(WORDS, k=60))).sketch
        assert first is not None
        assert again is not None
        site.text.twice(url, Sketch.decode(first), Sketch.decode(again))
    wall = " ".join(random.Random("wall").choices(WORDS, k=60))
    pages = [add(f"{H}/wall/{n}", wall) for n in range(walls)]
    assert site.is_same(pages[0], pages[1]) is same
    numbered = [add(f"{H}/photo/{n}", f"{wall} photo number {n}") for n in range(8)]
    variant = add(f"{H}/photo/0?ref=1", f"{wall} photo number 0")
    assert site.is_same(numbered[0], variant) is True, "only its number tells a photo from others"
