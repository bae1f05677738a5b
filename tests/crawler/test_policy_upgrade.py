"""The way of a store and its user from one policy to another."""

import os
import random
import resource
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.databases import url_of
from support.sites import run_command, start
from support.stores import open_store

from canonry.crawler.run.job.lease_owners import signed
from canonry.storage.sql.engine import open_engine

_TABLES = {
    "urls": "url, state, reason, depth, hops, host_id",
    "keys": "key, url_id",
    "counts": "kind, name, reason, count",
    "merges": "rules, count",
}


def content(url: str) -> dict[str, list[tuple[object, ...]]]:
    """Return what a store holds, table by table."""
    engine = open_engine(url, read_only=True)
    with engine.begin() as connection:
        found = {
            table: sorted(
                map(tuple, connection.exec_driver_sql(f"SELECT {columns} FROM {table}")),  # noqa: S608
                key=repr,
            )
            for table, columns in _TABLES.items()
        }
    engine.dispose()
    return found


def upgrading(url: str, policy: str = "search") -> list[str]:
    """Return the words of the command that changes the policy of a store."""
    return ["upgrade", "--policy", policy, "--store", url]


@pytest.mark.every_database
def test_an_upgrade_that_is_killed_goes_on(tmp_path: Path, database: str) -> None:
    """Whenever it is killed, the store is whole: as it was, or as it becomes."""
    assert database in {"sqlite", "postgresql"}
    orders = ("?b=1&a=2", "?a=2&b=1")
    lines = [f"http://h{n % 300}.example/{n}{order}\n" for n in range(1_500) for order in orders]
    data = "".join(lines).encode()
    folders = tmp_path / "one", tmp_path / "two"
    one, two = map(url_of, folders)
    for folder, url in zip(folders, (one, two), strict=True):
        folder.mkdir()
        made = run_command("dedup", "-", "--store", url, folder=tmp_path, data=data)
        assert made.returncode == 0, made.stderr
    before = content(one)
    begun = time.monotonic()
    assert run_command(*upgrading(two), folder=tmp_path).returncode == 0
    seconds = time.monotonic() - begun
    after = content(two)
    assert len(after["keys"]) < len(before["keys"])
    rng = random.Random(7)
    for _ in range(int(os.environ.get("CANONRY_TEST_KILLS", "6"))):
        with start(tmp_path, *upgrading(one)) as process:
            time.sleep(seconds * (0.1 + 0.9 * rng.random()))
            process.kill()
        assert content(one) in (before, after)
    done = run_command(*upgrading(one), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(one) == after
    again = run_command("dedup", "-", "--store", one, folder=tmp_path, data=data)
    assert again.stdout == b"", "all keys are known"


def test_an_upgrade_on_a_full_disk_leaves_the_store_and_goes_on(tmp_path: Path) -> None:
    """No file may grow beyond a size here: it hits the copy, its log, or putting it in place."""
    lines = [f"http://h.example/{n}{order}\n" for n in range(2_000) for order in ("?b=1&a=2", "")]
    data = "".join(lines).encode()
    folders = tmp_path / "one", tmp_path / "two"
    one, two = map(url_of, folders)
    for folder, url in zip(folders, (one, two), strict=True):
        folder.mkdir()
        assert run_command("dedup", "-", "--store", url, folder=tmp_path, data=data).returncode == 0
    before, size = content(one), (tmp_path / "one/store.db").stat().st_size
    assert run_command(*upgrading(two), folder=tmp_path).returncode == 0
    after = content(two)
    fails = 0
    for share in (0.05, 0.2, 0.5, 0.8, 0.95):
        most = int(size * share)
        done = subprocess.run(
            [sys.executable, "-m", "canonry", *upgrading(one)],
            capture_output=True,
            check=False,
            preexec_fn=lambda most=most: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most)),
        )
        assert b"Traceback" not in done.stderr
        if done.returncode:
            fails += 1
            assert b"the same command goes on" in done.stderr
            assert content(one) == before
    assert fails > 2
    assert run_command(*upgrading(one), folder=tmp_path).returncode == 0
    assert content(one) == after


def test_a_crawl_that_runs_is_in_the_way(tmp_path: Path) -> None:
    """This process stands for the crawl: it lives, and its job says that it runs."""
    store = open_store(tmp_path)
    job = store.begin_job("crawl", signed("{}", f"{socket.gethostname()}:{os.getpid()}:x"), 0.0)
    words = ("upgrade", "--policy", "search", "--store", str(tmp_path / "store.db"))
    done = run_command(*words, folder=tmp_path)
    assert done.returncode == 1
    assert b"a crawl uses it" in done.stderr
    assert run_command(*words, "--dry-run", folder=tmp_path).returncode == 0
    store.end_job(job, "finished", 1.0)
    store.close()
    assert run_command(*words, folder=tmp_path).returncode == 0


def test_wrong_usage_is_told(tmp_path: Path) -> None:
    assert run_command("upgrade", "--dry-run", folder=tmp_path).returncode == 2
    done = run_command("upgrade", "--policy", "search", folder=tmp_path)
    assert done.returncode == 1
    assert b"there is no store" in done.stderr
    open_store(tmp_path).close()
    store = ("--store", str(tmp_path / "store.db"))
    assert run_command("upgrade", "--policy", "nope", *store, folder=tmp_path).returncode == 2
    done = run_command("upgrade", "--policy", "web", "--dry-run", *store, folder=tmp_path)
    assert done.returncode == 0
    assert b"its policy is web@1 already; no key was changed" in done.stderr
