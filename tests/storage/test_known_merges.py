"""Merges for people who look: the latest examples of each rule, and what is not among them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.databases import url_of
from support.stores import MAKE, candidate, open_store, visited

from canonry.canon import LearnedRule
from canonry.crawler.learn.rules import rule_store
from canonry.storage import Hop, Page, State, Store
from canonry.storage.reading import known_merges, report
from canonry.storage.reading.known_merges import MergedLink

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


def test_the_latest_examples_are_kept_with_the_page_of_the_link(
    tmp_path: Path, store: Store
) -> None:
    [url_id] = link(store, f"{H}/a")
    for n in range(30):
        link(store, f"{H}/a?utm_source={n}", now=10.0 + n)
    link(store, f"{H}/a?utm_source=9", f"{H}/%61", now=50.0)
    with report.reading(url_of(tmp_path)) as connection:
        assert known_merges.by_rules(connection) == {"tracking": 31, "percent-unreserved": 1}
        found = known_merges.examples(connection, ["tracking"], 5)
        every = known_merges.examples(connection, ["tracking"], 100)
        both = known_merges.examples(connection, ["tracking", "percent-unreserved"], 2)
        each = known_merges.example_of_each(connection)
    assert found[0] == MergedLink(
        "tracking", f"{H}/a?utm_source=9", f"{H}/a", url_id, f"{H}/", 50.0
    )
    assert [one.raw_url[-2:] for one in found] == ["=9", "29", "28", "27", "26"]
    assert len(every) == 8, "older ones are gone"
    assert {one.rules for one in both} == {"tracking", "percent-unreserved"}
    assert each["tracking"].raw_url == f"{H}/a?utm_source=9"


def test_a_store_without_examples_has_the_first_link(tmp_path: Path, store: Store) -> None:
    link(store, f"{H}/a", f"{H}/a?utm_source=1", f"{H}/a#x?" + "y" * 5000)
    with store.transaction() as connection:
        connection.exec_driver_sql("DELETE FROM merge_examples WHERE rules = 'tracking'")
    with report.reading(url_of(tmp_path)) as connection:
        [found] = known_merges.examples(connection, ["tracking"], 5)
        [huge] = known_merges.examples(connection, ["fragment"], 5)
        assert known_merges.example_of_each(connection)["tracking"] == found
    assert found == MergedLink("tracking", f"{H}/a?utm_source=1", f"{H}/a", None, None, None)
    assert huge.url_id is None, "a very long link is counted, and not kept again"


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
