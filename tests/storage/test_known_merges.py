"""Merges for people who look: how much of each kind, and an example that is really merged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import MAKE, candidate, open_store, visited

from canonry.canon import LearnedRule
from canonry.crawler.learn.rules import rule_store
from canonry.storage import Hop, Page, State, Store
from canonry.storage.reading import known_merges, report

pytestmark = pytest.mark.every_database

H = "http://h.example"
_KINDS = ("redirect", "canonical", "rule", "content")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    made = open_store(tmp_path)
    made.admit([candidate(f"{H}/")], 1.0)
    yield made
    made.close()


def link(store: Store, *urls: str, now: float = 2.0) -> list[int]:
    """Admit URLs as links of the first page; return their ids."""
    given = [candidate(url)._replace(source=1, depth=1) for url in urls]
    return [answer.url_id for answer in store.admit(given, now)]


def page(
    store: Store, url: str, body: bytes = b"", hops: tuple[Hop, ...] = (), now: float = 5.0
) -> int:
    [url_id] = link(store, url)
    digest = (body or url.encode()[-16:]).ljust(16)
    answer = Page(200, 0.1, "text/html", 9, digest, None, hops[0].target.url if hops else None, 0)
    store.record([visited(url_id, State.FETCHED, page=answer, hops=hops)], now)
    return url_id


def moved(store: Store, url: str, to: str, status: int = 301, now: float = 5.0) -> int:
    [url_id] = link(store, url)
    hop = Hop("redirect", status, candidate(to)._replace(hops=1, source=url_id))
    store.record([visited(url_id, State.REDIRECTED, hops=(hop,))], now)
    return url_id


def test_an_example_of_redirects_is_the_latest_that_merges(tmp_path: Path, store: Store) -> None:
    page(store, f"{H}/end")
    moved(store, f"{H}/1", f"{H}/end", 301)
    moved(store, f"{H}/2", f"{H}/end", 302)
    moved(store, f"{H}/3", f"{H}/1", 308, now=9.0)
    moved(store, f"{H}/4", f"{H}/nowhere")
    with report.reading(url_of(tmp_path)) as connection:
        assert known_merges.example(connection, "redirect") == (f"{H}/3", f"{H}/1")
        assert known_merges.numbers(connection) == {"redirect": 3, "temporary": 1, "content": 0}
        for kind in ("canonical", "rule", "content"):
            assert known_merges.example(connection, kind) is None


def test_canonical_links_learned_rules_and_equal_pages(tmp_path: Path, store: Store) -> None:
    page(store, f"{H}/a", b"same")
    page(store, f"{H}/b", b"same", now=7.0)
    page(store, "http://o.example/a", b"same")
    named = Hop("canonical", 200, candidate(f"{H}/a")._replace(source=1))
    page(store, f"{H}/c", hops=(named,))
    link(store, f"{H}/d", f"{H}/d/")
    rule = LearnedRule(host="h.example", family="trailing-slash", new="bare")
    with store.transaction() as connection:
        rule_store.import_rules(connection, [rule], MAKE, 8.0)
    with report.reading(url_of(tmp_path)) as connection:
        found = {kind: known_merges.example(connection, kind) for kind in _KINDS}
        assert known_merges.numbers(connection) == {"canonical": 1, "rule": 1, "content": 2}
    assert found == {
        "redirect": None,
        "canonical": (f"{H}/c", f"{H}/a"),
        "rule": (f"{H}/d/", f"{H}/d"),
        "content": (f"{H}/b", f"{H}/a"),
    }
