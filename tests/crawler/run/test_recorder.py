"""The recorder: every outcome is recorded once, in order, however many wait."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from support.stores import visited

from canonry.crawler.admission.known_links import KnownLinks
from canonry.crawler.run.queue.store_session import Recorded
from canonry.crawler.run.recorder import Recorder
from canonry.storage import Outcome, State


class Session:
    """Records outcomes in memory; meanwhile others arrive."""

    queued = 0
    learning_seconds = 0.0
    learning_failed = 0

    def __init__(self, arriving: int) -> None:
        self.recorder: Recorder
        self.arriving = arriving
        self.groups: list[list[int]] = []

    async def record(self, outcomes: Sequence[Outcome], _now: float) -> Recorded:
        if self.arriving:
            self.recorder.put(visited(-self.arriving, State.FETCHED))
            self.arriving -= 1
        await asyncio.sleep(0)
        self.groups.append([outcome.url_id for outcome in outcomes])
        return Recorded([[] for _ in outcomes], {}, {})


class Scheduler:
    """Keeps the ids that were given back."""

    hosts = 0

    def __init__(self, in_flight: int = 0) -> None:
        self.in_flight = in_flight
        self.url_ids: list[int] = []

    def recorded(self, outcomes: Sequence[Outcome], _answer: Recorded, *, queued: bool) -> None:
        assert not queued
        self.url_ids += [outcome.url_id for outcome in outcomes]


@pytest.mark.parametrize("is_early", [False, True])
def test_all_that_wait_are_recorded_once(*, is_early: bool) -> None:
    """Also those that were there before the recorder runs, and those that arrive meanwhile."""
    session, scheduler = Session(arriving=3), Scheduler()
    given: Any = (session, scheduler)
    session.recorder = recorder = Recorder(*given, KnownLinks(), lambda: 0.0, None)

    async def run() -> None:
        running = None if is_early else asyncio.create_task(recorder.run())
        for url_id in range(200):
            recorder.put(visited(url_id, State.FETCHED))
        recorder.close()
        await (recorder.run() if running is None else running)

    asyncio.run(run())
    expected = [*range(200), -3, -2, -1]
    assert scheduler.url_ids == expected
    assert [url_id for group in session.groups for url_id in group] == expected


@pytest.mark.parametrize(("in_flight", "groups"), [(0, [[1], [2]]), (3, [[1, 2]])])
def test_what_comes_soon_shares_the_transaction_if_anything_may_come(
    in_flight: int, groups: list[list[int]]
) -> None:
    session, scheduler = Session(arriving=0), Scheduler(in_flight)
    given: Any = (session, scheduler)
    recorder = Recorder(*given, KnownLinks(), lambda: 0.0, None)

    async def run() -> None:
        recorder.put(visited(1, State.FETCHED))
        running = asyncio.create_task(recorder.run())
        await asyncio.sleep(0)
        recorder.put(visited(2, State.FETCHED))
        recorder.close()
        await running

    asyncio.run(run())
    assert session.groups == groups
