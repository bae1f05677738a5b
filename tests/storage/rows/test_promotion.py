"""Promotion: what is asked next on its host has a better priority, in the queue of the store."""

from pathlib import Path

import pytest
from support.stores import (
    admit,
    assert_counts_are_right,
    candidate,
    lease,
    open_store,
    visited,
)

from canonry.storage import Candidate, Hop, Page, Queued, State, Store
from canonry.storage.records import FIRST, ORDINARY, QUESTION, TARGET
from canonry.storage.rows import leases, requeueing, urls

pytestmark = pytest.mark.every_database

MANY = [f"http://a.example/{n}" for n in range(300)]


def redirected(store: Store, url_id: int, *targets: Candidate) -> None:
    """Record that a URL redirected to another, after hops to itself."""
    hops = [Hop("redirect", 301, target) for target in targets]
    store.record([visited(url_id, State.REDIRECTED, hops=hops)], 1.0)


def next_of(store: Store, now: float = 5.0, **options: bool) -> list[str]:
    """Return the URLs that a worker that has nothing in memory gets, ten at most."""
    [host] = lease(store, now=now, per_host=10, **options)
    return [url.url for url in host.urls]


def priorities(store: Store) -> dict[str, int]:
    """Return the priorities of all URLs."""
    with store.transaction() as connection:
        rows = connection.exec_driver_sql("SELECT url, priority FROM urls")
        return {str(url): int(priority) for url, priority in rows}


@pytest.mark.parametrize("target", ["http://a.example/new", MANY[-1]])
def test_the_target_of_a_redirect_is_at_the_head_of_the_next_lease(
    tmp_path: Path, target: str
) -> None:
    store = open_store(tmp_path)
    url_ids = [admission.url_id for admission in admit(store, MANY)]
    redirected(store, url_ids[0], candidate(target))
    assert next_of(store)[:2] == [target, MANY[1]]
    again = {"a.example": set(url_ids)}
    [host] = lease(store, now=5.0, per_host=10, loaded=again)
    sent = [url.url for url in host.urls]
    assert sent == [target], "promoted, it is returned although it may be loaded, and nothing else"
    with store.transaction() as connection:
        assert_counts_are_right(connection)
    store.close()


def test_only_queued_urls_are_promoted_and_never_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    held = store.admit([candidate("http://a.example/held", held="out-of-scope")], 0.0)[0].url_id
    url_ids = [admission.url_id for admission in admit(store, MANY[:6])]
    store.record([visited(url_ids[0], State.FETCHED)], 1.0)
    with store.transaction() as connection:
        urls.promote(connection, [held, *url_ids[:3]], QUESTION)
        urls.promote(connection, url_ids[2:4], TARGET)
        urls.promote(connection, url_ids, QUESTION)
        urls.promote(connection, [], TARGET)
    found = priorities(store)
    assert found.pop("http://a.example/held") == ORDINARY
    assert [found[url] for url in MANY[:6]] == [
        ORDINARY,
        QUESTION,
        TARGET,
        TARGET,
        QUESTION,
        QUESTION,
    ]
    store.close()


def test_a_target_that_is_held_stays_held(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    [first, *_] = [admission.url_id for admission in admit(store, MANY[:3])]
    redirected(store, first, candidate("http://a.example/far", held="out-of-scope"))
    assert next_of(store) == MANY[1:3]
    store.close()


def test_a_target_that_failed_waits_until_it_is_due(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    url_ids = [admission.url_id for admission in admit(store, MANY[:3])]
    store.record([visited(url_ids[2], State.QUEUED, retry_at=100.0)], 1.0)
    redirected(store, url_ids[0], candidate(MANY[2]))
    assert next_of(store, now=5.0) == [MANY[1]]
    with store.transaction() as connection:
        early, late = (
            leases.promoted(connection, url_ids, now=now, level_by_level=False)
            for now in (5.0, 100.0)
        )
    assert [url.url_id for url in early["a.example"]] == [url_ids[1]]
    assert [url.url_id for url in late["a.example"]] == [url_ids[2], url_ids[1]]
    assert next_of(store, now=200.0) == [MANY[2], MANY[1]]
    store.close()


def test_level_by_level_no_promotion_goes_before_its_level(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    url_ids = [admission.url_id for admission in admit(store, MANY[:3])]
    [deep] = admit(store, ["http://a.example/deep"], depth=1)
    redirected(store, url_ids[0], candidate("http://a.example/deep"))
    with store.transaction() as connection:
        found = leases.promoted(connection, [deep.url_id, *url_ids], now=5.0, level_by_level=True)
    assert [url.url for url in found["a.example"]] == MANY[1:3]
    assert next_of(store, level_by_level=True) == MANY[1:3]
    assert next_of(store)[0] == "http://a.example/deep"
    store.close()


def test_a_recrawl_forgets_promotions_but_not_what_the_settings_put_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    given = [
        candidate(url)._replace(priority=FIRST if n < 2 else ORDINARY)
        for n, url in enumerate(MANY[:5])
    ]
    url_ids = [admission.url_id for admission in store.admit(given, 0.0)]
    new = candidate("http://a.example/new")._replace(priority=FIRST)
    redirected(store, url_ids[4], candidate(MANY[1]), candidate(MANY[3]), new)
    assert next_of(store) == [MANY[1], new.url, MANY[3], MANY[0], MANY[2]]
    everything = [url_id for url_id in range(url_ids[0], url_ids[-1] + 2) if url_id != url_ids[4]]
    store.record([visited(url_id, State.FETCHED) for url_id in everything], 2.0)
    with store.transaction() as connection:
        assert requeueing.requeue(connection, 3.0) == 6
    assert next_of(store, now=200.0) == [MANY[0], MANY[1], new.url, MANY[2], MANY[3], MANY[4]]
    store.close()


def test_promoted_urls_come_with_what_a_conditional_request_needs(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    other = admit(store, ["http://b.example/"])[0].url_id
    url_id = admit(store, MANY[:1])[0].url_id
    page = Page(200, 0.1, "text/html", 10, bytes(16), None, None, 0, None, '"tag"', "Monday")
    store.record([visited(url_id, State.FETCHED, page=page)], 1.0)
    with store.transaction() as connection:
        requeueing.requeue(connection, 3.0)
        urls.promote(connection, [url_id], QUESTION)
        found = leases.promoted(connection, {url_id, other, 99}, now=5.0, level_by_level=False)
        nothing = leases.promoted(connection, (), now=5.0, level_by_level=False)
    assert nothing == {}
    assert found["a.example"] == [Queued(url_id, MANY[0], 0, 0, 0, '"tag"', "Monday", QUESTION)]
    assert [url.url_id for url in found["b.example"]] == [other]
    store.close()
