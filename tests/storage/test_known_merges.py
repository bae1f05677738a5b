"""Merges for people who look: the latest of each kind, and what is not among them."""

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


def test_redirects_that_merge_come_first_by_time_and_others_are_left_out(
    tmp_path: Path, store: Store
) -> None:
    page(store, f"{H}/end")
    moved(store, f"{H}/1", f"{H}/end", 301)
    moved(store, f"{H}/2", f"{H}/end", 302)
    last = moved(store, f"{H}/3", f"{H}/1", 308, now=9.0)
    moved(store, f"{H}/4", f"{H}/nowhere")
    with report.reading(url_of(tmp_path)) as connection:
        found = known_merges.latest(connection, "redirect", 5)
        counted = known_merges.kind_counts(connection)
    assert [(one.url, one.represented_by) for one in found] == [
        (f"{H}/3", f"{H}/end"),
        (f"{H}/1", f"{H}/end"),
    ]
    assert found[0] == (last, f"{H}/3", f"{H}/1", f"{H}/end", "redirect", 308, 1, 9.0)
    assert (counted.redirect, counted.temporary) == (3, 1)


def test_canonical_links_learned_rules_and_equal_pages(tmp_path: Path, store: Store) -> None:
    page(store, f"{H}/a", b"same")
    page(store, "http://o.example/a", b"same")
    twin = page(store, f"{H}/b", b"same", now=7.0)
    named = Hop("canonical", 200, candidate(f"{H}/a")._replace(source=1))
    page(store, f"{H}/c", hops=(named,))
    link(store, f"{H}/d", f"{H}/d/")
    rule = LearnedRule(host="h.example", family="trailing-slash", new="bare")
    with store.transaction() as connection:
        rule_store.import_rules(connection, [rule], MAKE, 8.0)
    with report.reading(url_of(tmp_path)) as connection:
        [canonical] = known_merges.latest(connection, "canonical", 5)
        [learned] = known_merges.latest(connection, "rule", 5)
        equal = known_merges.equal_pages(connection, 5)
        counted = known_merges.kind_counts(connection)
    assert (canonical.url, canonical.same_as) == (f"{H}/c", f"{H}/a")
    assert (learned.url, learned.same_as, learned.seen_at) == (f"{H}/d/", f"{H}/d", 8.0)
    assert [(one.url_id, one.url, one.same_as) for one in equal] == [(twin, f"{H}/b", f"{H}/a")]
    assert (counted.canonical, counted.rule, counted.content) == (1, 1, 2)
