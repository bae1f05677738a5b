"""Handing over: who has several hosts gives some to who has none; no host has two workers."""

import asyncio
from pathlib import Path

import pytest
from support.leasing_workers import NOW, LeasingWorker, leasing_workers

from canonry.crawler.learn.request_policy import Probe
from canonry.crawler.run.job.lease_owners import LEASE_SECONDS
from canonry.storage.rows import host_rows, leases


def wish(worker: LeasingWorker, now: float) -> None:
    """Do what a worker does that has nothing."""
    worker.refresh(now)
    assert worker.frontier.loaded == 0
    assert asyncio.run(worker.session.next_due(lambda: now)) == 0.0
    worker.leases.maybe_more = True


def hosts_of(worker: LeasingWorker) -> set[str]:
    """Return the hosts of which a worker may request something."""
    return set(worker.frontier.names_waiting())


def test_a_worker_without_hosts_is_given_half_of_the_others(tmp_path: Path) -> None:
    with leasing_workers(tmp_path, "abcdef") as (one, other):
        one.refresh(NOW)
        wish(other, NOW)
        one.refresh(NOW + 2)
        other.refresh(NOW + 2)
        assert len(hosts_of(one)) == len(hosts_of(other)) == 3
        assert not hosts_of(one) & hosts_of(other)
        assert one.frontier.loaded == other.frontier.loaded == 15, "nothing is lost"
        for _ in range(3):  # it has asked once, and has some now
            one.refresh(NOW + 4)
            other.refresh(NOW + 4)
        assert len(hosts_of(one)) == len(hosts_of(other)) == 3


def test_two_that_want_hosts_get_a_third_each(tmp_path: Path) -> None:
    with leasing_workers(tmp_path, "abcdef") as (one, other):
        one.refresh(NOW)
        wish(other, NOW)
        with one.store.leasing() as connection:
            host_rows.want(connection, "third", NOW)
        one.refresh(NOW + 2)
        other.refresh(NOW + 2)
        assert len(hosts_of(one)) == len(hosts_of(other)) == 2
        with one.store.leasing() as connection:
            assert leases.HOSTS.holders(connection) == {"here:7:one", "other", "third"}
            assert host_rows.wanting(connection, "here:7:one", NOW + 2) == []


def test_a_host_leaves_when_all_that_was_requested_of_it_is_recorded(tmp_path: Path) -> None:
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        assert len(one.takes(NOW)) == 2
        one.frontier.put_probe("b.example", Probe("http://b.example/x", "missing"))
        wish(other, NOW)
        one.refresh(NOW + 2)
        assert one.takes(NOW + 2) == {"http://a.example/1"}, "nothing more of the other host"
        one.frontier.put_probe("b.example", Probe("http://b.example/y", "missing"))
        wish(other, NOW + 2)
        one.leases.maybe_more = True  # leases that are extended bring nothing back
        one.refresh(NOW + 3)
        assert hosts_of(one) == {"a.example"}
        one.turns.done("b.example")
        one.frontier.recorded("b.example", 6)
        one.refresh(NOW + 3.2)
        other.refresh(NOW + 3.2)
        assert hosts_of(other) == {"b.example"}
        assert other.frontier.loaded == 5, "nothing was written that its worker had not recorded"


def test_a_host_takes_its_pace_along(tmp_path: Path) -> None:
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        one.takes(NOW)
        one.turns.slow_down("b.example", delay=7.0)
        one.turns.done("b.example")
        one.frontier.recorded("b.example", 6)
        wish(other, NOW)
        one.refresh(NOW + 2)
        other.refresh(NOW + 2)
        assert other.takes(NOW + 6.9) == set()
        assert other.takes(NOW + 7) == {"http://b.example/0"}, "the first is not recorded here"
        assert other.turns.delays() == {"b.example": 7.0}


def test_hosts_on_one_address_stay_together(tmp_path: Path) -> None:
    with leasing_workers(tmp_path, "abcd") as (one, other):
        one.addresses = dict.fromkeys(["a.example", "b.example", "d.example"], "192.0.2.1")
        one.refresh(NOW)
        wish(other, NOW)
        one.refresh(NOW + 2)
        other.refresh(NOW + 2)
        assert {frozenset(hosts_of(one)), frozenset(hosts_of(other))} == {
            frozenset({"c.example"}),
            frozenset({"a.example", "b.example", "d.example"}),
        }


@pytest.mark.parametrize(("hosts", "late"), [("a", 0.0), ("abcd", 11.0)])
def test_the_only_host_stays_and_old_wishes_are_not_granted(
    tmp_path: Path, hosts: str, late: float
) -> None:
    with leasing_workers(tmp_path, hosts) as (one, other):
        one.refresh(NOW)
        wish(other, NOW)
        one.refresh(NOW + 2 + late)
        other.refresh(NOW + 2 + late)
        assert len(hosts_of(one)) == len(hosts)
        assert other.frontier.loaded == 0


def test_only_hosts_of_others_are_wished_for(tmp_path: Path) -> None:
    with leasing_workers(tmp_path) as (one, other):
        asyncio.run(other.session.next_due(lambda: NOW))  # nobody has leased anything
        with one.store.leasing() as connection:
            assert host_rows.wanting(connection, "here:7:one", NOW) == []
        one.refresh(NOW)
        wish(other, NOW)
        with one.store.leasing() as connection:
            assert host_rows.wanting(connection, "here:7:one", NOW) == ["other"]
            assert host_rows.wanting(connection, "other", NOW) == []
        asyncio.run(other.leases.leave())
        with one.store.leasing() as connection:
            assert host_rows.wanting(connection, "here:7:one", NOW) == []


def test_only_what_is_leased_is_handed_over(tmp_path: Path) -> None:
    with leasing_workers(tmp_path) as (one, other):
        one.refresh(NOW)
        later = NOW + LEASE_SECONDS + 1
        other.refresh(later)  # its leases had expired
        with one.store.leasing() as connection:
            gone = host_rows.grant(
                connection, "here:7:one", "third", ["a.example", "b.example"], {}, {}, later + 60
            )
            assert gone == {"a.example", "b.example"}
            assert leases.HOSTS.holders(connection) == {"other"}
