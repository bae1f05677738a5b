"""The crawls of a server: which of them are open, and that closing them loses nothing."""

import asyncio
import gc
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from canonry.crawler.frontier import crawls
from canonry.crawler.frontier.calls import pipelined
from canonry.crawler.frontier.crawls import Crawls
from canonry.crawler.frontier.reports import Item
from canonry.storage.frontier.crawl_stores import DEFAULT


class Stored:
    """The frontiers of all crawls, as an opener gives them."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.put: list[str] = []
        self.served: list[str] = []

    def opener(self, name: str) -> "StoredCrawl":
        self.open.append(name)
        return StoredCrawl(self, name)


class StoredCrawl:
    """The frontier of one of them."""

    def __init__(self, stored: Stored, name: str) -> None:
        self._stored, self._name = stored, name

    def put(self, items: Sequence[Item], _now: float) -> list[bool | None]:
        assert self._name in self._stored.open
        self._stored.put += [item.url for item in items]
        return [True] * len(items)

    def put_served(self, _now: float) -> None:
        self._stored.served.append(self._name)

    def close(self) -> None:
        self._stored.open.remove(self._name)


async def put(own: Crawls, name: str) -> list[bool | None]:
    return await (await own.of(name)).put([Item(name, "", b"")])


def test_the_crawls_that_were_used_longest_ago_close(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crawls, "_MOST_OPEN", 3)
    stored = Stored()

    async def use() -> None:
        own = Crawls(str(tmp_path / "crawl.db"), stored.opener)
        for name in (DEFAULT, "a", "b", "a", "c"):
            assert await put(own, name) == [True]
        assert stored.open == [DEFAULT, "a", "c"]
        await put(own, "b")
        assert stored.open == [DEFAULT, "c", "b"]
        found = await asyncio.gather(*(put(own, f"{n % 7}") for n in range(70)))
        assert found == [[True]] * 70, "those that are in use stay, as many as there are"
        await own.close()

    asyncio.run(use())
    assert stored.open == []
    assert len(stored.put) == 76
    assert set(stored.served) == set(stored.put)


def test_a_sweep_closes_what_nobody_uses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = Stored()

    async def use() -> None:
        own = Crawls(str(tmp_path / "crawl.db"), stored.opener)
        for name in (DEFAULT, "a", "b"):
            await put(own, name)
        await own.sweep()
        assert stored.open == [DEFAULT, "a", "b"]
        assert stored.served == [DEFAULT, "a", "b"] * 2
        monkeypatch.setattr(crawls, "_IDLE", 0.0)
        await own.sweep()
        assert stored.open == [DEFAULT]
        assert await put(own, "a") == [True]
        await own.close()

    asyncio.run(use())
    assert stored.put == [DEFAULT, "a", "b", "a"]


def test_what_waits_for_its_answer_is_limited_in_bytes() -> None:
    """A client sends a hundred messages of a megabyte, while the first ones are written."""
    read: list[bytes] = []
    answered: list[object] = []
    most = 0

    class Context:
        async def write(self, answer: object) -> None:
            answered.append(answer)

    async def requests() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b"x" * (1 << 20)

    async def accept(raw: bytes) -> bytes:
        read.append(raw)
        return raw

    async def answer(some: Sequence[bytes]) -> Sequence[bytes]:
        nonlocal most
        most = max(most, len(read) - len(answered))
        await asyncio.sleep(0.001)
        return some

    asyncio.run(pipelined(requests(), accept, answer, Context(), 1_000))  # type: ignore[arg-type]
    assert len(answered) == 100
    assert most <= 18


def test_a_client_that_goes_away_leaves_nothing_behind() -> None:
    """Nothing waits for what nobody will read, of which Python would warn."""
    begun: list[int] = []

    async def requests() -> AsyncIterator[bytes]:
        for n in range(100):
            yield b"%d" % n

    async def accept(raw: bytes) -> bytes:
        return raw

    async def answer(some: Sequence[bytes]) -> Sequence[bytes]:
        begun.append(len(some))
        await asyncio.get_running_loop().create_future()
        return some

    async def goes_away() -> None:
        context: Any = SimpleNamespace(write=None)
        call = asyncio.create_task(pipelined(requests(), accept, answer, context, 10))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(goes_away())
    gc.collect()
    assert len(begun) == 1
