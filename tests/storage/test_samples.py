"""Samples of what a store holds, written in the transactions that change it."""

from pathlib import Path

import pytest
from support.stores import admit, candidate, lease, open_store, visited

from canonry.storage import Page, State, samples
from canonry.storage.store import Store

pytestmark = pytest.mark.every_database

PAGE = Page(200, 0.1, "text/html", 3, b"d" * 16, None, None, 0)


def taken(store: Store) -> list[samples.StoreSample]:
    with store.transaction() as connection:
        return samples.between(connection, 0.0, 1e12)


def record(store: Store, url_id: int, at: float, *links: str) -> None:
    page = PAGE._replace(digest=url_id.to_bytes(16))
    outcome = visited(url_id, State.FETCHED, page=page)
    found = tuple(candidate(link) for link in links)
    store.record([outcome._replace(links=found)], at)


def test_a_crawl_writes_a_sample_a_second_and_at_both_ends(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    url_ids = [a.url_id for a in admit(store, [f"http://h.example/{n}" for n in range(4)], 100.0)]
    job = store.begin_job("crawl", "{}", 100.0)
    lease(store)
    for at, url_id in zip((100.5, 101.2, 101.9, 103.0), url_ids, strict=True):
        record(store, url_id, at, "http://h.example/0?utm_source=x", f"http://h.example/n{url_id}")
    store.end_job(job, "finished", 103.1)
    found = taken(store)
    assert [(s.at, s.fetched, s.queued) for s in found] == [
        (100.0, 0, 4),
        (101.2, 2, 4),
        (103.0, 4, 4),
        (103.1, 4, 4),
    ]
    last = found[-1]
    assert (last.known, last.suppressed, last.merged_links, last.done) == (8, 0, 4, 4)
    assert last.claims == 12
    store.close()


def test_each_known_url_is_in_one_number(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    url_ids = [a.url_id for a in admit(store, [f"http://h.example/{n}" for n in range(4)], 1.0)]
    store.admit([candidate("http://h.example/h", held="robots")], 1.0)
    store.admit([candidate("http://h.example/s", held="learned")], 1.0)
    lease(store)
    store.record(
        [visited(url_ids[0], State.FAILED, "server"), visited(url_ids[1], State.REDIRECTED)], 2.0
    )
    record(store, url_ids[2], 3.0)
    last = taken(store)[-1]
    assert last[1:7] == (1, 1, 1, 1, 1, 1)
    assert (last.known, last.redirected, last.suppressed, last.done) == (6, 1, 1, 3)
    with store.transaction() as connection:
        assert samples.now(connection, 3.0) == last
        assert samples.first_at(connection) == 2.0
    store.close()


def test_processes_become_exclusives(tmp_path: Path) -> None:
    one, other = open_store(tmp_path), open_store(tmp_path)
    url_ids = [a.url_id for a in admit(one, [f"http://h.example/{n}" for n in range(4)], 1.0)]
    lease(one)
    record(one, url_ids[0], 10.0)
    record(other, url_ids[1], 10.4)
    record(other, url_ids[2], 11.3)
    record(one, url_ids[3], 11.4)
    assert [s.at for s in taken(one)] == [10.0, 11.3]
    assert taken(one)[-1].fetched == 3
    with one.transaction() as connection:
        before = samples.latest(connection, 11.0)
        assert before is not None
        assert before.at == 10.0
        assert [s.at for s in samples.between(connection, 11.0, 12.0)] == [10.0, 11.3]
    one.close()
    other.close()


def test_old_samples_are_thinned_as_new_ones_come(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    sampler = samples.StoreSampler()
    with store.transaction() as connection:
        for n in range(500):
            sampler.take(connection, store.seen, 3.0 * n)
    found = taken(store)
    assert 200 < len(found) < 450
    assert (found[0].at, found[-1].at) == (0.0, 3.0 * 499)
    store.close()
