"""Several workers under one command: one crawl, whatever happens to the workers."""

import json
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest
from support import failing_workers
from support.crawls import SEED, page
from support.forking import Fork
from support.servers import raw_server
from support.sites import (
    children,
    crawl_words,
    demo_site,
    exported,
    from_thread,
    pages_of,
    run_command,
    start,
    wait_for,
)
from support.stamping import Stamping, stamping

from canonry.crawler.demo.server import Served
from canonry.crawler.run import workers
from canonry.crawler.settings import load
from canonry.storage.reading import report

CLOCKS = 0.002  # seconds by which a clock may run differently from the kernel's
_WALLS = ("/wall/", "/loop/", "/robots.txt")  # requested again by their nature


@contextmanager
def two_at_work(folder: Path) -> Iterator[tuple[Served, list[str], Fork]]:
    """Start a crawl by two workers, and wait until it has begun."""
    with demo_site(pause=0.01) as served:
        words = crawl_words(
            served,
            "--config",
            "learn.enabled=false",
            "--config",
            "crawl.workers=2",
            "--concurrency",
            "4",
        )
        process = start(folder, *words)
        wait_for(lambda: served.requests > 40)
        yield served, words, process


def test_workers_request_nothing_twice(tmp_path: Path, undisturbed: set[tuple[str, int]]) -> None:
    with demo_site(pause=0.002) as served:
        done = run_command(
            *crawl_words(served, "--config", "learn.enabled=false", "--config", "crawl.workers=3"),
            folder=tmp_path,
        )
        twice = [
            t for t, n in served.targets.items() if n > 1 and not any(sign in t for sign in _WALLS)
        ]
    assert done.returncode == 0, done.stderr
    assert twice == []
    assert pages_of(tmp_path) == undisturbed
    assert b"Traceback" not in done.stderr


def test_a_worker_that_is_killed_is_replaced(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    begun = time.monotonic()
    with two_at_work(tmp_path) as (_, _, process):
        os.kill(children(process)[0], signal.SIGKILL)
        shown, said = process.communicate(timeout=100)
    assert process.returncode == 0, said
    assert b"A worker died (exit code -9); another takes its place." in said
    assert pages_of(tmp_path) == undisturbed
    out = b" ".join([shown, said]).decode()
    spans = re.findall(r"crawl finished after ([0-9.]+) s|pages in ([0-9.]+) s", out)
    [(one, _), (_, other)] = spans
    assert one == other, "it is the span of the run, not of the last worker"
    assert float(one) <= time.monotonic() - begun
    status = json.loads(run_command("status", "--json", folder=tmp_path).stdout)
    assert f"{status['job']['seconds']:.1f}" == one


def test_ctrl_c_stops_all_workers_and_loses_nothing(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    with two_at_work(tmp_path) as (served, words, process):
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=100)
        assert process.returncode == 3, said
        assert said.count(b"Stopping after the requests in flight") == 1
        assert b"the same command resumes" in said
        assert 0 < len(pages_of(tmp_path)) < len(undisturbed)
        before = served.targets.copy()
        assert run_command(*words, folder=tmp_path).returncode == 0
        again = [
            t for t in served.targets - before if t in before and not any(s in t for s in _WALLS)
        ]
    assert again == []
    assert pages_of(tmp_path) == undisturbed


def test_workers_stop_when_their_command_is_killed(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    with two_at_work(tmp_path) as (_, words, process):
        workers = children(process)
        assert len(workers) == 2
        process.kill()
        process.communicate()
        wait_for(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers))
        assert run_command(*words, folder=tmp_path).returncode == 0
    assert pages_of(tmp_path) == undisturbed


def test_an_error_of_all_workers_is_reported_once(tmp_path: Path) -> None:
    done = run_command("crawl", "http://[", "--config", "crawl.workers=2", folder=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count(b"canonry: seed") == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize(("failures", "said"), [(2, 2), (5, 4)])
def test_a_worker_that_fails_is_replaced_unless_too_many_have_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failures: int, said: int
) -> None:
    (tmp_path / "failures").mkdir()
    for n in range(failures):
        (tmp_path / "failures" / str(n)).touch()
    monkeypatch.setenv(failing_workers.FAILURES, str(tmp_path / "failures"))
    monkeypatch.setattr(workers, "_work", failing_workers.work_or_fail)
    monkeypatch.setattr(workers, "_DEATHS", 2)  # of more than the two that begin
    notices: list[str] = []
    store = f"sqlite:///{tmp_path / 's.db'}"
    with from_thread(raw_server(lambda _head: page("/1", "/2"))) as raw:
        fetch = {"connect_to": [f"::127.0.0.1:{raw.port}"]}
        settings = load(None, {"crawl": {"delay": 0.0, "workers": 2}, "fetch": fetch})
        crawl = partial(
            workers.crawl, [SEED], store, settings, notify=notices.append, update=lambda _: None
        )
        if failures > said:
            with pytest.raises(RuntimeError, match="no such luck"):
                crawl()
        else:
            assert crawl().finished
            with report.reading(store) as connection:
                assert report.status(connection)["urls"]["fetched"] == 3
    told = [one for one in notices if "A worker failed (RuntimeError: no such luck)" in one]
    assert len(told) == said


def test_max_pages_is_exceeded_by_no_more_than_the_requests_in_flight(tmp_path: Path) -> None:
    with demo_site(pause=0.002) as served:
        words = crawl_words(
            served, "--config", "crawl.workers=2", "--concurrency", "4", "--max-pages", "50"
        )
        assert run_command(*words, folder=tmp_path).returncode == 0
    assert 50 <= len(exported(tmp_path, "pages")) <= 50 + 4


def test_the_delay_holds_when_a_dead_workers_hosts_are_reclaimed(tmp_path: Path) -> None:
    hosts = {f"h{n}.example" for n in range(4)}

    def asked(server: Stamping) -> Counter[str]:
        return Counter(arrival.host for arrival in server.arrivals())

    with stamping() as server:
        where = ["--connect-to", f"::127.0.0.1:{server.port}", "--scope", "any"]
        how = ["--delay", "0.6", "--config", "crawl.workers=2", "--config", "crawl.log=log.jsonl"]
        process = start(tmp_path, "crawl", *(f"http://{host}/" for host in hosts), *where, *how)
        wait_for(lambda: asked(server).keys() == hosts and min(asked(server).values()) >= 3)
        log = tmp_path / "log.jsonl"
        wait_for(lambda: log.exists() and log.read_bytes().count(b'"fetched"') > 3)
        busy = json.loads(log.read_bytes().splitlines()[-1])["worker"]
        os.kill(int(busy.split(":")[1]), signal.SIGKILL)
        _, said = process.communicate(timeout=100)
        shortest = [server.shortest(host) for host in hosts]
    assert process.returncode == 0, said
    assert b"A worker died" in said
    assert len(exported(tmp_path, "pages")) == 4 * 4 - 1, "one is disallowed"
    by = {json.loads(line)["worker"] for line in log.read_bytes().splitlines()}
    assert len(by) > 1, "other workers took over"
    assert min(shortest) > 0.6 - (CLOCKS if server.is_exact else 0.05)
