"""Leases of a worker that was stopped for longer than a lease: its hosts belong to others now."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select
from support.leasing_workers import NOW, LeasingWorker, leasing_workers, owners
from support.stores import admit, candidate, lease

from canonry.crawler.admission.scope import host_of
from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.run.job.lease_owners import LEASE_SECONDS
from canonry.crawler.run.queue.idle_times import IdleTimes
from canonry.crawler.run.queue.store_session import PER_HOST
from canonry.storage import Hop, Outcome, Page, Queued, State
from canonry.storage.records import ORDINARY
from canonry.storage.rows import leases
from canonry.storage.sql.schema import urls

LATER = NOW + LEASE_SECONDS + 1
A = "http://a.example"


def test_a_large_site_takes_no_more_memory_the_longer_its_crawl_waits(tmp_path: Path) -> None:
    """At one request a second, as by default, a crawl looks for hosts each second."""
    with leasing_workers(tmp_path) as (one, _other):
        admit(one.store, [f"{A}/page-{n}" for n in range(2_000)])
        taken = 0
        for second in range(20):
            one.refresh(NOW + 2 * second)
            for url in one.takes(NOW + 2 * second):
                taken += 1
                one.turns.done(host_of(url))
            waiting = one.frontier.waiting_of()
            assert waiting["a.example"] <= PER_HOST
            assert one.leases.maybe_more
        assert taken > 10
        assert waiting["a.example"] > PER_HOST - 5, "what was taken is replaced"


def test_a_stopped_worker_does_not_take_its_hosts_back(tmp_path: Path) -> None:
    """It asks for nothing more of a host that another worker has leased meanwhile."""
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        first = one.takes(NOW)
        assert first == {"http://a.example/0", "http://b.example/0"}
        other.refresh(LATER)
        assert other.frontier.loaded == 10
        one.frontier.put_probe("a.example", Probe("http://a.example/x", "missing"))
        one.refresh(LATER + 1)
        assert one.takes(LATER + 1) == set()
        assert owners(one) == {"other"}
        assert other.takes(LATER + 1) == first
        assert not one.frontier.is_loaded("a.example")
        one.frontier.recorded("a.example", 1)  # what was on its way is recorded all the same
        one.frontier.recorded("b.example", 6)
        assert one.frontier.loaded == one.frontier.waiting == 0


@pytest.mark.parametrize("is_at_heartbeat", [False, True])
def test_a_stopped_worker_learns_what_others_have_recorded_meanwhile(
    tmp_path: Path, *, is_at_heartbeat: bool
) -> None:
    """Eight redirects make a rule, whoever has recorded them."""

    def record(worker: LeasingWorker, numbers: range) -> str:
        for n in numbers:
            hop = Hop("redirect", 301, candidate(f"{A}/p{n}/")._replace(hops=1))
            digest = str(n).encode().ljust(16)
            page = Page(200, 0.1, "text/html", 1, digest, None, None, 0)
            [moved] = admit(worker.store, [f"{A}/p{n}"])
            redirect = Queued(moved.url_id, f"{A}/p{n}", 0, 0, 0)
            first = Outcome(redirect, State.REDIRECTED, leads=(hop,))
            answer = asyncio.run(worker.session.record([first], LATER + n))
            end = Queued(answer.admissions[0][0].url_id, f"{A}/p{n}/", 0, 1, 0)
            last = Outcome(end, State.FETCHED, page=page)
            asyncio.run(worker.session.record([last], LATER + n))
        with worker.store.transaction() as connection:
            [state] = {r.state for r in rule_store.rules_in(connection) if not r.evidence.disagree}
        return state

    with leasing_workers(tmp_path, "a") as (one, other):
        one.refresh(NOW)
        assert record(one, range(3)) == "candidate"
        other.refresh(LATER)
        assert record(other, range(3, 7)) == "candidate"
        one.leases.maybe_more = not is_at_heartbeat  # else it asks for further hosts
        one.refresh(LATER + 1)
        assert record(one, range(7, 8)) == "active"


def test_the_target_of_a_late_redirect_is_not_requested_sooner(tmp_path: Path) -> None:
    with leasing_workers(tmp_path, "a") as (one, other):
        [[asked, *_, target]] = [host.urls for host in lease(one.store, now=NOW)]
        hop = Hop("redirect", 301, candidate(target.url))
        redirect = Outcome(asked, State.REDIRECTED, leads=(hop,))
        page = Page(200, 0.1, "text/html", 1, bytes(16), None, None, 0)
        asyncio.run(other.session.record([Outcome(asked, State.FETCHED, page=page)], NOW))
        assert asyncio.run(one.session.record([redirect], LATER)).promoted == {}
        with one.store.transaction() as connection:
            of_target = select(urls.c.priority).where(urls.c.id == target.url_id)
            assert connection.scalar(of_target) == ORDINARY


def test_expired_leases_that_nobody_took_are_extended(tmp_path: Path) -> None:
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        one.refresh(LATER)
        assert owners(one) == {"here:7:one"}
        other.refresh(LATER + 1)
        assert other.frontier.loaded == 0
        assert len(one.takes(LATER + 1)) == 2


def test_the_pace_of_a_lost_host_stays_that_of_its_new_worker(tmp_path: Path) -> None:
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        one.takes(NOW)
        other.refresh(LATER)
        other.takes(LATER)
        other.refresh(LATER + LEASE_SECONDS / 2)
        one.refresh(LATER + LEASE_SECONDS / 2)
        with one.store.transaction() as connection:
            found = leases.lease(
                connection,
                "other",
                now=LATER,
                seconds=LEASE_SECONDS,
                limit=9,
                per_host=9,
                loaded={},
                level_by_level=False,
            )
        assert {host.ready_at for host in found} == {LATER + 1.0}


def test_a_worker_without_hosts_says_once_who_has_them(tmp_path: Path) -> None:
    said: list[str] = []
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        other.refresh(NOW)
        idle = IdleTimes(other.leases, said.append)

        def tell(now: float) -> None:
            asyncio.run(idle.tell(now))

        tell(NOW)
        assert said == []  # a host may be free in a moment
        tell(NOW + 3)
        [message] = said
        assert "another process crawls a.example and 1 more host from the same store" in message
        assert "process 7 on here" in message
        for later in (10, 20):
            tell(NOW + later)
        assert len(said) == 1
        idle = IdleTimes(one.leases, said.append)
        for later in (0, 3):
            tell(NOW + later)
        assert len(said) == 1  # its own hosts
        idle = IdleTimes(other.leases, said.append)
        for later in (1, 4):
            tell(LATER + later)
        assert len(said) == 1  # they are free


@pytest.mark.parametrize("is_dead", [False, True])
def test_the_hosts_of_a_worker_that_was_killed_are_free_before_its_leases_end(
    tmp_path: Path, *, is_dead: bool
) -> None:
    """A worker without work looks for those that have died; their hosts rest for the delay.

    It rests from when their death is known, which may be later than the question after work: what
    was sent meanwhile counts.
    """
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    name = f"{socket.gethostname()}:{process.pid if is_dead else os.getpid()}:0a1b2c3d"
    with leasing_workers(tmp_path, "a") as (_one, other):
        assert [host.name for host in lease(other.store, name, now=NOW)] == ["a.example"]
        other.refresh(NOW + 2)
        times = iter([NOW + 2, NOW + 3])
        assert asyncio.run(other.session.next_due(lambda: next(times))) == 0.0
        assert owners(other) == (set() if is_dead else {name})
        other.leases.maybe_more = True
        other.refresh(NOW + 3.5)
        assert not other.takes(NOW + 3.5)
        other.leases.maybe_more = True
        other.refresh(NOW + 4)
        assert other.takes(NOW + 4) == ({"http://a.example/0"} if is_dead else set())


def test_hosts_of_one_domain_that_all_have_urls_do_not_keep_others_from_being_leased(
    tmp_path: Path,
) -> None:
    with leasing_workers(tmp_path, [f"h{n}.crowd" for n in range(9)]) as (one, _other):
        one.refresh(NOW)
        assert len(one.takes(NOW)) == 9
        assert one.frontier.waiting > 8, "enough for all slots"
        admit(one.store, ["http://late.example/"])
        one.leases.maybe_more = True
        one.refresh(NOW + 2)
        assert one.frontier.is_loaded("late.example")


def test_hosts_that_are_paused_do_not_keep_others_from_being_leased(tmp_path: Path) -> None:
    with leasing_workers(tmp_path, [f"h{n}" for n in range(9)]) as (one, _other):
        one.refresh(NOW)
        for n in range(9):
            one.turns.slow_down(f"h{n}.example", until=NOW + 3_600)
        admit(one.store, ["http://late.example/"])
        one.leases.maybe_more = True
        one.refresh(NOW + 2)
        assert one.frontier.is_loaded("late.example")
