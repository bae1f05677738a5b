"""Sections of a site: pages that lie in one first directory, and as deep in it."""

import pytest

from canonry.crawler.content.site_sections import section_of


@pytest.mark.parametrize(
    ("one", "other", "are_one"),
    [
        ("/goods/lamp-7/", "/goods/rake-8/", True),
        ("/goods/lamp-7/", "/goods/lamp-7", True),
        ("/goods/lamp-7/", "/goods/list/lamps/", False),
        ("/goods/lamp-7/", "/lists/lamps/", False),
        ("/a", "/b?c=/d/e", True),
        ("/", "/a", False),
        ("", "/", True),
        ("/view?id=7", "/list?name=x", True),
    ],
)
def test_pages_of_one_section(one: str, other: str, are_one: bool) -> None:
    sections = [section_of(f"https://h.example{path}") for path in (one, other)]
    assert (sections[0] == sections[1]) is are_one
