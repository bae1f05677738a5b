"""The way of a store, a rules file and a user from one version of a policy to the next."""

import json
import os
import random
import socket
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from support.next_version import release_web_2, run_python
from support.sites import run_command
from support.stores import open_store

from canonry.crawler.run.job.lease_owners import signed

_URLS = ("http://a.example/x,", "http://a.example/x", "http://a.example/y?&", "http://a.example/y")
_TABLES = {
    "urls": "url, state, reason, depth, hops, host_id",
    "keys": "key, url_id",
    "counts": "kind, name, reason, count",
    "merges": "rules, count",
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tree whose policy "web" has version 2."""
    return release_web_2(tmp_path_factory.mktemp("next"))


def canonry(
    copy: Path, folder: Path, *words: str, lines: tuple[str, ...] = ()
) -> "subprocess.CompletedProcess[str]":
    """Run the command of the next version."""
    text = "".join(f"{line}\n" for line in lines)
    return run_python(copy, "-m", "canonry", *words, folder=folder, text=text)


def distinct(copy: Path, folder: Path, *words: str) -> list[str]:
    """Deduplicate the URLs; return those that are left."""
    done = canonry(copy, folder, "dedup", "-", *words, lines=_URLS)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_store_goes_on_under_its_version_until_it_is_upgraded(copy: Path, tmp_path: Path) -> None:
    store = ("--store", "s.db")
    made = run_command("dedup", "-", *store, folder=tmp_path, data=b"http://a.example/x,\n")
    assert made.returncode == 0
    for words in ((), ("--policy", "web"), ("--policy", "web@1")):
        done = canonry(copy, tmp_path, "canon", *store, *words, _URLS[0])
        assert done.stdout == "http://a.example/x,\n"
        assert done.stderr.count("web@2 is the current version") == 1
        assert "canonry upgrade --policy web --store s.db" in done.stderr
    assert distinct(copy, tmp_path, *store) == [*_URLS[1:]]
    assert distinct(copy, tmp_path) == [_URLS[0], _URLS[2]], "without a store, under version 2"
    for policy in ("web@2", "search", "web@1.toml"):
        done = canonry(copy, tmp_path, "canon", *store, "--policy", policy, _URLS[0])
        assert done.returncode in {1, 2}
        assert done.stdout == ""
    done = canonry(copy, tmp_path, "canon", *store, "--policy", "web@2", _URLS[0])
    assert "its keys were made under policy web@1, not web@2; give --policy web@1" in done.stderr
    assert "canonry upgrade --policy web@2 --store" in done.stderr
    words = ("upgrade", "--policy", "web", *store)
    found = json.loads(canonry(copy, tmp_path, *words, "--dry-run", "--json").stdout)
    assert (found["from"], found["to"]) == ("web/1", "web/2")
    assert (found["urls"], found["merged"], found["split"]) == (4, 2, 0)
    examples = {tuple(one.values()) for one in found["merged_examples"]}
    assert ("http://a.example/x", "http://a.example/x,", "trailing-comma") in examples
    assert ("http://a.example/y", "http://a.example/y?&", "empty-query") in examples
    done = canonry(copy, tmp_path, *words)
    assert done.returncode == 0
    assert "policy web@1 is now web@2: 4 URLs, of which 2 were merged with others" in done.stderr
    assert distinct(copy, tmp_path, *store) == []
    done = canonry(copy, tmp_path, "canon", *store, _URLS[0])
    assert (done.stdout, done.stderr) == ("http://a.example/x\n", "")
    old = run_command("canon", *store, "http://a.example/", folder=tmp_path)
    assert b"web@2, which this program does not know: it has web@1" in old.stderr
    assert "already" in canonry(copy, tmp_path, *words).stderr


def test_a_rules_file_is_applied_under_its_version(copy: Path, tmp_path: Path) -> None:
    assert run_command("dedup", "-", "--store", "s.db", folder=tmp_path, data=b"").returncode == 0
    words = ("rules", "export", "--store", "s.db", "-o", "r.json")
    assert run_command(*words, folder=tmp_path).returncode == 0
    for policy in ((), ("--policy", "web")):
        done = canonry(copy, tmp_path, "canon", "--rules", "r.json", *policy, _URLS[0])
        assert done.stdout == "http://a.example/x,\n"
        assert done.stderr.count("web@2 is the current version") == 1
    done = canonry(copy, tmp_path, "canon", "--rules", "r.json", "--policy", "web@2", _URLS[0])
    assert done.returncode == 2
    assert "learned under policy web@1, not web@2; give --policy web@1" in done.stderr


def test_a_policy_of_ones_own_goes_on_when_its_preset_has_a_new_version(
    copy: Path, tmp_path: Path
) -> None:
    text = 'name = "mine"\nversion = {}\nextends = "{}"\n[add]\ntracking = ["ref"]\n'
    (tmp_path / "mine.toml").write_text(text.format(1, "web@1"))
    store = ("--store", "s.db", "--policy", "mine.toml")
    made = run_command("dedup", "-", *store, folder=tmp_path, data=b"http://a.example/x,\n")
    assert made.returncode == 0
    assert distinct(copy, tmp_path, *store) == [*_URLS[1:]]
    (tmp_path / "mine.toml").write_text(text.format(1, "web@2"))
    done = canonry(copy, tmp_path, "dedup", "-", *store)
    assert "policy mine@1 has changed since the store was made, but not its version" in done.stderr
    done = canonry(copy, tmp_path, "upgrade", *store)
    assert done.returncode == 2
    assert "raise its version" in done.stderr
    (tmp_path / "mine.toml").write_text(text.format(2, "web@2"))
    done = canonry(copy, tmp_path, "canon", *store, _URLS[0])
    assert "made under policy mine@1, not mine@2; give the file of policy mine@1" in done.stderr
    done = canonry(copy, tmp_path, "upgrade", *store)
    assert "policy mine@1 is now mine@2: 4 URLs, of which 2 were merged" in done.stderr
    assert distinct(copy, tmp_path, *store) == []


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
    return [sys.executable, "-m", "canonry", "upgrade", "--policy", "search", "--store", store]


def test_an_upgrade_that_is_killed_goes_on(tmp_path: Path) -> None:
    """Whenever it is killed, the store is whole: as it was, or as it becomes."""
    orders = ("?b=1&a=2", "?a=2&b=1")
    lines = [f"http://h{n % 300}.example/{n}{order}\n" for n in range(10_000) for order in orders]
    data = "".join(lines).encode()
    made = run_command("dedup", "-", "--store", "one.db", folder=tmp_path, data=data)
    assert made.returncode == 0, made.stderr
    with (
        closing(sqlite3.connect(tmp_path / "one.db")) as source,
        closing(sqlite3.connect(tmp_path / "two.db")) as target,
    ):
        source.backup(target)
    before = content(tmp_path / "one.db")
    start = time.monotonic()
    subprocess.run(upgrading(tmp_path, "two.db"), check=True, capture_output=True)
    seconds = time.monotonic() - start
    after = content(tmp_path / "two.db")
    assert len(after["keys"]) < len(before["keys"])
    rng = random.Random(7)
    for _ in range(int(os.environ.get("CANONRY_TEST_KILLS", "6"))):
        with subprocess.Popen(upgrading(tmp_path, "one.db"), stderr=subprocess.PIPE) as process:
            time.sleep(seconds * (0.3 + 0.7 * rng.random()))
            process.kill()
        assert content(tmp_path / "one.db") in (before, after)
    done = subprocess.run(upgrading(tmp_path, "one.db"), capture_output=True, check=False)
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
