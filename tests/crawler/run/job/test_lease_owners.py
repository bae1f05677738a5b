"""Lease owners: who has ended, and who may still be at work."""

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from sqlalchemy import select
from support.stores import open_store

from canonry.crawler.run.job import lease_owners
from canonry.storage.sql.schema import jobs

NOW = 1_700_000_000.0


def _name(process: int, machine: str = "") -> str:
    return f"{machine or socket.gethostname()}:{process}:0a1b2c3d"


@pytest.fixture
def ended() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_a_process_that_has_ended_is_dead(ended: int) -> None:
    assert lease_owners.has_ended(_name(ended))
    assert lease_owners.is_dead(_name(ended))
    assert not lease_owners.is_alive_here(_name(ended))


def test_another_process_that_lives_is_not() -> None:
    assert not lease_owners.has_ended(_name(os.getppid()))
    assert not lease_owners.is_dead(_name(os.getppid()))
    assert lease_owners.is_alive_here(_name(os.getppid()))


def test_our_number_in_a_store_is_that_of_an_earlier_process() -> None:
    """In a container, each run may have the same one."""
    own = lease_owners.own_name()
    assert lease_owners.is_dead(own)
    assert not lease_owners.has_ended(own)
    assert not lease_owners.is_alive_here(own)


@pytest.mark.parametrize("name", ["", "nonsense", "x:y:z"])
def test_what_is_no_process_here_is_never_known_to_have_ended(name: str, ended: int) -> None:
    for owner in (name, _name(ended, "other.example")):
        assert not lease_owners.has_ended(owner)
        assert not lease_owners.is_dead(owner)
        assert not lease_owners.is_alive_here(owner)


def test_the_job_of_this_run_is_running_and_that_of_an_earlier_process_is_not() -> None:
    def state(worker: str) -> str:
        return lease_owners.state_now({"state": "running", "settings": {"worker": worker}})

    assert state(lease_owners.own_name()) == "running"
    assert state(_name(os.getpid())) == "interrupted"


@pytest.mark.parametrize(("hours", "state"), [(1, "running"), (7, "interrupted")])
def test_a_job_of_a_machine_that_is_gone_ends_when_nobody_has_written_for_hours(
    tmp_path: Path, hours: int, state: str
) -> None:
    store = open_store(tmp_path)
    store.begin_job("crawl", lease_owners.signed("{}", _name(1, "other.example")), NOW)
    with store.transaction() as connection:
        lease_owners.close_in(connection, NOW + hours * 3600)
        assert connection.scalar(select(jobs.c.state)) == state
    store.close()
