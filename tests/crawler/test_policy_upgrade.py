"""The way of a store and its user from one policy to another."""

import os
import random
import socket
import sqlite3
import time
from contextlib import closing
from pathlib import Path

from support.sites import run_command, start
from support.stores import open_store

from canonry.crawler.run.job.lease_owners import signed

_TABLES = {
    "urls": "url, state, reason, depth, hops, host_id",
    "keys": "key, url_id",
    "counts": "kind, name, reason, count",
    "merges": "rules, count",
}


def content(file: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return what a store holds, table by table."""
    with closing(sqlite3.connect(file)) as connection:
        return {
            table: sorted(connection.execute(f"SELECT {columns} FROM {table}"), key=repr)  # noqa: S608
            for table, columns in _TABLES.items()
        }


def upgrading(folder: Path, name: str) -> list[str]:
    """Return the command that changes the policy of a store to "search"."""
    store = str(folder / name)
    return ["upgrade", "--policy", "search", "--store", store]


def test_an_upgrade_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Whenever it is killed, the store is whole: as it was, or as it becomes."""
    orders = ("?b=1&a=2", "?a=2&b=1")
    lines = [f"http://h{n % 300}.example/{n}{order}\n" for n in range(3_000) for order in orders]
    data = "".join(lines).encode()
    made = run_command("dedup", "-", "--store", "one.db", folder=tmp_path, data=data)
    assert made.returncode == 0, made.stderr
    with (
        closing(sqlite3.connect(tmp_path / "one.db")) as source,
        closing(sqlite3.connect(tmp_path / "two.db")) as target,
    ):
        source.backup(target)
    before = content(tmp_path / "one.db")
    begun = time.monotonic()
    assert run_command(*upgrading(tmp_path, "two.db"), folder=tmp_path).returncode == 0
    seconds = time.monotonic() - begun
    after = content(tmp_path / "two.db")
    assert len(after["keys"]) < len(before["keys"])
    rng = random.Random(7)
    for _ in range(int(os.environ.get("CANONRY_TEST_KILLS", "4"))):
        with start(tmp_path, *upgrading(tmp_path, "one.db")) as process:
            time.sleep(seconds * rng.random())
            process.kill()
        assert content(tmp_path / "one.db") in (before, after)
    done = run_command(*upgrading(tmp_path, "one.db"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert content(tmp_path / "one.db") == after
    again = run_command("dedup", "-", "--store", "one.db", folder=tmp_path, data=data)
    assert again.stdout == b"", "the filter is that of the new keys"


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
