"""The server of the live page and the metrics, which leaves enough resources for the crawl.

The number of connections and the time to send a request are limited. Further clients wait in the
system's queue, where they take no open file of this process.
"""

import asyncio
import logging
import socket
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from canonry.crawler.settings import SettingsError

if TYPE_CHECKING:
    from aiohttp import web
from typing import TYPE_CHECKING

from canonry.crawler.observe.metrics import Collector
from canonry.crawler.observe.progress import Progress
from canonry.extras import require

LAST_PORT = 65_535
SECONDS_TO_ASK = 15.0  # for the head of a request, and again for its body
_SECONDS_TO_END = 2.0  # for responses in progress
_PAUSE = 0.05  # seconds between checks for a free connection
_CONNECTIONS = 4  # Prometheus uses one, a health check another


class Where(NamedTuple):
    """What is served, and where."""

    what: str  # for people
    host: str
    port: int  # 0: any that is free
    connections: int  # that clients may have at once


@asynccontextmanager
async def listening(app: "web.Application", where: Where) -> AsyncIterator[int]:
    """Serve an application while a block runs; yields the port.

    Raises:
        SettingsError: if the port cannot be opened.
    """
    from aiohttp import web  # noqa: PLC0415 - a crawl that serves nothing does not wait for it

    runner = web.AppRunner(
        app,
        access_log=None,
        logger=_logger(),
        keepalive_timeout=SECONDS_TO_ASK,  # also for the first request of a connection
        auto_decompress=False,  # no form is compressed
        shutdown_timeout=_SECONDS_TO_END,
    )
    await runner.setup()
    assert runner.server is not None  # noqa: S101 - it is set up
    accepting: list[asyncio.Task[None]] = []
    try:
        with ExitStack() as stack:
            listeners = await _opened(where, stack)
            for listener in listeners:
                accept = _accept(listener, runner.server, where.connections)
                accepting.append(asyncio.create_task(accept))
            try:
                yield listeners[0].getsockname()[1]
            finally:
                for task in accepting:
                    task.cancel()
                await asyncio.gather(*accepting, return_exceptions=True)
    finally:
        await runner.cleanup()


@contextmanager
def on_thread(app: Callable[[], "web.Application"], where: Where) -> Iterator[int]:
    """Serve as `listening` does, on its own thread, where a function makes the application."""
    opened: Future[tuple[int, Callable[[], object]]] = Future()

    async def run() -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        async with listening(app(), where) as port:
            opened.set_result((port, partial(loop.call_soon_threadsafe, over.set)))
            await over.wait()

    def work() -> None:
        try:
            asyncio.run(run())
        except Exception as error:  # noqa: BLE001 - the caller raises it
            opened.set_exception(error)

    thread = threading.Thread(target=work, name="canonry-web", daemon=True)
    thread.start()
    port, stop = opened.result()
    try:
        yield port
    finally:
        stop()
        thread.join()


async def _opened(where: Where, stack: ExitStack) -> list[socket.socket]:
    """Return sockets that listen on all addresses of a host; the stack closes them."""
    find = asyncio.get_running_loop().getaddrinfo
    kind, flags = socket.SOCK_STREAM, socket.AI_PASSIVE
    listeners = []
    try:
        for family, *_, address in await find(where.host, where.port, type=kind, flags=flags):
            listener = socket.create_server(address[:2], family=family)
            listeners.append(stack.enter_context(listener))
            listener.setblocking(False)  # noqa: FBT003 - socket has no other way
    except OSError as error:
        raise SettingsError(
            f"{where.what} cannot be served on {where.host}, port {where.port}: "
            f"{error.strerror or error}; give another place"
        ) from None
    return listeners


async def _accept(listener: socket.socket, server: "web.Server", connections: int) -> None:
    """Accept connections whenever there are fewer than allowed."""
    loop = asyncio.get_running_loop()
    while True:
        try:
            while len(server.connections) >= connections:  # noqa: ASYNC110 - there is no event
                await asyncio.sleep(_PAUSE)
            accepted, _address = await loop.sock_accept(listener)
            await loop.connect_accepted_socket(server, accepted)
        except OSError:  # the client has gone, or no open file is left for it
            await asyncio.sleep(_PAUSE)


def _logger() -> logging.Logger:
    """Return the logger of errors in our handlers."""
    logger = logging.getLogger("canonry.web")
    logger.addFilter(_is_ours)
    return logger


def _is_ours(record: logging.LogRecord) -> bool:
    """Return False for errors caused by a malformed request, which need no log."""
    from aiohttp import web  # noqa: PLC0415 - as above
    from aiohttp.http_exceptions import HttpProcessingError  # noqa: PLC0415 - as above

    error = record.exc_info[1] if record.exc_info else None
    return not isinstance(error, (HttpProcessingError, web.RequestPayloadError))


@contextmanager
def served(where: str, store: str, progress: Callable[[], Progress]) -> Iterator[None]:
    """Serve the metrics while a crawl runs.

    Args:
        where: ``PORT`` for this machine only, or ``HOST:PORT``; "" serves nothing.
        store: a SQLAlchemy URL.
        progress: returns the current progress of the run.

    Raises:
        MissingExtraError: if prometheus_client is not installed.
        SettingsError: if the port cannot be opened.
    """
    if not where:
        yield
        return
    require("metrics", "--metrics")
    host, _, port = where.rpartition(":")
    if not port.isdecimal() or int(port) > LAST_PORT:
        raise SettingsError(f"--metrics {where}: allowed are PORT and HOST:PORT")
    place = Where(f"--metrics {where}", host.strip("[]") or "127.0.0.1", int(port), _CONNECTIONS)
    with on_thread(lambda: _application(Collector(store, progress)), place):
        yield


def _application(collector: Collector) -> "web.Application":
    """Return an application that responds with the metrics on every path."""
    from aiohttp import web  # noqa: PLC0415 - a crawl that serves nothing does not wait for it
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 - optional
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - optional

    registry = CollectorRegistry()
    registry.register(collector)
    alone = asyncio.Lock()  # one read of the store at a time

    async def metrics(request: web.Request) -> web.Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        async with alone:
            body = await asyncio.to_thread(encode, registry)
        response = web.Response(body=body, headers={"Content-Type": content_type})
        response.enable_compression()
        return response

    app = web.Application()
    app.router.add_get("/{path:.*}", metrics)
    return app
