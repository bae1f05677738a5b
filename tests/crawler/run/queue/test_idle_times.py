"""A host that asks for a day: said by the crawl, in the status and in the live display."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.crawls import page, target_of
from support.servers import Answer, ok, raw_server
from support.stores import admit, open_store, visited

from canonry.crawler.cli import live
from canonry.crawler.cli.commands import main
from canonry.crawler.run import wiring
from canonry.crawler.settings import load
from canonry.storage import State, report
from canonry.storage.rows import leases
from canonry.storage.rows.waiting import waiting_hosts, waits_for

SEED = "http://a.example/"
NOW = 1_000_000.0
REASON = "server: status 503 with Retry-After"


def crawl(folder: Path, answer: Callable[[bytes], Answer]) -> str:
    """Crawl until it is said that there is nothing to do; return what was said."""
    notices: list[str] = []

    async def run() -> None:
        async with raw_server(answer) as raw:
            fetch = {"connect_to": [f"::127.0.0.1:{raw.port}"]}
            settings = load(None, {"crawl": {"delay": 0.0}, "fetch": fetch})
            store = f"sqlite:///{folder / 's.db'}"
            idle = asyncio.Event()

            def notify(message: str) -> None:
                if message.startswith("Nothing to do"):
                    notices.append(message)
                    idle.set()

            crawling = asyncio.create_task(wiring.crawl([SEED], store, settings, notify=notify))
            await asyncio.wait_for(idle.wait(), 10.0)
            crawling.cancel()
            with suppress(asyncio.CancelledError):
                await crawling

    asyncio.run(run())
    [said] = notices
    return said


@pytest.mark.parametrize(("robots", "links"), [(True, 0), (False, 2_000)])
def test_a_crawl_that_waits_for_a_day_says_so_and_so_does_the_resumed_one(
    tmp_path: Path, robots: bool, links: int
) -> None:
    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/robots.txt" and not robots:
            return ok(b"")
        if target == "/" and not robots:
            return page(*(f"/{n}" for n in range(links)))
        return ok(b"", "Retry-After: 86400", status="503 Busy")

    reason = "robots-unreachable: status 503 with Retry-After" if robots else REASON
    for _ in range(2):
        said = crawl(tmp_path, answer)
        day = time.strftime("%Y-%m-%d %H:", time.gmtime(time.time() + 86_400 - 60))
        assert day[:10] in said
        assert "a.example is asked again" in said
        assert reason in said
    with report.reading(f"sqlite:///{tmp_path / 's.db'}") as connection:
        found = report.status(connection)
    [waiting] = found["waiting"]
    assert (waiting["host"], waiting["reason"]) == ("a.example", reason)
    assert waiting["urls"] == found["urls"]["queued"]
    shown = CliRunner().invoke(main, ["status", "--store", f"sqlite:///{tmp_path / 's.db'}"])
    assert "Waiting" in shown.stdout
    assert reason in shown.stdout
    assert waiting["until"][:10] in live.waits(waiting)
    assert reason in live.waits(waiting)


def test_what_a_crawl_waits_for_is_what_comes_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rows = [one.row for one in admit(store, [f"http://{name}.example/" for name in "abc"])]
    with store.transaction() as connection:
        assert waits_for(connection, NOW) is None, "all may be asked"
    outcomes = [
        visited(row, State.QUEUED, reason, retry_at=NOW + wait)
        for row, reason, wait in zip(rows, ("x", "y", "z"), (500.0, 30.0, 40.0), strict=True)
    ]
    store.record(outcomes, NOW)
    with store.transaction() as connection:
        leases.pace(connection, {"a.example": 0.0, "b.example": NOW + 600, "c.example": NOW}, {})
        first = waits_for(connection, NOW)
        assert first is not None
        assert tuple(first) == ("c.example", NOW + 40, "z", 1)
        assert waits_for(connection, NOW + 41) is None
        assert [tuple(host) for host in waiting_hosts(connection, NOW)] == [
            ("b.example", NOW + 600, "y", 1)
        ]
        leases.pace(connection, {"b.example": NOW + 65}, {"b.example": 60.0})
        assert waiting_hosts(connection, NOW) == [], "its own delay is no news"
    store.close()
