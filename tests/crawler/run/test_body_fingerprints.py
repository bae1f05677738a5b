"""Fingerprints that are made beside the event loop, of many bodies at once."""

import asyncio
import hashlib
from itertools import pairwise

import pytest

from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.run import bodies
from canonry.crawler.run.bodies import Fingerprints

BODIES = [f"<p>{n} words of page {n} </p>".encode() * 40 * 3**n for n in range(6)]


def test_each_body_gets_its_own() -> None:
    async def run() -> None:
        made = Fingerprints()
        found = await asyncio.gather(*(made.of(b, "text/html", read=True) for b in BODIES * 3))
        for body, (digest, blocks) in zip(BODIES * 3, found, strict=True):
            assert digest == hashlib.blake2b(body, digest_size=16).digest()
            assert blocks == blocks_of(body, "text/html") is not None
        assert all(one != other for one, other in pairwise(found))
        for body in BODIES[:: len(BODIES) - 1]:  # a small one, and a large one
            assert (await made.of(body, "text/html", read=False)).blocks is None

    asyncio.run(run())


def test_visits_that_are_cancelled_or_fail_are_no_fault_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(body: bytes, _content_type: str | None) -> bytes:
        if body == BODIES[4]:
            raise MemoryError
        return b"blocks"

    async def run() -> None:
        made = Fingerprints()
        large = BODIES[-3:]
        visits = [asyncio.create_task(made.of(b, None, read=True)) for b in large * 2]
        await asyncio.sleep(0)
        visits[0].cancel()
        found = await asyncio.gather(*visits, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert isinstance(found[1], MemoryError)
        assert found[2] == (hashlib.blake2b(large[2], digest_size=16).digest(), b"blocks")
        assert isinstance(found[4], MemoryError)
        assert found[5] == found[2]

    monkeypatch.setattr(bodies, "blocks_of", broken)
    for _ in range(2):
        asyncio.run(run())
