"""Whole crawls on the demo site: complete, once each, resumable whatever happens to them."""

import asyncio
import json
import os
import random
import signal
import sqlite3
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner
from msgspec import structs
from sqlalchemy import Connection, func, select
from support.forking import Fork
from support.servers import raw_server
from support.sites import (
    crawl_words,
    demo_site,
    exported,
    from_thread,
    pages_of,
    run_command,
    start,
    wait_for,
)

from canonry.canon.policies import Policy
from canonry.crawler.cli.commands import main
from canonry.crawler.demo import run as demo
from canonry.crawler.demo.server import Served
from canonry.crawler.documents import html
from canonry.crawler.fetch.robots import RobotsChecker, Verdict
from canonry.crawler.run import wiring
from canonry.storage import Admission
from canonry.storage.reading import report
from canonry.storage.seen.seen_set import SeenSet
from canonry.storage.sql.schema import urls


@pytest.mark.slow
@pytest.mark.parametrize("policy", ["web", "search"])
def test_the_demo_finds_everything_and_merges_nothing_wrongly(policy: str, tmp_path: Path) -> None:
    """It keeps the store, in the place of an earlier one that nobody can read."""
    store = demo.kept_store(tmp_path / "kept", policy)
    store.parent.mkdir()
    store.write_text("not a store")
    words = ["demo", "--policy", policy, "--keep", str(store.parent), "--json"]
    printed = CliRunner().invoke(main, words).stdout
    found = msgspec.json.decode(printed, type=demo.DemoResults)
    assert msgspec.to_builtins(found) == msgspec.json.decode(printed), "no field is lost"
    [result] = found.crawls
    with report.reading(f"sqlite:///{store}") as connection:
        assert report.status(connection)["urls"]["fetched"] >= result.fetched
    assert result.missed == []
    assert result.disallowed == 0
    assert result.is_right
    assert result.fetched == result.resources > 300
    assert result.endless < 20
    assert (result.fetched_again > 0) == (policy == "web"), "it lacks the rules for heuristics"
    acted = {rule for row in result.merged for rule in row["rules"].split(" + ")}
    assert acted >= {
        "percent-case",
        "percent-unreserved",
        "scheme-case",
        "host-case",
        "dot-segments",
        "empty-port",
        "default-port",
        "tracking",
        "empty-query",
        "fragment",
    }
    statuses = {row["status"] for row in result.aliases if row["kind"] == "redirect"}
    assert {301, 302, 307, 308} <= statuses


@pytest.mark.slow
def test_the_demo_ends_with_what_to_look_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command is named as it was called, since it is not on the path."""
    monkeypatch.setattr(sys, "argv", [".venv/bin/canonry", "demo"])
    monkeypatch.setenv("PATH", "")
    said = CliRunner().invoke(main, ["demo", "--policy", "search", "--keep", str(tmp_path)]).output
    store = demo.kept_store(tmp_path, "search")
    assert f": .venv/bin/canonry serve --store {store}" in said
    assert f": .venv/bin/canonry rules list --store {store}" in said
    assert " rule 0 " not in " ".join(said.split())


# Planted faults. The demo's comparison has to see each of them, and nothing else beside it.


@pytest.mark.slow
def test_the_demo_sees_pages_that_are_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reader of HTML drops every other link."""
    whole = html.read

    def careless(*args: Any, **options: Any) -> html.Document:  # noqa: ANN401 - passed on
        document = whole(*args, **options)
        return document._replace(links=document.links[::2])

    monkeypatch.setattr(html, "read", careless)
    [result] = demo.run(["search"])
    assert len(result.missed) == result.resources - result.fetched > 0
    assert not result.is_right
    assert (result.fetched_again, result.disallowed) == (0, 0)


@pytest.mark.slow
def test_the_demo_sees_pages_that_are_fetched_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """The seen set calls each key new twice."""
    claim = SeenSet.claim
    again: set[bytes] = set()

    def forgetful(
        seen: SeenSet, connection: Connection, wanted: Sequence[bytes]
    ) -> list[Admission]:
        answers = claim(seen, connection, wanted)
        known = connection.scalar(select(func.max(urls.c.id))) or 0
        url_id = 1 + max([known, *(answer.url_id for answer in answers if answer.new)])
        for place, (key, answer) in enumerate(zip(wanted, answers, strict=True)):
            if not answer.new and key not in again:
                again.add(key)
                answers[place] = Admission(url_id, new=True)
                url_id += 1
        return answers

    monkeypatch.setattr(SeenSet, "claim", forgetful)
    [result] = demo.run(["search"])
    assert result.repeated > 100
    assert not result.is_right
    assert (result.missed, result.disallowed) == ([], 0)


