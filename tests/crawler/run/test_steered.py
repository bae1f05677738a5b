"""A running crawl follows what people change in its queue, within a second."""

import asyncio
import threading
from collections import Counter
from pathlib import Path

from support.crawls import SEED, crawl, host_of, page, target_of
from support.servers import Answer, ok
from support.sites import wait_for
from support.stores import assert_counts_are_right

from canonry.crawler.admission import exclusions
from canonry.storage.reading import report
from canonry.storage.records import HOST_BLOCKED, PATTERN_EXCLUDED
from canonry.storage.steering import blocked_hosts, releases, steered_patterns
from canonry.storage.steering.releases import Refusal
from canonry.storage.steering.short_steps import ShortSteps

_MANY = 40
_LINKS = [
    *(f"http://b.example/{'x' * n}" for n in range(1, _MANY)),
    *(f"/day/{n}/" for n in range(_MANY)),
    "/near",
]


def test_a_running_crawl_follows_blocks_exclusions_and_releases(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    asked: Counter[str] = Counter()
    at_change: Counter[str] = Counter()

    def out_of_scope() -> int:
        with report.reading(store) as connection:
            held: int = report.status(connection)["held"].get("out-of-scope", 0)
            return held

    def steer() -> None:
        wait_for(lambda: out_of_scope() == 2, 60)
        with ShortSteps(store) as opened:
            blocked_hosts.block(opened, "b.example")
            steered_patterns.exclude(opened, exclusions.named("a.example/day/*/"))
            releases.release(opened, Refusal("held", "out-of-scope"))
        at_change.update(asked)

    steering = threading.Thread(target=steer)

    async def late(writer: asyncio.StreamWriter) -> None:
        """Answer when all is changed: a crawl that waits for nothing would have ended."""
        await asyncio.to_thread(steering.join)
        writer.write(page("http://d.example/"))

    def answer(head: bytes) -> Answer:
        host, target = host_of(head), target_of(head)
        if target == "/robots.txt":
            return ok(b"", status="404 Not Found")
        asked[f"{host}{'/day' if target.startswith('/day') else ''}"] += 1
        if asked["b.example"] == 3 and not steering.is_alive() and not at_change:
            steering.start()
            return late
        return (
            page(*_LINKS, "http://c.example/") if host == "a.example" else page("http://d.example/")
        )

    crawl(
        tmp_path,
        answer,
        seeds=(SEED, "http://b.example/"),
        scope="host",
        delay=0.15,
        requests_per_host=1,
        timeout=90.0,
    )
    soon = 16  # requests: more than twice those of a second, and one in flight
    assert asked["b.example"] <= at_change["b.example"] + soon
    assert asked["a.example/day"] <= at_change["a.example/day"] + soon
    assert asked["c.example"] == asked["d.example"] == 1, "they were released"
    with report.reading(store) as connection:
        assert_counts_are_right(connection)
        found = report.status(connection)
    assert found["urls"]["queued"] == 0
    assert found["held"][HOST_BLOCKED] >= _MANY - 1 - at_change["b.example"] - soon
    assert found["held"][PATTERN_EXCLUDED] >= _MANY - at_change["a.example/day"] - soon


def test_a_blocked_host_stays_blocked_in_later_runs(tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path / 'store.db'}"
    asked: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        asked[host_of(head)] += 1
        return page("http://b.example/", "/1", "/2") if host_of(head) == "a.example" else page("/x")

    crawl(tmp_path, answer, scope="any")
    with ShortSteps(store) as opened:
        blocked_hosts.block(opened, "b.example")
    before = asked.copy()
    crawl(tmp_path, answer, scope="any", recrawl_after="0s")
    assert asked["b.example"] == before["b.example"]
    assert asked["a.example"] > before["a.example"]
    with report.reading(store) as connection:
        assert_counts_are_right(connection)
        assert report.status(connection)["held"] == {HOST_BLOCKED: 2}
    with ShortSteps(store) as opened:
        assert blocked_hosts.unblock(opened, "b.example") == 2
    crawl(tmp_path, answer, scope="any")
    assert asked["b.example"] == before["b.example"] + 2, "robots.txt is kept"
