"""The commands about files of keys."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.sites import exported, run_command

import canonry

URLS = [f"http://a.example/{n}" for n in range(30)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Make files of keys: a has twenty, b has the last ten of these and ten others."""
    for name, some in (("a", URLS[:20]), ("b", URLS[10:])):
        done = run_command(
            "dedup", "-", "--seen", name, "-o", "/dev/null", folder=tmp_path, data=text(some)
        )
        assert done.returncode == 0, done.stderr
    return tmp_path


def text(urls: list[str]) -> bytes:
    return "".join(f"{url}\n" for url in urls).encode()


def told(*words: str, folder: Path) -> dict[str, object]:
    """Run a command with --json."""
    done = run_command("keys", *words, "--json", folder=folder)
    assert done.returncode == 0, done.stderr
    found: dict[str, object] = json.loads(done.stdout)
    return found


def unseen(name: str, folder: Path) -> list[str]:
    """Return the URLs that a file of keys does not have."""
    done = run_command("dedup", "-", "--seen", name, folder=folder, data=text(URLS))
    return done.stdout.decode().splitlines()


def test_info_tells_what_a_file_is(folder: Path) -> None:
    found = told("info", "a", "--check", folder=folder)
    assert (found["policy"], found["keys"], found["checked"]) == ("web/1", 20, True)
    assert found["bytes"] == (folder / "a").stat().st_size
    done = run_command("keys", "info", "a", folder=folder)
    assert done.stdout == b"20 keys of policy web@1, in 1 part\n"
    data = (folder / "a").read_bytes()
    (folder / "a").write_bytes(data[:12_300] + b"!" + data[12_301:])
    done = run_command("keys", "info", "a", "--check", folder=folder)
    assert done.returncode == 1
    assert b"a: the file of keys is damaged" in done.stderr
    done = run_command("keys", "info", "none", folder=folder)
    assert done.returncode == 2
    assert b"No such file" in done.stderr


def test_merged_files_have_the_keys_of_all(folder: Path) -> None:
    assert told("merge", "a", "b", "-o", "c", folder=folder) == {"keys": 30, "of": 40}
    assert unseen("c", folder) == []
    assert told("merge", "a", "b", "-o", "a", folder=folder)["keys"] == 30
    assert told("info", "a", "--check", folder=folder)["keys"] == 30
    assert {path.name for path in folder.iterdir()} == {"a", "b", "c"}


def test_files_of_two_policies_are_not_merged(folder: Path) -> None:
    words = ["dedup", "-", "--seen", "s", "--policy", "search"]
    run_command(*words, folder=folder, data=text(URLS))
    done = run_command("keys", "merge", "a", "s", "-o", "c", folder=folder)
    assert done.returncode == 2
    assert b"s: its keys are of policy search@" in done.stderr
    assert not (folder / "c").exists()


def test_two_files_are_compared(folder: Path) -> None:
    counts = {"only_first": 10, "only_second": 10, "both": 10}
    assert told("diff", "a", "b", folder=folder) == counts
    done = run_command("keys", "diff", "a", "b", folder=folder)
    assert done.stdout.decode().split("\n")[0].split() == ["10", "only", "in", "a"]
    for side, lacks in (
        ("first", URLS[10:]),
        ("second", URLS[:20]),
        ("both", URLS[:10] + URLS[20:]),
    ):
        assert told("diff", "a", "b", "--only", side, "-o", side, folder=folder) == counts
        assert unseen(side, folder) == lacks
    done = run_command("keys", "diff", "a", "b", "--only", "both", folder=folder)
    assert done.returncode == 2
    assert b"--only and -o belong together" in done.stderr


def test_a_store_knows_the_keys_of_a_file(folder: Path) -> None:
    store = ["--store", "sqlite:///s.db"]
    run_command("dedup", "-", *store, folder=folder, data=text(URLS[15:17]))
    assert told("to-store", "a", *store, folder=folder) == {"keys": 20, "new": 18}
    assert told("to-store", "a", *store, folder=folder) == {"keys": 20, "new": 0}
    done = run_command("dedup", "-", *store, folder=folder, data=text(URLS))
    assert done.stdout.decode().splitlines() == URLS[20:]
    rows = exported(folder, "urls", *store)
    unknown = {row["url"] for row in rows if row["state"] == "held"}
    known = {canonry.key(url).hex() for url in URLS[:15] + URLS[17:20]}
    assert unknown == {f"urn:canonry:key:{key}" for key in known}
    assert {row["reason"] for row in rows if row["url"] in unknown} == {"scheme"}
    with closing(sqlite3.connect(folder / "s.db")) as connection, connection:
        assert connection.execute("SELECT count(*) FROM merges").fetchone() == (0,)


def test_a_file_has_the_keys_of_a_store(folder: Path) -> None:
    store = ["--store", "sqlite:///s.db"]
    run_command("dedup", "-", *store, folder=folder, data=text(URLS[10:]))
    assert told("from-store", *store, "-o", "c", folder=folder) == {"keys": 20}
    assert (folder / "c").read_bytes()[4096:] != b""
    assert told("diff", "b", "c", folder=folder) == {"only_first": 0, "only_second": 0, "both": 20}


def test_a_store_of_another_policy_is_refused(folder: Path) -> None:
    store = ["--store", "sqlite:///s.db"]
    words = ["dedup", "-", *store, "--policy", "search"]
    run_command(*words, folder=folder, data=text(URLS))
    done = run_command("keys", "to-store", "a", *store, folder=folder)
    assert done.returncode == 1
    assert b"its keys were made under policy search@1, not web@1" in done.stderr
