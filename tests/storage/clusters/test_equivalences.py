"""Equivalence classes of URLs, by what each led to."""

from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import candidate, open_store, visited

from canonry.storage import Hop, Page, State, Store
from canonry.storage.clusters.equivalences import Equivalences, held_with_needless_pages
from canonry.storage.learned import classes
from canonry.storage.reading import report
from canonry.storage.rows import pages
from canonry.storage.sql import transitions

pytestmark = pytest.mark.every_database

A = "http://a.example"


def page(status: int = 200, title: str | None = None, canonical: str | None = None) -> Page:
    return Page(status, 0.1, "text/html", 1, b"d" * 16, title, canonical, 0)


class Web:
    """A store that holds what a crawl saw; URLs by their paths."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.url_ids: dict[str, int] = {}
        self.now = 2.0

    def url_id(self, path: str) -> int:
        found = candidate(A + path)
        [answer] = self.store.admit([found], 1.0)
        return self.url_ids.setdefault(path, answer.url_id)

    def moved(self, path: str, to: str, status: int = 301, now: float = 2.0) -> None:
        hop = Hop("redirect", status, candidate(A + to))
        url_id = self.url_id(path)
        with self.store.transaction() as connection:
            outcome = visited(url_id, State.REDIRECTED, hops=(hop,))
            self.store.record_in(connection, [outcome], now, again=True)

    def page(self, path: str, answer: Page, canonical: str | None = None) -> None:
        hops = ()
        if canonical:
            hops = (Hop("canonical", 200, candidate(A + canonical)),)
            answer = answer._replace(canonical=A + canonical)
        answer = answer._replace(digest=path.encode()[:16].ljust(16))
        outcome = visited(self.url_id(path), State.FETCHED, page=answer, hops=hops)
        with self.store.transaction() as connection:
            self.store.record_in(connection, [outcome], self.now, again=True)

    def again(self, path: str, answer: Page, canonical: str | None = None) -> None:
        self.now += 1.0
        self.page(path, answer, canonical)

    def representatives(self, folder: Path) -> dict[str, str]:
        url_ids = {path: self.url_id(path) for path in list(self.url_ids)}
        self.store.close()
        with report.reading(url_of(folder)) as connection:
            known = Equivalences(connection)
            one_by_one = {path: known.representative(url_id) for path, url_id in url_ids.items()}
            known.prepare(url_ids.values())
            assert {
                path: known.representative(url_id) for path, url_id in url_ids.items()
            } == one_by_one
            fresh = Equivalences(connection)
            fresh.prepare(url_ids.values())
            assert {
                path: fresh.representative(url_id) for path, url_id in url_ids.items()
            } == one_by_one
            return {path: end.url.removeprefix(A) for path, end in one_by_one.items()}


@pytest.fixture
def web(tmp_path: Path) -> Web:
    return Web(open_store(tmp_path))


def test_a_permanent_chain_merges_into_its_end(web: Web, tmp_path: Path) -> None:
    web.moved("/1", "/2")
    web.moved("/2", "/3", 308)
    web.page("/3", page())
    assert web.representatives(tmp_path) == {"/1": "/3", "/2": "/3", "/3": "/3"}


def test_temporary_redirects_merge_nothing(web: Web, tmp_path: Path) -> None:
    web.moved("/1", "/3", 302)
    web.moved("/2", "/1")
    web.page("/3", page())
    assert web.representatives(tmp_path) == {"/1": "/1", "/2": "/2", "/3": "/3"}


def test_the_last_answer_counts(web: Web, tmp_path: Path) -> None:
    web.page("/old", page())
    web.page("/new", page())
    web.moved("/1", "/old", now=2.0)
    web.moved("/1", "/new", now=9.0)
    assert web.representatives(tmp_path)["/1"] == "/new"


@pytest.mark.parametrize("status", [404, 410])
def test_a_chain_that_ends_in_an_error_merges_nothing(
    web: Web, tmp_path: Path, status: int
) -> None:
    web.moved("/1", "/2")
    web.page("/2", page(status))
    assert web.representatives(tmp_path) == {"/1": "/1", "/2": "/2"}


def test_a_chain_whose_end_is_not_fetched_merges_nothing(web: Web, tmp_path: Path) -> None:
    web.moved("/1", "/2")
    assert web.representatives(tmp_path) == {"/1": "/1"}


def test_circles_merge_nothing(web: Web, tmp_path: Path) -> None:
    web.moved("/1", "/2")
    web.moved("/2", "/3")
    web.moved("/3", "/2")
    assert web.representatives(tmp_path) == {"/1": "/1", "/2": "/2", "/3": "/3"}


def test_a_canonical_link_merges_if_its_target_confirms_it(web: Web, tmp_path: Path) -> None:
    web.page("/ok", page())
    web.page("/self", page(canonical=f"{A}/self"))
    web.page("/away", page(canonical=f"{A}/ok"), "/ok")
    web.page("/gone", page(404))
    web.page("/title", page(title="One"))
    web.page("/to-ok", page(), "/ok")
    web.page("/to-self", page(), "/self")
    web.page("/to-away", page(), "/away")
    web.page("/to-gone", page(), "/gone")
    web.page("/same-title", page(title="One"), "/title")
    web.page("/other-title", page(title="Two"), "/title")
    found = web.representatives(tmp_path)
    assert {path: end for path, end in found.items() if path != end} == {
        "/away": "/ok",
        "/to-ok": "/ok",
        "/to-self": "/self",
        "/same-title": "/title",
    }


def test_a_sink_merges_only_urls_with_its_own_name(web: Web, tmp_path: Path) -> None:
    web.page("/", page())
    web.page("/shop/lamp", page())
    for n in range(12):
        web.moved(f"/gone/{n}", "/")
        web.moved(f"/v{n}/lamp", "/shop/lamp")
    found = web.representatives(tmp_path)
    assert {found[f"/gone/{n}"] for n in range(12)} == {f"/gone/{n}" for n in range(12)}
    assert {found[f"/v{n}/lamp"] for n in range(12)} == {"/shop/lamp"}


def test_a_page_that_all_name_as_canonical_is_a_sink(web: Web, tmp_path: Path) -> None:
    """A mistake of many sites; pages without a title do not refute it."""
    web.page("/", page())
    web.page("/shop/lamp", page())
    for n in range(12):
        web.page(f"/p/{n}", page(), "/")
        web.page(f"/v{n}/lamp", page(), "/shop/lamp")
    for n in range(9):  # of few names, any may be one of the page's own
        web.page(f"/few/{n}", page(), "/shop/lamp")
    web.moved("/old", "/")
    found = web.representatives(tmp_path)
    assert {found[f"/p/{n}"] for n in range(12)} == {f"/p/{n}" for n in range(12)}
    assert {found[f"/v{n}/lamp"] for n in range(12)} == {"/shop/lamp"}
    assert {found[f"/few/{n}"] for n in range(9)} == {"/shop/lamp"}
    assert found["/old"] == "/", "each kind of link has sinks of its own"


def test_a_link_is_the_one_that_the_page_has_now(web: Web, tmp_path: Path) -> None:
    """In one spelling or in another; a link that was dropped merges nothing."""
    web.page("/a", page())
    web.page("/respelled", page(), "/b/../a")
    web.again("/respelled", page(), "/a")
    web.page("/dropped", page(), "/a")
    web.again("/dropped", page())
    assert web.representatives(tmp_path) == {
        "/a": "/a",
        "/respelled": "/a",
        "/dropped": "/dropped",
    }


def test_many_names_of_the_page_itself_hide_no_sink(web: Web, tmp_path: Path) -> None:
    """However many there are: all of what leads there counts."""
    web.page("/shop/lamp", page())
    for n in range(250):
        web.moved(f"/v{n}/lamp", "/shop/lamp")
    for n in range(12):
        web.moved(f"/gone/{n}", "/shop/lamp")
    found = web.representatives(tmp_path)
    assert found["/v7/lamp"] == "/shop/lamp"
    assert {found[f"/gone/{n}"] for n in range(12)} == {f"/gone/{n}" for n in range(12)}


def test_a_chain_of_any_length_has_one_end(web: Web, tmp_path: Path) -> None:
    for n in range(40):
        web.moved(f"/{n}", f"/{n + 1}")
    web.page("/40", page())
    assert set(web.representatives(tmp_path).values()) == {"/40"}


def test_what_rules_hold_needs_no_page_while_it_is_a_name_of_another_one(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    web = Web(store)
    for path in ("/a", "/b", "/held-a", "/held-b"):
        web.page(path, page())
    web.moved("/moved", "/b")
    a, b, held_a, held_b, moved = web.url_ids.values()
    edges = [(held_a, a, f"{A}/a"), (held_b, moved, f"{A}/moved")]
    with store.transaction() as connection:
        transitions.move_ids(connection, [held_a, held_b], classes.HELD)
        classes.put_edges(connection, edges, 3.0)
        assert set(held_with_needless_pages(connection)) == {held_a, held_b}
        transitions.move_ids(connection, [b], (State.FAILED, "status"))
        assert set(held_with_needless_pages(connection)) == {held_a}, "it may be the last one"
        pages.remove(connection, [held_a])
        assert set(held_with_needless_pages(connection)) == set()
    store.close()
