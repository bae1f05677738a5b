"""The scheduler: who waits for work can be cancelled at any moment."""

import asyncio
from pathlib import Path

from support.leasing_workers import NOW, leasing_workers

from canonry.crawler.run.queue.scheduler import Scheduler, no_address
from canonry.crawler.settings.sources import load


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
