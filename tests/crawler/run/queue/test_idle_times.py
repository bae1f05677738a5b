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

from canonry.crawler.cli.commands import main
from canonry.crawler.run import wiring
from canonry.crawler.settings import load
from canonry.storage.reading import report

DAY = 86_400.0
SEED = "http://a.example/"
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
            await asyncio.wait_for(idle.wait(), 100.0)
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

    began = time.time()
    reason = "robots-unreachable: status 503 with Retry-After" if robots else REASON
    for _ in range(2):
        said = crawl(tmp_path, answer)
        days = {time.strftime("%Y-%m-%d", time.gmtime(at + DAY)) for at in (began, time.time())}
        assert any(day in said for day in days)
        assert "a.example is requested again" in said
        assert reason in said
    with report.reading(f"sqlite:///{tmp_path / 's.db'}") as connection:
        found = report.status(connection)
    [waiting] = found["waiting"]
    assert (waiting["host"], waiting["reason"]) == ("a.example", reason)
    assert waiting["urls"] == found["urls"]["queued"]
    shown = CliRunner().invoke(main, ["status", "--store", f"sqlite:///{tmp_path / 's.db'}"])
    assert "Waiting" in shown.stdout
    assert reason in shown.stdout
