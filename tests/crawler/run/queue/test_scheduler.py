"""The scheduler: who waits for work can be cancelled at any moment, and leases are few."""

import asyncio
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from support.leasing_workers import NOW, leasing_workers

from canonry.crawler.run.queue.scheduler import Scheduler, no_address
from canonry.crawler.run.queue.store_session import Leased
from canonry.crawler.settings.sources import load
from canonry.storage import Outcome, Page, Queued, State
from canonry.storage.learned import classes

PAGE = Page(200, 0.1, "text/html", 1, b"d" * 16, None, None, 0)


def test_a_cancellation_counts_also_when_there_is_work_at_the_same_moment(tmp_path: Path) -> None:
    with leasing_workers(tmp_path, "a") as (one, _other):

        async def run() -> bool:
            scheduler = Scheduler(
                one.session, load(None, {}), one.turns, lambda: NOW, no_address, print
            )
            assert await scheduler.next() is not None
            waiting = asyncio.create_task(scheduler.next())  # until the host's delay is over
            await asyncio.sleep(0.2)
            assert not waiting.done()
            scheduler.stop()  # it ends the wait, as an outcome does
            waiting.cancel()
            await asyncio.wait({waiting})
            return waiting.cancelled()

        assert asyncio.run(run())


def test_the_store_is_not_asked_again_and_again_while_only_deferred_urls_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with leasing_workers(tmp_path, "a") as (one, _other):
        with one.store.transaction() as connection:
            classes.defer(connection, [2, 3, 4, 5])
        leases, lease = [], one.session.lease
        seconds = count(int(NOW))

        async def counted(now: float, *args: Any, **more: Any) -> Leased:  # noqa: ANN401 - as given
            leases.append(now)
            return await lease(now, *args, **more)

        async def run() -> list[int]:
            clock = lambda: float(next(seconds))  # noqa: E731 - a second passes with each look
            scheduler = Scheduler(one.session, load(None, {}), one.turns, clock, no_address, print)
            url_ids = []
            given: list[Any] = []  # while the answer took its time
            while (found := given.pop() if given else await scheduler.next()) is not None:
                host, work = found
                assert isinstance(work, Queued)
                url_ids.append(work.url_id)
                for _ in range(5):  # the answer takes its time
                    waiting = asyncio.create_task(scheduler.next())
                    await asyncio.sleep(0.01)
                    waiting.cancel()
                    await asyncio.wait({waiting})
                    if not waiting.cancelled() and (more := waiting.result()) is not None:
                        given.insert(0, more)
                outcome = Outcome(work, State.FETCHED, page=PAGE)
                scheduler.visited(host, outcome)
                answer = await one.session.record([outcome], NOW)
                scheduler.recorded([outcome], answer, queued=False)
            return url_ids

        monkeypatch.setattr(one.session, "lease", counted)
        assert asyncio.run(run()) == [1, 2, 3, 4, 5]
        assert len(leases) <= 5 + 3
