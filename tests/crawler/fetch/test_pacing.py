"""The client asks its pacer in time: the bytes of a request leave when the pacer lets them."""

import asyncio

import pytest
from support.clocks import Clock
from support.servers import ok, raw_server

from canonry.crawler.fetch.client import Client
from canonry.crawler.settings import load

TIMEOUT = 60.0  # seconds


class Noting:
    """A pacer that notes what happens, beside what the server gets."""

    def __init__(self, events: list[str], clock: Clock) -> None:
        self.events = events
        self.clock = clock

    async def turn(self, url: str) -> None:
        """Take longer than the time limit of a request."""
        self.events.append(f"turn {url[-2:]}")
        await self.clock.forward(2 * TIMEOUT * url.endswith("1"))

    async def clearance(self, url: str) -> None:
        """Give the server time to get bytes that were sent too early."""
        await asyncio.sleep(0.02)
        self.events.append(f"clearance {url[-2:]}")

    def sent(self, url: str) -> None:
        """Note it."""
        self.events.append(f"sent {url[-2:]}")

    def arrived(self, url: str) -> None:
        """Note it."""
        self.events.append(f"arrived {url[-2:]}")


def test_a_request_waits_for_its_turn_and_again_when_it_is_connected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    pacer = Noting(events, Clock(monkeypatch))

    def answer(head: bytes) -> bytes:
        events.append(f"server got {head.split(b' ')[1].decode()}")
        return ok(b"x")

    async def run() -> None:
        async with raw_server(answer) as raw:
            fetch = {"connect_to": [f"::127.0.0.1:{raw.port}"], "timeout": TIMEOUT}
            async with Client(load(None, {"fetch": fetch}), pacer) as client:
                for path in ("/1", "/2"):  # the second one on the same connection
                    await client.get(f"http://a.example{path}")

    asyncio.run(run())
    steps = ("turn", "clearance", "sent", "server got", "arrived")
    assert events == [f"{step} {path}" for path in ("/1", "/2") for step in steps]


def test_a_request_that_is_repeated_on_a_new_connection_waits_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    events: list[str] = []
    pacer = Noting(events, Clock(monkeypatch))

    async def run() -> None:
        async def gone(writer: asyncio.StreamWriter) -> None:
            writer.transport.abort()

        async with raw_server(lambda _: ok(b"x") if len(raw.heads) != 2 else gone) as raw:
            fetch = {"connect_to": [f"::127.0.0.1:{raw.port}"], "timeout": TIMEOUT}
            async with Client(load(None, {"fetch": fetch}), pacer) as client:
                for path in ("/1", "/2"):
                    await client.get(f"http://a.example{path}")
            assert len(raw.heads) == 3

    asyncio.run(run())
    again = ["turn /2", "clearance /2", "sent /2", "clearance /2", "sent /2", "arrived /2"]
    assert events[4:] == again
