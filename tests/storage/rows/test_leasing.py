"""Concurrent leases: each host has one owner, and no transaction blocks another."""

import threading
from itertools import permutations
from pathlib import Path

import pytest
from sqlalchemy import select, update
from support.stores import (
    admit,
    assert_counts_are_right,
    candidate,
    counted_steps,
    lease,
    lease_names,
    open_store,
    visited,
)

from canonry.crawler.admission.scope import registrable
from canonry.storage import Hop, Outcome, Page, State, Store
from canonry.storage.learned import host_urls
from canonry.storage.rows import leases as rows
from canonry.storage.rows.budgets import HostBudget
from canonry.storage.rows.requeueing import queue_again
from canonry.storage.sql.schema import aliases, pages, url_rows, urls

_PAGE = Page(200, 0.1, "text/html", 10, bytes(16), "title", None, 1)
HOSTS = [f"http://h{n}.example/" for n in range(20)]


def test_concurrent_leases_and_writes_never_block_each_other(tmp_path: Path) -> None:
    """Each host has one owner at a time; no deadlock, whatever the order of rows."""
    admitting = open_store(tmp_path)
    admit(admitting, HOSTS)
    faults: list[Exception] = []
    held: dict[str, str] = {}
    guard = threading.Lock()

    def work(store: Store, owner: str) -> None:
        try:
            for turn in range(25):
                with store.leasing() as connection:
                    got = lease_names(connection, owner, limit=7)
                    rows.pace(connection, dict.fromkeys(got, 0.0), {})
                with guard:
                    assert all(held.setdefault(host, owner) == owner for host in got)
                admit(
                    store,
                    [f"http://h{(turn * 7 + n) % 20}.example/{owner}{turn}" for n in range(9)],
                )
                with guard:
                    for host in got:
                        del held[host]
                with store.transaction() as connection:
                    rows.HOSTS.give_back(connection, [owner])
        except Exception as error:  # noqa: BLE001 - the test reports it
            faults.append(error)

    stores = [open_store(tmp_path) for _ in range(4)]
    threads = [threading.Thread(target=work, args=(s, f"w{n}")) for n, s in enumerate(stores)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert faults == []
    assert not any(thread.is_alive() for thread in threads)
    for store in (*stores, admitting):
        store.close()


@pytest.mark.every_database
def test_the_urls_of_a_host_are_leased_by_depth_and_then_in_the_order_they_were_found(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    for number, depth in enumerate([3, 1, 2, 1, 3]):
        admit(store, [f"http://a.example/{number}"], depth=depth)
    [host] = lease(store, per_host=4)
    store.close()
    assert [url.url[-1] for url in host.urls] == ["1", "3", "2", "0"]


def test_a_lease_takes_no_longer_where_a_host_has_many_pages(tmp_path: Path) -> None:
    """Else a crawl of a large site becomes slower with each page, once it has learned a rule."""
    store = open_store(tmp_path)
    with store.transaction() as connection:
        host_urls.index(connection)
    steps = []
    for few in range(2):
        admit(store, [f"http://a.example/{few}/{n}" for n in range(100 + 2900 * few)])
        with store.transaction() as connection:
            connection.execute(update(url_rows).values(state=State.FETCHED))
        admit(store, [f"http://a.example/new/{few}"])
        with store.leasing() as connection, counted_steps(connection) as counted:
            lease_names(connection, "w", limit=7)
        steps.append(counted[0])
    store.close()
    assert steps[1] < 2 * steps[0]


def _hop(kind: str) -> Hop:
    """Return where a URL leads."""
    return Hop(kind, 301, candidate(f"http://c.example/{kind}"))


def put_back(store: Store, url_id: int) -> None:
    """Put a URL back in the queue, for another crawl."""
    with store.transaction() as connection:
        assert queue_again(connection, urls.c.id == url_id) == 1


def answers(url_id: int) -> dict[str, Outcome]:
    """Return what a visit to a URL may come to, by name."""
    other = Page(200, 0.1, "text/html", 11, bytes([1] * 16), "other", None, 1)
    return {
        "page": visited(url_id, State.FETCHED, page=_PAGE),
        "other page": visited(url_id, State.FETCHED, page=other),
        "gone": visited(url_id, State.FAILED, "http-404", page=_PAGE._replace(status=404)),
        "unread": visited(url_id, State.FAILED, "type")._replace(unread=_PAGE),
        "unchanged": visited(url_id, State.FETCHED)._replace(unchanged=True),
        "redirect": visited(url_id, State.REDIRECTED, hops=(_hop("redirect"),)),
        "canonical": visited(url_id, State.FETCHED, page=_PAGE, hops=(_hop("canonical"),)),
        "timeout": visited(url_id, State.FAILED, "timeout"),
    }


@pytest.mark.every_database
def test_what_another_worker_has_recorded_stays(tmp_path: Path) -> None:
    """A worker that was stopped for longer than its leases may have fetched a URL, too."""
    store = open_store(tmp_path)

    def recorded(url_id: int) -> tuple[object, ...]:
        with store.transaction() as connection:
            assert_counts_are_right(connection)
            of_url = select(urls.c.state, urls.c.reason, urls.c.due).where(urls.c.id == url_id)
            of_page = select(pages).where(pages.c.url_id == url_id)
            led = select(aliases).where(aliases.c.from_id == url_id).order_by(aliases.c.to_id)
            target = select(urls.c.state, urls.c.priority).where(urls.c.host_id == 2)
            return (
                connection.execute(of_url).one(),
                *(connection.execute(query).all() for query in (of_page, led, target)),
            )

    admit(store, ["http://a.example/", "http://c.example/redirect", "http://c.example/canonical"])
    for first in answers(0):
        [seed] = admit(store, [f"http://a.example/{first}"])
        store.record([visited(seed.url_id, State.FETCHED, page=_PAGE)], 0.0)
        put_back(store, seed.url_id)
        store.record([answers(seed.url_id)[first]], 1.0)
        before = recorded(seed.url_id)
        for late, outcome in answers(seed.url_id).items():
            links = (candidate(f"http://b.example/{first}/{late}"),)
            [[*_hops, found]] = store.record([outcome._replace(links=links)], 2.0)
            assert found.new, "what a page links to was found all the same"
            assert recorded(seed.url_id) == before, (first, late)
        store.record([visited(seed.url_id, State.QUEUED, "timeout", retry_at=9.0)], 3.0)
        assert recorded(seed.url_id) == before, (first, "to be tried again")
    store.close()


@pytest.mark.every_database
def test_of_two_outcomes_of_a_url_the_first_that_is_not_tried_again_counts(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    found = {}
    for number, (one, two) in enumerate(permutations((*answers(0), "retry"), 2)):
        [seed] = admit(store, [f"http://a.example/{number}"])
        store.record([visited(seed.url_id, State.FETCHED, page=_PAGE)], 0.0)
        put_back(store, seed.url_id)
        given = answers(seed.url_id)
        given["retry"] = visited(seed.url_id, State.QUEUED, "timeout", retry_at=9.0)
        with store.transaction() as connection:
            recorded = store.record_in(connection, [given[one], given[two]], 1.0)
            assert_counts_are_right(connection)
            of_url = select(urls.c.state, urls.c.reason).where(urls.c.id == seed.url_id)
            of_page = select(pages.c.title, pages.c.status).where(pages.c.url_id == seed.url_id)
            led = select(aliases.c.kind).where(aliases.c.from_id == seed.url_id)
            queries = (of_url, of_page, led)
            state = [connection.execute(query).all() for query in queries]
        counting = two if one == "retry" else one
        assert [each.late for each in recorded] == [one != counting, two != counting]
        assert found.setdefault(counting, state) == state, (one, two)
    assert len(found) == len(answers(0))
    store.close()


@pytest.mark.every_database
@pytest.mark.parametrize("meanwhile", ["redirect", "other page", "nothing"])
def test_an_answer_304_counts_if_the_store_still_has_the_page_that_was_asked_about(
    tmp_path: Path, meanwhile: str
) -> None:
    """Another worker recorded the URL meanwhile, and it was put back in the queue."""
    store = open_store(tmp_path)
    [seed] = admit(store, ["http://a.example/"])
    store.record([visited(seed.url_id, State.FETCHED, page=_PAGE._replace(etag="1"))], 1.0)
    put_back(store, seed.url_id)
    [[asked]] = [host.urls for host in lease(store)]
    assert asked.etag == "1"
    other = _PAGE._replace(etag="2", title="other")
    if meanwhile != "nothing":
        answer = {
            "redirect": visited(seed.url_id, State.REDIRECTED),
            "other page": visited(seed.url_id, State.FETCHED, page=other),
        }[meanwhile]
        store.record([answer], 2.0)
        put_back(store, seed.url_id)
    store.record([Outcome(asked, State.FETCHED, unchanged=True)], 3.0)
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        state = connection.scalar(select(urls.c.state))
        kept = connection.execute(select(pages.c.etag, pages.c.fetched_at)).all()
    store.close()
    assert (state, kept) == {
        "nothing": (State.FETCHED, [("1", 3.0)]),
        "other page": (State.QUEUED, [("2", 2.0)]),
        "redirect": (State.QUEUED, []),
    }[meanwhile]


@pytest.mark.every_database
def test_hosts_that_wait_leave_room_for_those_that_are_ready(tmp_path: Path) -> None:
    """`lease` of these tests leases ten hosts at most."""
    store = open_store(tmp_path)
    waiting = admit(store, [f"http://w{n}.example/" for n in range(64)])
    retried = [visited(one.url_id, State.QUEUED, "dns", retry_at=100.0) for one in waiting]
    store.record(retried, 1.0)
    [ready] = admit(store, ["http://a.example/"])
    with store.transaction() as connection:
        rows.pace(connection, {"a.example": 9.0}, {})  # it got the latest request
    [leased] = lease(store, now=10.0)
    assert [url.url_id for url in leased.urls] == [ready.url_id]
    assert len(lease(store, now=100.0)) == 10
    store.close()


@pytest.mark.every_database
def test_hosts_whose_urls_are_too_deep_for_now_leave_room(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, [f"http://d{n}.example/" for n in range(30)], depth=2)
    admit(store, ["http://a.example/"], depth=1)
    with store.transaction() as connection:
        rows.pace(connection, {"a.example": 9.0}, {})
    assert [host.name for host in lease(store, now=10.0, level_by_level=True)] == ["a.example"]
    store.close()


@pytest.mark.every_database
def test_a_host_that_another_worker_had_is_said_to_be_taken_over(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/"])
    for owner, now, taken_over in (("me", 0, False), ("me", 9000, False), ("other", 18000, True)):
        [host] = lease(store, owner, now=now)
        assert host.taken_over == taken_over
    store.close()


def test_a_domain_with_many_hosts_does_not_come_before_others(tmp_path: Path) -> None:
    """And alone, it gets all leases."""
    store = open_store(tmp_path)
    store.host_budget = HostBudget(registrable, 0, "too-many-hosts")
    crowd = [f"http://h{n}.crowd.example/" for n in range(90)]
    store.admit([candidate(url)._replace(source=1) for url in crowd], 1.0)
    admit(store, ["http://late.example/"], 9.0)
    with store.leasing() as connection:
        found = lease_names(connection, "one", limit=40)
        assert "late.example" in found
        assert len(found) == 40
        rows.HOSTS.give_back(connection, ["one"])
        assert len(lease_names(connection, "one")) == 91
    store.close()
