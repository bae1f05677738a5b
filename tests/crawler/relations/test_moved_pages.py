"""Where pages went: what is mapped, what is not, and what servers are told."""

import random
import re
from collections.abc import Iterable
from itertools import pairwise

import pytest
from support.made_pages import WORDS

from canonry.crawler.relations.compared_pages import ComparedPage
from canonry.crawler.relations.moved_pages import MovedPages, moved_pages
from canonry.crawler.relations.redirect_files import redirect_file

Made = tuple[str, str, int]  # path, title, size
BEFORE, AFTER = 100.0, 200.0
NAMES = [f"{first}-{second}" for first, second in pairwise(WORDS)][:40]


def stored(pages: Iterable[Made], first: int, found_at: float) -> list[ComparedPage]:
    """Return pages as a store has them."""
    return [
        ComparedPage(
            n, f"https://h.example/{path}", title, n.to_bytes(16), size, None, BEFORE, found_at
        )
        for n, (path, title, size) in enumerate(pages, first)
    ]


def site(
    where: str, names: Iterable[str] = NAMES, end: str = ".html", name: str = "Old"
) -> list[Made]:
    """Return pages with titles and sizes of their own."""
    sizes = {one: random.Random(one).randint(2_000, 90_000) for one in names}
    return [
        (f"{where}{n}{end}", f"{n.replace('-', ' ')} | {name}", size) for n, size in sizes.items()
    ]


def moves(
    went: Iterable[Made], new: Iterable[Made], stayed: Iterable[Made] = ()
) -> tuple[dict[str, str], MovedPages]:
    """Return the map by paths, and all that was found."""
    living = [*stored(stayed, 1_000, 0.0), *stored(new, 2_000, AFTER)]
    found = moved_pages(stored(went, 1, 0.0), living)
    return {one.page.path: one.to.path for one in found.moved}, found


def test_a_directory_that_was_renamed() -> None:
    went, new = site("doc/"), site("docs/", name="New")
    went[3] = (went[3][0], "", 5_000)  # a page without a title
    new[3] = (new[3][0], "", 6_000)
    mapped, found = moves(went, new, stayed=[("", "Home", 900)])
    assert mapped == {old[0]: to[0] for old, to in zip(went, new, strict=True)}
    assert {str(one.pattern) for one in found.moved} == {"h.example/doc/* -> h.example/docs/*"}
    assert found.gone == []


def test_another_end_of_names_and_what_was_dropped() -> None:
    went = site("", end=".php")
    mapped, found = moves([*went, ("drop.php", "It is no more | Old", 7_000)], site("a/", end="/"))
    assert mapped == {f"{name}.php": f"a/{name}/" for name in NAMES}
    assert [page.path for page in found.gone] == ["drop.php"]
    assert {str(one.pattern) for one in found.moved} == {"h.example/*.php -> h.example/a/*/"}


def test_no_pattern_catches_what_lives() -> None:
    stayed = site("doc/", ["living-page"])
    mapped, found = moves(site("doc/"), site("docs/"), stayed)
    assert len(mapped) == len(NAMES)
    assert {one.pattern for one in found.moved} == {None}
    mapped, found = moves(site("docs/"), site("docs/v2/"))  # it would go round in circles
    assert len(mapped) == len(NAMES)
    assert {one.pattern for one in found.moved} == {None}


def test_what_is_not_mapped() -> None:
    went = site("doc/")
    shuffled = [*NAMES[1:], NAMES[0]]
    others = [
        (f"docs/{n}.html", f"{b[::-1]} | Old", 9_000) for n, b in zip(NAMES, shuffled, strict=True)
    ]
    assert moves(went, others)[0] == {}  # other titles
    assert moves(went, [(url, "Shop", size) for url, _title, size in site("docs/")])[0] == {}
    assert moves(went, [(u, title, 9 * size) for u, title, size in site("docs/")])[0] == {}
    assert moves(went, [], stayed=site("docs/"))[0] == {}  # not new
    copies = [*site("docs/"), *site("print/")]
    assert moves(went, copies)[0] == {}  # two have each title


def test_a_word_and_a_number_are_no_title_of_one_page() -> None:
    """As in the manual of PostgreSQL: the chapters of the next release have other numbers."""
    went = [("catalogs-overview.html", "53.1. Overview", 9_000), *site("doc/")]
    new = [("protocol-overview.html", "53.1. Overview", 9_100), *site("docs/")]
    assert "catalogs-overview.html" not in moves(went, new)[0]


def test_a_title_that_stayed_shows_no_move() -> None:
    stayed = [("kept.html", f"{NAMES[0].replace('-', ' ')} | Old", 20_000)]
    mapped, _found = moves(site("doc/", NAMES[:1]), site("docs/", NAMES[:1]), stayed)
    assert mapped == {}


def test_single_files_of_servers() -> None:
    went = [*site("doc/"), ("a b.html?id=$1", "ten words of its own | Old", 4_000)]
    new = [*site("docs/"), ("new/$5.html", "ten words of its own | Old", 4_100)]
    _mapped, found = moves(went, new)
    nginx = redirect_file("nginx", found.moved)
    assert (nginx.patterns, nginx.lines, list(nginx.unsaid)) == (1, 0, [found.moved[-1]])
    rules = re.findall(r'"~(\^.*)" "(.*)";', nginx.text)
    assert re.match(rules[0][0].replace("?<", "?P<"), "/doc/x/y.html?z")["stays"] == "x/y.html?z"  # type: ignore[index]
    assert rules[0][1] == "/docs/$stays"
    apache = redirect_file("apache", found.moved)
    assert 'RewriteRule "^/?doc/(.+)$" "/docs/$1" [R=301,L]' in apache.text
    netlify = redirect_file("netlify", found.moved)
    assert netlify.text.splitlines() == ["# h.example", "/doc/* /docs/:splat 301"]
    # A query and a dollar sign.
    _mapped, found = moves(
        [("a.html?id=7", "ten words of its own | Old", 4_000)],
        [("new/$5.html", "ten words of its own | Old", 4_100)],
    )
    assert '"~^/a\\.html\\?id=7$" "/new/%245.html";' in redirect_file("nginx", found.moved).text
    said = redirect_file("apache", found.moved).text
    assert 'RewriteCond "%{QUERY_STRING}" "^id=7$"\nRewriteRule "^/?a\\.html$"' in said
    assert len(redirect_file("netlify", found.moved).unsaid) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_directory_that_moved_to_another_host_is_asked_by_that_hosts_scheme(scheme: str) -> None:
    _mapped, found = moves(site("doc/"), site("docs/"))
    elsewhere = [
        one._replace(
            to=one.to._replace(url=one.to.url.replace("https://", f"{scheme}://new.")),
            pattern=one.pattern and one.pattern._replace(new=f"new.{one.pattern.new}"),
        )
        for one in found.moved
    ]
    assert f'"{scheme}://new.h.example/docs/$stays"' in redirect_file("nginx", elsewhere).text
