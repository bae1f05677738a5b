"""The server of the live page and the metrics, which leaves enough resources for the crawl.

The number of connections and the time to send a request are limited.
"""

import asyncio
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from canonry.crawler.observe.metrics import Collector
from canonry.crawler.observe.progress import LiveCrawl
from canonry.crawler.settings import SettingsError
from canonry.extras import require

if TYPE_CHECKING:
    from aiohttp import web

LAST_PORT = 65_535
SECONDS_TO_ASK = 15.0  # for the head of a request
_SECONDS_TO_END = 2.0  # for responses in progress
_AT_ONCE = 16  # connections that are accepted before they are counted
_CLOSED = "Invalid file descriptor: -1"  # what selectors say of a closed socket
_CONNECTIONS = 8  # Prometheus uses one, a health check another


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
        shutdown_timeout=_SECONDS_TO_END,
    )
    await runner.setup()
    answering = runner.server
    assert answering is not None  # noqa: S101 - it is set up

    def accepted() -> asyncio.BaseProtocol:
        is_full = len(answering.connections) >= where.connections
        return _Full() if is_full else answering()

    try:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(_say_nothing_of_full_tables)
        opened = await loop.create_server(accepted, where.host, where.port, backlog=_AT_ONCE)
    except OSError as error:
        await runner.cleanup()
        raise SettingsError(
            f"{where.what} cannot be served on {where.host}, port {where.port}: "
            f"{error.strerror or error}; give another place"
        ) from None
    try:
        yield opened.sockets[0].getsockname()[1]
    finally:
        opened.close()
        await runner.cleanup()


def _say_nothing_of_full_tables(
    loop: asyncio.AbstractEventLoop, context: dict[str, object]
) -> None:
    """Handle an error of a loop: without an open file it accepts nobody for a second, and goes on.

    The crawl says that none is left. If it ends in this second, asyncio goes on all the same, with
    a socket that is closed.
    """
    from canonry.crawler.fetch.open_files import is_shortage  # noqa: PLC0415 - only for errors

    error = context.get("exception")
    is_closed = isinstance(error, ValueError) and str(error) == _CLOSED
    if not (is_closed or (isinstance(error, OSError) and is_shortage(error))):
        loop.default_exception_handler(context)


class _Full(asyncio.Protocol):
    """Closes a connection, for which there is no room."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()


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
def served(where: str, store: str, crawl: LiveCrawl) -> Iterator[None]:
    """Serve the metrics while a crawl runs.

    Args:
        where: ``PORT`` for this machine only, or ``HOST:PORT``; "" serves nothing.
        store: a SQLAlchemy URL.
        crawl: of this process.

    Raises:
        MissingExtraError: if prometheus_client is not installed.
        SettingsError: if the port cannot be opened.
    """
    if not where:
        yield
        return
    require("metrics", "crawl.metrics")
    host, _, port = where.rpartition(":")
    if not port.isdecimal() or int(port) > LAST_PORT:
        raise SettingsError(f"metrics = {where}: allowed are PORT and HOST:PORT")
    place = Where(f"metrics = {where}", host.strip("[]") or "127.0.0.1", int(port), _CONNECTIONS)
    with on_thread(lambda: _application(Collector(store, crawl)), place):
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
