"""Bodies that are read at once, or beside the event loop."""

import asyncio
import hashlib
from itertools import pairwise

import pytest

from canonry.crawler.documents.by_type import read_document
from canonry.crawler.documents.document import Document
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.fetch.response import Response
from canonry.crawler.run import bodies
from canonry.crawler.run.bodies import Bodies
from canonry.crawler.settings import load

URL, KIND = "http://a.example/", {"Content-Type": "text/html"}
BODIES = [
    f"<p>{n} words of page {n} <a href=/{n}>".encode() * 200 * 3**n for n in range(6)
]  # the last three are so large that a thread reads them


def response(body: bytes) -> Response:
    return Response(URL, 200, KIND, {}, body, 0.1)


def digest_of(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()


@pytest.mark.parametrize("kind", ["text/html", "text/html; charset=latin-1", "text/plain", "x/y"])
def test_each_body_is_read_as_if_it_were_alone(kind: str) -> None:
    async def run() -> None:
        reader = Bodies(load(None, {}))
        given = [response(body)._replace(headers={"Content-Type": kind}) for body in BODIES * 3]
        found = await asyncio.gather(*(reader.read(one, links=True, blocks=True) for one in given))
        for one, (digest, document, blocks) in zip(given, found, strict=True):
            assert digest == digest_of(one.body)
            assert blocks == blocks_of(one.body, kind)
            alone = read_document(one.body, one.headers, URL, own_name="canonry")
            assert alone == (document and document._replace(blocks=None))
        assert all(one != other for one, other in pairwise(found))
        for one in given[:6]:
            assert (await reader.read(one, links=False, blocks=False))[1:] == (None, None)
            assert (await reader.read(one, links=False, blocks=True))[1:] == (
                None,
                blocks_of(one.body, kind),
            )

    asyncio.run(run())


def test_visits_that_are_cancelled_or_fail_are_no_fault_of_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(body: bytes, _content_type: str | None, _document: Document | None) -> bytes:
        if body == BODIES[4]:
            raise MemoryError
        return b"blocks"

    async def run() -> None:
        reader = Bodies(load(None, {}))
        large = BODIES[-3:]
        visits = [
            asyncio.create_task(reader.read(response(b), links=False, blocks=True))
            for b in large * 2
        ]
        await asyncio.sleep(0)
        visits[0].cancel()
        found = await asyncio.gather(*visits, return_exceptions=True)
        assert isinstance(found[0], asyncio.CancelledError)
        assert isinstance(found[1], MemoryError)
        assert found[2] == (digest_of(large[2]), None, b"blocks")
        assert isinstance(found[4], MemoryError)
        assert found[5] == found[2]

    monkeypatch.setattr(bodies, "read_text", broken)
    for _ in range(2):
        asyncio.run(run())
