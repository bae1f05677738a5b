"""A clock that was wrong: the resumed crawl goes on, whatever times the store has."""

import asyncio
import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from support.crawls import page, target_of
from support.servers import Answer, ok, raw_server

from canonry.crawler.run import wiring
from canonry.crawler.settings import load
from canonry.storage.reading import report

SEED = "http://a.example/"
_PATIENCE = 100.0  # seconds
HOUR, DAY = 3_600.0, 86_400.0
_READY = ("ready_at", "hosts")


class Site:
    """A site on which one page is busy the first time it is asked for."""

    def __init__(self) -> None:
        self.requested: Counter[str] = Counter()
        self.notices: list[str] = []
        self.retry_after = ""

    def answer(self, head: bytes) -> Answer:
        target = target_of(head)
        self.requested[target] += 1
        if target == "/":
            return page("/1", "/busy", "/3")
        if target == "/busy" and self.requested[target] == 1:
            more = [f"Retry-After: {self.retry_after}"] if self.retry_after else []
            return ok(b"", *more, status="503 Busy")
        return ok(b"") if target == "/robots.txt" else page()

    def crawl(
        self, folder: Path, max_pages: int = 0, until: Callable[[], bool] | None = None
    ) -> None:
        """Crawl to the end, or until something is so and a little longer; waiting long fails."""

        async def run() -> None:
            async with raw_server(self.answer) as raw:
                connect = [f"::127.0.0.1:{raw.port}"]
                crawl = {"delay": 0.0, "max_pages": max_pages, "concurrency": 1}
                fetch = {"connect_to": connect, "retry_wait": 0.3}
                store = f"sqlite:///{folder / 's.db'}"
                settings = load(None, {"crawl": crawl, "fetch": fetch})
                crawling = wiring.crawl([SEED], store, settings, notify=self.notices.append)
                async with asyncio.timeout(_PATIENCE), asyncio.TaskGroup() as tasks:
                    task = tasks.create_task(crawling)
                    while until and not until():  # noqa: ASYNC110 - it looks into a database
                        await asyncio.sleep(0.02)
                    if until:
                        await asyncio.sleep(0.2)
                        assert not task.done(), "it waits"
                        task.cancel()

        asyncio.run(run())


@pytest.mark.parametrize("wrong", [2 * HOUR, 40 * DAY, -2 * HOUR, -40 * DAY])
def test_a_crawl_goes_on_after_the_clock_was_corrected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: float
) -> None:
    site, right = Site(), time.time
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: right() + wrong)
        site.crawl(tmp_path, max_pages=3)
    assert not [notice for notice in site.notices if "clock" in notice]
    site.crawl(tmp_path)
    site.crawl(tmp_path)
    told = [notice for notice in site.notices if "clock" in notice]
    assert len(told) == (wrong > 0), "once, by the run that corrects it"
    assert site.requested["/busy"] == 2
    assert (site.requested["/1"], site.requested["/3"]) == (1, 1)
    assert site.requested["/robots.txt"] == (1 if wrong == -2 * HOUR else 2)
    with report.reading(f"sqlite:///{tmp_path / 's.db'}") as connection:
        pages = list(report.rows(connection, "pages"))
    assert len(pages) == 4


@pytest.mark.parametrize("leased", [True, False])
@pytest.mark.parametrize("ahead", [2 * HOUR, 40 * DAY])
def test_waits_that_no_crawl_makes_keep_nobody_waiting(
    tmp_path: Path, ahead: float, leased: bool
) -> None:
    site = Site()
    site.crawl(tmp_path, max_pages=1)
    then = time.time() + ahead
    with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
        database.execute("UPDATE url_rows SET due = ? WHERE state = 0", (then,))
        database.execute("UPDATE hosts SET ready_at = ?", (then,))
        if leased:
            until = then + 60
            database.execute("UPDATE hosts SET holder = 'away:1:x', held_until = ?", (until,))
        database.execute("UPDATE robots SET expires_at = ?", (then + DAY,))
        database.execute("UPDATE jobs SET started_at = started_at - 60, ended_at = NULL")
    site.crawl(tmp_path)
    assert site.requested["/3"] == 1
    assert site.requested["/robots.txt"] == 2, "a file that was fetched in the future is old"


def test_a_host_that_asked_for_time_gets_it_from_the_resumed_crawl(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site, right = Site(), time.time
    site.retry_after = str(5 * 3_600)

    def times(column: str, table: str) -> float:
        with closing(sqlite3.connect(tmp_path / "s.db")) as database, database:
            [[found]] = database.execute(f"SELECT max({column}) FROM {table}")  # noqa: S608
        return float(found) - right()

    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: right() + 2 * HOUR)
        site.crawl(tmp_path, until=lambda: site.requested["/busy"] == 1 and times(*_READY) > HOUR)
    for _ in range(2):
        site.crawl(tmp_path, until=lambda: times(*_READY) < 6 * HOUR)
        assert times(*_READY) == pytest.approx(5 * HOUR, abs=60)
        assert times("due", "urls WHERE state = 0") == pytest.approx(5 * HOUR, abs=60)
    assert site.requested["/busy"] == 1
