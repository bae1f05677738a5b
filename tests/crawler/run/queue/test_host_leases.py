"""Leases of a worker that was stopped for longer than a lease: its hosts belong to others now."""

import asyncio
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.leasing_workers import NOW, leasing_workers, owners
from support.stores import lease

from canonry.crawler.learn.evidence.probes import Probe
from canonry.crawler.run.queue.idle_times import IdleTimes
from canonry.crawler.run.queue.store_session import LEASE_SECONDS
from canonry.storage.rows import leases

LATER = NOW + LEASE_SECONDS + 1


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
        assert "another process crawls a.example and 1 more hosts from the same store" in message
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
    """A worker without work looks for those that have died; their hosts rest for the delay."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    name = f"{socket.gethostname()}:{process.pid if is_dead else os.getpid()}:0a1b2c3d"
    with leasing_workers(tmp_path, "a") as (_one, other):
        assert [host.name for host in lease(other.store, name, now=NOW)] == ["a.example"]
        other.refresh(NOW + 2)
        assert asyncio.run(other.session.next_due(NOW + 2)) == 0.0
        assert owners(other) == (set() if is_dead else {name})
        other.leases.maybe_more = True
        other.refresh(NOW + 3)
        assert other.takes(NOW + 3) == ({"http://a.example/0"} if is_dead else set())
