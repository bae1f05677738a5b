"""Hosts that do not answer keep no other host from its turn."""

import asyncio
from pathlib import Path

import pytest
from support.crawls import crawl, host_of, target_of
from support.servers import Answer, ok

from canonry.crawler.run.queue import scheduler
from canonry.crawler.run.queue.politeness import Politeness
from canonry.crawler.run.queue.turns import Turns

MUTE = 9


def test_a_host_is_asked_while_more_hosts_are_mute_than_requests_may_be_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The mute ones answer when the other host was asked, which comes last."""
    monkeypatch.setattr(scheduler, "_PATIENCE", 0.1)
    asked = asyncio.Event()

    async def waits(writer: asyncio.StreamWriter) -> None:
        await asked.wait()
        writer.write(ok(b"<p>late</p>", "Content-Type: text/html"))

    def answer(head: bytes) -> Answer:
        if target_of(head) == "/robots.txt":
            return ok(b"", status="404 Not Found")
        if host_of(head).startswith("mute"):
            return waits
        asked.set()
        return ok(b"<p>good</p>", "Content-Type: text/html")

    seeds = [*(f"http://mute-{n}.example/" for n in range(MUTE)), "http://good.example/"]
    _found, rows = crawl(
        tmp_path, answer, seeds=seeds, concurrency=3, timeout=20.0, retries=0, scope="any"
    )
    assert len(rows) == MUTE + 1


def test_a_host_that_did_not_answer_yields_to_others() -> None:
    turns = Turns(Politeness(delay=0.0, per_host=1))
    for name in ("mute.example", "good.example", "other.example"):
        turns.want(name, 30)
        turns.place(name, None)
    taken = []
    for now in range(18):
        name = turns.take(float(now))
        assert name is not None
        taken.append(name)
        turns.answered(name, None if name == "mute.example" else 0.1)
        turns.done(name)
    assert taken.count("mute.example") <= 3
    assert taken.count("good.example") >= 6
