"""What clients of the live page and of the metrics cannot do: take much, wait long, break it."""

import asyncio
import logging
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress

import pytest
from aiohttp import web
from support.live_pages import Viewer, live_page
from support.ports import free_port
from support.sites import wait_for

from canonry.crawler.observe.progress import LiveCrawl
from canonry.crawler.web import listening, serving

_HOST = b"Host: 127.0.0.1\r\n"


@pytest.fixture
def port(viewer: Viewer) -> int:
    return viewer.address.port or 0


def answer(port: int, request: bytes) -> bytes:
    """Return the first line that the server sends; b"" if it closes the connection."""
    with (
        suppress(ConnectionError),
        socket.create_connection(("127.0.0.1", port), timeout=10) as one,
    ):
        one.sendall(request)
        return one.makefile("rb").readline()
    return b""


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: [::1].evil.example\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost:abc\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: localhost:99999\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),
        (b"GET /" + b"a" * 20_000 + b" HTTP/1.1\r\n" + _HOST + b"\r\n", b"400"),
        (b"GET /static/" + b"a" * 5_000 + b" HTTP/1.1\r\n" + _HOST + b"\r\n", b"414"),
        (b"GET / HTTP/1.1\r\n" + _HOST + b"X: y\r\n" * 1_000 + b"\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\x01\x00\r\n\r\n", b"400"),
    ],
)
def test_what_is_no_request_gets_an_answer_and_leaves_no_traceback(
    port: int, request_bytes: bytes, status: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert answer(port, request_bytes).split()[1] == status
    assert [one for one in caplog.records if one.levelno >= logging.WARNING] == []


@pytest.mark.parametrize("begin", [b"", b"GET / HTTP/1.1\r\nHost: loc"])
def test_a_request_has_to_arrive_in_time(
    begin: bytes, crawled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "SECONDS_TO_ASK", 0.2)
    with live_page(crawled) as viewer:
        assert answer(viewer.address.port or 0, begin) == b""


def page_port(store: str, stack: ExitStack) -> int:
    return stack.enter_context(live_page(store)).address.port or 0


def metrics_port(store: str, stack: ExitStack) -> int:
    port = free_port()
    stack.enter_context(listening.served(str(port), store, LiveCrawl()))
    return port


@pytest.mark.parametrize("opened", [page_port, metrics_port])
def test_viewers_have_so_many_connections_and_no_more(
    opened: Callable[[str, ExitStack], int], crawled: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(serving, "for_viewers", lambda: 8)
    request = b"GET / HTTP/1.1\r\n" + _HOST + b"\r\n"
    with ExitStack() as stack:
        port = opened(crawled, stack)
        with ExitStack() as idle:
            for _ in range(8):
                idle.enter_context(socket.create_connection(("127.0.0.1", port)))
            time.sleep(0.3)  # until they are accepted
            assert answer(port, request) == b""
        wait_for(lambda: answer(port, request).split()[1:2] == [b"200"])


def test_a_socket_that_is_closed_before_it_is_served_again_is_no_news(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Without an open file, asyncio serves again a second later, be the server closed by then."""

    async def body() -> None:
        where = listening.Where("it", "127.0.0.1", 0, 4)
        async with listening.listening(web.Application(), where):
            with socket.socket() as closed:
                pass
            loop = asyncio.get_running_loop()
            loop.call_soon(loop.add_reader, closed.fileno(), print)
            await asyncio.sleep(0.01)

    asyncio.run(body())
    assert not caplog.records
