"""Tests of what is known of a site: which equal bodies are evidence."""

import random

import pytest

from canonry.canon.syntax import Parts
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