@pytest.mark.slow
def test_the_demo_sees_a_rule_that_does_not_act(monkeypatch: pytest.MonkeyPatch) -> None:
    """The policy names the rule, but the crawl works without it."""
    named = wiring.policy_for

    def without(store: str, name: str | None) -> Policy:
        policy = named(store, name)
        return structs.replace(policy, practice=policy.practice - {"session-id"})

    monkeypatch.setattr(wiring, "policy_for", without)
    [result] = demo.run(["search"])
    assert set(result.again_for_want_of) == {"session-id"}
    assert not result.is_right
    assert (result.missed, result.disallowed) == ([], 0)


@pytest.mark.slow
def test_the_demo_sees_pages_that_robots_txt_forbids(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every verdict of a robots.txt is "allowed"."""
    obey = RobotsChecker.check

    async def ignore(robots: RobotsChecker, url: str) -> Verdict:
        return (await obey(robots, url))._replace(allowed=True)

    monkeypatch.setattr(RobotsChecker, "check", ignore)
    [result] = demo.run(["search"])
    assert result.disallowed > 0
    assert not result.is_right
    assert (result.missed, result.fetched_again) == ([], 0)


def reached(served: Served, process: Fork, requests: int) -> bool:
    """Return True if a crawl has sent so many requests, or ended."""
    return served.requests >= requests or process.poll() is not None


def test_a_killed_crawl_does_not_run_for_ever(tmp_path: Path) -> None:
    def states() -> list[str]:
        with closing(sqlite3.connect(tmp_path / "canonry.db")) as database:
            return [state for (state,) in database.execute("SELECT state FROM jobs ORDER BY id")]

    def state_shown() -> str:
        done = run_command("status", "--json", folder=tmp_path)
        return str(json.loads(done.stdout)["job"]["state"])

    with demo_site(pause=0.05) as served:
        process = start(tmp_path, *crawl_words(served))
        with process:
            wait_for(partial(reached, served, process, 5))
            assert state_shown() == "running"
            process.kill()
            process.communicate()
        assert states() == ["running"]
        assert state_shown() == "interrupted"
        done = run_command(*crawl_words(served, "--max-pages", "1"), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert states() == ["interrupted", "finished"]


def test_a_crawl_that_is_killed_repeatedly_finds_the_same_pages(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    rng = random.Random(2)
    concurrency, kills = 8, int(os.environ.get("CANONRY_TEST_KILLS", "6"))
    with demo_site(pause=0.002) as served:
        words = crawl_words(
            served, "--config", "learn.enabled=false", "--concurrency", str(concurrency)
        )
        for _ in range(kills):
            process = start(tmp_path, *words)
            until = served.requests + rng.randrange(5, 60)
            wait_for(partial(reached, served, process, until))
            process.send_signal(signal.SIGKILL)
            process.communicate()
        done = run_command(*words, folder=tmp_path)
        assert done.returncode == 0, done.stderr
        again = sum(count - 1 for count in served.targets.values())
        # Cookie walls and loops need two requests; robots.txt is in the store.
        natural = sum(
            n - 1
            for target, n in served.targets.items()
            if "/wall/" in target or "/loop/" in target
        )
    assert pages_of(tmp_path) == undisturbed
    assert again - natural <= kills * concurrency


def test_ctrl_c_loses_nothing_and_repeats_no_request(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    with demo_site(pause=0.002) as served:
        words = crawl_words(served, "--config", "learn.enabled=false")
        process = start(tmp_path, *words)
        wait_for(lambda: served.requests > 80)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=100)
        assert process.returncode == 3
        assert b"the same command resumes" in said
        assert b"Traceback" not in said
        assert 0 < len(pages_of(tmp_path)) < len(undisturbed)
        assert run_command(*words, folder=tmp_path).returncode == 0
        twice = {
            t
            for t, n in served.targets.items()
            if n > 1 and "/wall/" not in t and "/loop/" not in t
        }
    assert twice == set()
    assert pages_of(tmp_path) == undisturbed


def test_a_crawl_that_nobody_listens_to_stops_and_goes_on_as_others(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    """The reader of its messages has left, as that of "2>&1 | head" does."""
    with demo_site(pause=0.002) as served:
        words = crawl_words(served)
        with start(tmp_path, *words) as process:
            wait_for(lambda: served.requests > 80)
            process.stderr.close()
            process.terminate()
            assert process.wait(60) == 3
        assert 0 < len(pages_of(tmp_path)) < len(undisturbed)
        with start(tmp_path, *words) as process:
            process.stderr.close()
            assert process.wait(60) == 0
    assert pages_of(tmp_path) == undisturbed


def test_ctrl_c_twice_stops_at_once(tmp_path: Path) -> None:
    """The server answers when the crawl has ended, or else after its time limit."""
    (tmp_path / "c.toml").write_text("[fetch]\ntimeout = 1000.0\n")
    ended, answered = threading.Event(), threading.Event()

    async def silence(_writer: asyncio.StreamWriter) -> None:
        await asyncio.to_thread(ended.wait)
        answered.set()

    with from_thread(raw_server(lambda _head: silence)) as raw:
        words = ["--connect-to", f"::127.0.0.1:{raw.port}", "--config", "c.toml"]
        process = start(tmp_path, "crawl", "http://a.example/", *words)
        try:
            wait_for(lambda: len(raw.heads) == 1)
            process.send_signal(signal.SIGINT)
            assert b"Ctrl-C again stops at once" in process.stderr.readline()
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=100)
        finally:
            process.kill()
            ended.set()
            assert answered.wait(60)
    assert process.returncode == 3


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_two_processes_share_a_store_and_repeat_no_request(
    tmp_path: Path, undisturbed: set[tuple[str, int]], store_words: list[str]
) -> None:
    with demo_site(pause=0.002) as served:
        words = crawl_words(served, "--config", "learn.enabled=false", *store_words)
        both = [start(tmp_path, *words) for _ in range(2)]
        said = [process.communicate(timeout=100)[1] for process in both]
        assert [process.returncode for process in both] == [0, 0], said
        twice = {
            target
            for target, n in served.targets.items()
            if n > 1 and not any(sign in target for sign in ("/wall/", "/loop/", "/robots.txt"))
        }
    assert twice == set()
    assert pages_of(tmp_path, *store_words) == undisturbed


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
def test_workers_that_are_killed_lose_nothing(
    tmp_path: Path, undisturbed: set[tuple[str, int]], store_words: list[str]
) -> None:
    rng = random.Random(7)
    concurrency, kills = 8, 4
    with demo_site(pause=0.002) as served:
        words = crawl_words(
            served,
            "--config",
            "learn.enabled=false",
            "--concurrency",
            str(concurrency),
            *store_words,
        )
        running = [start(tmp_path, *words) for _ in range(2)]
        for _ in range(kills):
            until = served.requests + rng.randrange(10, 60)
            wait_for(partial(reached, served, running[0], until))
            running[0].send_signal(signal.SIGKILL)
            running[0].communicate()
            running = [running[1], start(tmp_path, *words)]
        for process in running:
            _, said = process.communicate(timeout=100)
            assert process.returncode == 0, said
        again = sum(
            n - 1
            for target, n in served.targets.items()
            if not any(sign in target for sign in ("/wall/", "/loop/", "/robots.txt"))
        )
    assert pages_of(tmp_path, *store_words) == undisturbed
    assert again <= kills * concurrency


def test_the_same_command_on_a_finished_store_requests_nothing(tmp_path: Path) -> None:
    with demo_site() as served:
        assert run_command(*crawl_words(served), folder=tmp_path).returncode == 0
        before = served.requests
        done = run_command(*crawl_words(served), folder=tmp_path)
        assert done.returncode == 0
        assert served.requests == before


def test_max_pages_is_exact_and_a_larger_limit_resumes(tmp_path: Path) -> None:
    with demo_site() as served:
        for limit in (1, 20, 20, 33):
            done = run_command(*crawl_words(served, "--max-pages", str(limit)), folder=tmp_path)
            assert done.returncode == 0, done.stderr
            assert len(exported(tmp_path, "pages")) == limit


def test_lifted_limits_release_what_they_held(
    tmp_path: Path, undisturbed: set[tuple[str, int]]
) -> None:
    with demo_site() as served:
        narrow = crawl_words(served, "--scope", "host", "--max-depth", "1")
        assert run_command(*narrow, folder=tmp_path).returncode == 0
        first = pages_of(tmp_path)
        held = exported(tmp_path, "refused")
        assert {url["state"] for url in held} == {"held", "failed"}
        assert {url["reason"] for url in held} >= {"out-of-scope", "too-deep", "robots", "loop"}
        assert all(url["found_on"] for url in held)
        assert run_command(*crawl_words(served), folder=tmp_path).returncode == 0
    assert first < undisturbed
    assert pages_of(tmp_path) == undisturbed


def test_a_json_summary_is_one_object_on_stdout(tmp_path: Path) -> None:
    with demo_site() as served:
        done = run_command(*crawl_words(served, "--json"), folder=tmp_path)
    found: dict[str, Any] = json.loads(done.stdout)
    assert found["finished"] is True
    assert found["urls"]["queued"] == 0
    assert found["run"]["pages"] == sum(found["pages_by_status"].values())
    assert found["job"]["state"] == "finished"
    assert found["failed"] == {"loop": 1}
    assert {"scheme", "host"} <= {row["reason"] for row in found["refused"]}


def test_aliases_have_a_row_for_each_hop_and_its_status(tmp_path: Path) -> None:
    with demo_site() as served:
        assert run_command(*crawl_words(served), folder=tmp_path).returncode == 0
    hops = {(a["url"], a["same_as"], a["status"]) for a in exported(tmp_path, "aliases")}
    assert ("http://shop.example/loop/a", "http://shop.example/loop/b", 302) in hops
    assert ("http://shop.example/loop/b", "http://shop.example/loop/a", 302) in hops
    assert any(url == same and "/wall/" in url and status == 302 for url, same, status in hops)
    kinds = {a["kind"] for a in exported(tmp_path, "aliases")}
    assert kinds - {"rule"} == {"redirect", "canonical"}
