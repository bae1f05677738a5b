"""What others see of a crawl: the log, the metrics, the live display."""

import json
import os
import pty
import re
import subprocess
import sys
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.ports import free_port
from support.sites import crawl_words, demo_site, exported, run_command, start, wait_for

from canonry.crawler.observe import metrics
from canonry.crawler.observe.log import Log, LogLine
from canonry.crawler.observe.progress import LiveCrawl, Progress, Rate, total
from canonry.crawler.settings import SettingsError
from canonry.crawler.web import listening
from canonry.storage import Outcome, Queued, State, StoreError


def lines_of(path: Path) -> list[dict[str, Any]]:
    """Return the lines of a log; each is what its schema says."""
    lines = path.read_text().splitlines()
    found = [json.loads(line) for line in lines]
    read = [msgspec.json.decode(line, type=LogLine) for line in lines]
    assert [msgspec.to_builtins(line) for line in read] == found
    return found


def test_the_log_has_a_line_for_each_outcome(tmp_path: Path) -> None:
    with demo_site() as served:
        words = crawl_words(
            served, "--config", "crawl.workers=2", "--config", "crawl.log=crawl.log"
        )
        assert run_command(*words, folder=tmp_path).returncode == 0
    told = [line for line in lines_of(tmp_path / "crawl.log") if line["event"] != "said"]
    events = Counter(line["event"] for line in told)
    stored = Counter(url["state"] for url in exported(tmp_path, "urls"))
    assert events["fetched"] == stored["fetched"]
    assert events["redirected"] == stored["redirected"]
    assert events["failed"] == stored["failed"]
    fetched = [line for line in told if line["event"] == "fetched"]
    assert all(line["status"] and line["seconds"] > 0 for line in fetched)
    assert any(line.get("redirect") for line in told)


def test_a_log_that_was_moved_away_is_created_again(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "a.log"), "me")
    queued = Queued(1, "http://u:secret@a.example/", 0, 0, 2)
    log.outcome(Outcome(queued, State.QUEUED, retry_at=5.0), [])
    (tmp_path / "a.log").rename(tmp_path / "a.log.1")
    log.outcome(Outcome(queued, State.FAILED, "timeout"), [])
    log.message("enough")
    log.close()
    [retry] = lines_of(tmp_path / "a.log.1")
    failed, said = lines_of(tmp_path / "a.log")
    assert (retry["event"], retry["attempts"], retry["worker"]) == ("retry", 3, "me")
    assert retry["url"] == "http://u:***@a.example/"
    assert (failed["event"], failed["reason"]) == ("failed", "timeout")
    assert said["message"] == "enough"


def test_a_log_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    done = run_command(
        "crawl", "http://a.example/", "--config", "crawl.log=no/such/file", folder=tmp_path
    )
    assert done.returncode == 2
    assert b"crawl.log=no/such/file: No such file or directory" in done.stderr


def scraped(port: int) -> dict[str, dict[str, float]]:
    """Scrape the metrics; return them by name and label."""
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
        text = answer.read().decode()
    return {
        family.name: {",".join(s.labels.values()): s.value for s in family.samples}
        for family in text_string_to_metric_families(text)
    }


@pytest.mark.parametrize("workers", ["1", "2"])
def test_metrics_are_served_while_a_crawl_runs(tmp_path: Path, workers: str) -> None:
    port = free_port()
    found: dict[str, dict[str, float]] = {}

    def counted() -> bool:
        nonlocal found
        try:
            found = scraped(port)
        except OSError:  # nothing listens yet, or it answers late
            return False
        links_known, stored = found["canonry_links_known"][""], found["canonry_store_pages"]
        return found["canonry_pages"][""] > 20 and links_known > 0 and "200" in stored

    with demo_site(pause=0.05) as served:
        words = crawl_words(
            served, "--config", f"crawl.metrics={port}", "--config", f"crawl.workers={workers}"
        )
        process = start(tmp_path, *words, "--concurrency", "8")
        wait_for(counted)
        process.terminate()
        process.communicate(timeout=30)
    assert found["canonry_store_urls"]["fetched"] >= found["canonry_pages"][""]
    assert found["canonry_store_pages"]["200"] > 0
    assert found["canonry_links"][""] > found["canonry_links_known"][""] > 0
    assert found["canonry_store_merged"]
    assert found["canonry_response_seconds"][""] > 0.05


def test_metrics_before_the_store_exists() -> None:
    crawl = LiveCrawl()
    crawl.update(Progress(pages=3, probes=2))
    families = {f.name: f for f in metrics.Collector("sqlite:///no.db", crawl).collect()}
    assert families["canonry_pages"].samples[0].value == 3
    assert families["canonry_probes"].samples[0].value == 2
    assert families["canonry_store_urls"].samples == []


@pytest.mark.parametrize("where", ["99999", "no-such-host.invalid:80"])
def test_a_port_that_cannot_be_opened_is_wrong_usage(where: str) -> None:
    with (
        pytest.raises(SettingsError, match=f"metrics = {where}.*(allowed are PORT|give another)"),
        listening.served(where, "sqlite://", LiveCrawl()),
    ):
        pass


def test_the_rate_covers_the_last_seconds() -> None:
    rate = Rate()
    assert rate.at(0.0, 0) == 0.0
    assert rate.at(5.0, 50) == 10.0
    for second in range(6, 40):
        now = rate.at(float(second), 50)
    assert now == 0.0
    slow = Rate(120.0)
    assert [slow.at(float(second), second // 60) for second in (0, 59, 119)] == [0, 0, 1 / 119]


def test_several_workers_add_up() -> None:
    found = total(
        [
            Progress(pages=2, probes=4, queued=9, waited=0.5),
            Progress(pages=3, probes=1, queued=7, waited=1.0),
        ]
    )
    assert (found.pages, found.probes, found.queued, found.waited) == (5, 5, 9, 1.5)


def test_a_terminal_shows_the_crawl_and_a_pipe_does_not(tmp_path: Path) -> None:
    try:
        ours, theirs = pty.openpty()
    except OSError as error:
        pytest.skip(f"needs a pseudo-terminal: {error}")
    with demo_site(pause=0.05) as served:
        words = crawl_words(served, "--concurrency", "4")
        process = subprocess.Popen(
            [sys.executable, "-m", "canonry", *words],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=theirs,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "60"},
        )
        os.close(theirs)
        shown = b""
        while True:
            try:
                part = os.read(ours, 65_536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            shown += part
        assert process.wait(timeout=60) == 0
    os.close(ours)
    assert b"now " in shown
    assert b"merged by" in shown
    lines = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown.decode()).splitlines()
    about = ("run ", "queue ", "now ", "links ", "store ")
    assert max(len(line) for line in lines if line.startswith(about)) <= 60
    with demo_site() as served:
        done = run_command(*crawl_words(served), folder=tmp_path)
    assert b"merged by" not in done.stderr


def test_a_log_that_cannot_be_written_is_named() -> None:
    log = Log("/dev/full", "w")
    with pytest.raises(StoreError, match=r"^crawl.log=/dev/full: No space left on device$"):
        log.message("x")
    log.close()
