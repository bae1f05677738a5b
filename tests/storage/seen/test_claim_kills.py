"""Kills at any moment, and older copies of the database put back: no harm."""

import os
import random
import signal
import time
import traceback
from pathlib import Path

import pytest
from support.stores import admit, assert_counts_are_right, open_store

_URLS = [f"http://a.example/{n}" for n in range(3000)]
_FILES = ("store.db", "store.db-wal")


def claim_until_killed(folder: Path, seed: int) -> None:
    """Claim URLs in an order of its own; now and then close the store and open it again."""
    rng = random.Random(seed)
    store = open_store(folder)
    while True:
        admit(store, rng.sample(_URLS, rng.choice((1, 5, 40))))
        if rng.random() < 0.2:
            store.close()
            store = open_store(folder)


def killed(folder: Path, seed: int, seconds: float) -> None:
    """Run `claim_until_killed` in a process of its own, and kill that after a time."""
    errors = folder / "errors.txt"
    process = os.fork()
    if process == 0:
        try:
            claim_until_killed(folder, seed)
        except BaseException:  # noqa: BLE001 - the parent reports it
            errors.write_text(traceback.format_exc(), encoding="utf-8")
        os._exit(1)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)
    assert not errors.exists(), errors.read_text(encoding="utf-8")


def copy_of(folder: Path) -> dict[str, bytes]:
    """Return the bytes of the store's files, while no process has them open."""
    return {name: (folder / name).read_bytes() for name in _FILES if (folder / name).exists()}


def restore(folder: Path, copy: dict[str, bytes]) -> None:
    """Put files of a copy in the place of today's; files that it lacks are deleted."""
    (folder / "store.db-shm").unlink(missing_ok=True)
    for name in _FILES:
        (folder / name).unlink(missing_ok=True)
        if name in copy:
            (folder / name).write_bytes(copy[name])


@pytest.mark.parametrize("seed", range(2))
def test_files_from_different_times_and_kills_lose_nothing(tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    open_store(tmp_path).close()
    copies = [copy_of(tmp_path)]
    for kill in range(20):
        killed(tmp_path, 100 * seed + kill, rng.uniform(0.01, 0.06))
        copies.append(copy_of(tmp_path))
        if rng.random() < 0.4:
            restore(tmp_path, rng.choice(copies))
    store = open_store(tmp_path)
    with store.transaction() as connection:
        known = set(connection.exec_driver_sql("SELECT url FROM urls").scalars())
    assert {u: a.new for u, a in zip(_URLS, admit(store, _URLS), strict=True)} == {
        url: url not in known for url in _URLS
    }
    with store.transaction() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM urls").scalar() == len(_URLS)
        assert_counts_are_right(connection)
    store.close()
