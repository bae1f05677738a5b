"""Large bodies wait for room, and lose nothing by that."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from support.clocks import Clock
from support.servers import ok, raw_server

from canonry.crawler.fetch.body_reader import BodyRoom
from canonry.crawler.fetch.client import Client
from canonry.crawler.settings import load

LARGE = bytes(range(256)) * 12_000  # 3 MB
SMALL = b"small"
TIMEOUT = 60.0  # seconds


@asynccontextmanager
async def a_client() -> AsyncIterator[Client]:
    """Give a client of a server with large bodies, and small ones at "/small"."""

    def answer(head: bytes) -> bytes:
        return ok(SMALL if head.startswith(b"GET /small") else LARGE)

    async with raw_server(answer) as raw:
        fetch = {"connect_to": [f"::127.0.0.1:{raw.port}"], "timeout": TIMEOUT}
        async with Client(load(None, {"fetch": fetch})) as client:
            yield client


class Visits:
    """Visits that read a body, and last until they are told to end."""

    def __init__(self, client: Client, room: BodyRoom) -> None:
        self.client, self.room = client, room
        self.read: list[str] = []
        self.came: asyncio.Queue[str] = asyncio.Queue()
        self.ended: dict[str, asyncio.Event] = {}

    async def visit(self, path: str) -> float:
        """Return how many seconds the request took."""
        self.ended[path] = asyncio.Event()
        with self.room.visit():
            response = await self.client.get(f"http://a.example/{path}")
            assert response.body == (SMALL if path == "small" else LARGE)
            self.read.append(path)
            self.came.put_nowait(path)
            await self.ended[path].wait()
        return response.elapsed

    async def wait_for_waiting(self, count: int) -> None:
        """Wait until so many bodies wait for room."""
        while len(self.room._waiting) < count:  # noqa: ASYNC110, SLF001 - it tells nobody
            await asyncio.sleep(0.001)


def test_a_large_body_waits_until_a_visit_is_over_and_its_time_does_not_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    clock = Clock(monkeypatch)

    async def run() -> None:
        async with a_client() as client:
            visits = Visits(client, BodyRoom(most=4_000_000))
            first = asyncio.create_task(visits.visit("first"))
            await visits.came.get()
            second = asyncio.create_task(visits.visit("second"))
            await visits.wait_for_waiting(1)
            await clock.forward(2 * TIMEOUT)
            assert visits.read == ["first"], "there is no room for both"
            small = asyncio.create_task(visits.visit("small"))
            await visits.came.get()
            assert visits.read == ["first", "small"], "a small body needs no room"
            visits.ended["first"].set()
            await visits.came.get()
            for event in visits.ended.values():
                event.set()
            assert max(await asyncio.gather(first, second, small)) < TIMEOUT

    asyncio.run(run())


def test_bodies_that_are_each_larger_than_the_room_come_one_after_the_other() -> None:
    async def run() -> None:
        async with a_client() as client:
            visits = Visits(client, BodyRoom(most=1))
            names = [f"{n}" for n in range(4)]
            tasks = [asyncio.create_task(visits.visit(name)) for name in names]
            for n in range(4):
                await visits.came.get()
                await asyncio.sleep(0.01)
                assert len(visits.read) == n + 1
                visits.ended[visits.read[-1]].set()
            await asyncio.gather(*tasks)
            assert sorted(visits.read) == names

    asyncio.run(run())


def test_a_visit_that_is_cancelled_leaves_its_room_and_its_turn() -> None:
    async def run() -> None:
        async with a_client() as client:
            visits = Visits(client, BodyRoom(most=4_000_000))
            holds = asyncio.create_task(visits.visit("holds"))
            await visits.came.get()
            waits = asyncio.create_task(visits.visit("waits"))
            await visits.wait_for_waiting(1)
            last = asyncio.create_task(visits.visit("last"))
            await visits.wait_for_waiting(2)
            for task in (waits, holds):
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await visits.came.get()
            assert visits.read == ["holds", "last"]
            visits.ended["last"].set()
            await last

    asyncio.run(run())
