"""Serving the live page: as the whole command, or beside a crawl on a thread of its own."""

import asyncio
import signal
import socket
import threading
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import NamedTuple

from canonry.crawler.settings import SettingsError
from canonry.crawler.web.live_crawl import LiveCrawl
from canonry.crawler.web.safety import Safety, is_loopback, safety
from canonry.extras import require

PORT = 8_400
LOCAL = "127.0.0.1"
_SECONDS_TO_END = 2.0  # for answers that are under way
_ADVICE = "whoever has this address, with its token, sees the crawl and may change it"


class Place(NamedTuple):
    """Where to serve, and who may look."""

    host: str = LOCAL
    port: int = PORT  # 0: any that is free
    token: str | None = None  # that viewers need; None: one is made where one is needed
    names: Collection[str] = ()  # by which the server may be called besides


def serve(store: str, place: Place, notify: Callable[[str], None]) -> None:
    """Serve the page of a store until the process is asked to stop.

    Args:
        store: a SQLAlchemy URL.
        place: where.
        notify: receives sentences for people.

    Raises:
        MissingExtraError: if the libraries of the page are not installed.
        SettingsError: if the port cannot be opened, or the token not be used.
    """
    require("web", "the live page")

    async def run() -> None:
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        async with _opened(store, place, None) as url:
            _tell(url, place, notify)
            await over.wait()

    asyncio.run(run())


@contextmanager
def served(
    store: str, place: Place | None, crawl: LiveCrawl | None, notify: Callable[[str], None]
) -> Iterator[None]:
    """Serve the page of a store on a thread of its own, while a block runs.

    Args:
        store: a SQLAlchemy URL; the crawl may make it later.
        place: where; None serves nothing.
        crawl: of this process; None if there is none.
        notify: receives sentences for people.

    Raises:
        MissingExtraError, SettingsError: as `serve` does.
    """
    if place is None:
        yield
        return
    require("web", "--serve")
    thread = _Thread(store, place, crawl)
    _tell(thread.start(), place, notify)
    try:
        yield
    finally:
        if crawl is not None:
            crawl.end()
        thread.stop()


class _Thread:
    """A thread with a server and its event loop."""

    def __init__(self, store: str, place: Place, crawl: LiveCrawl | None) -> None:
        self._what = store, place, crawl
        self._is_open = threading.Event()
        self._url = ""
        self._error: Exception | None = None
        self._stopping: Callable[[], object] = lambda: None
        self._thread = threading.Thread(target=self._run, name="canonry-web", daemon=True)

    def start(self) -> str:
        """Start; return the page's address once the port is open."""
        self._thread.start()
        self._is_open.wait()
        if self._error is not None:
            raise self._error
        return self._url

    def stop(self) -> None:
        """End the server, and wait for it."""
        self._stopping()
        self._thread.join()

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except Exception as error:  # noqa: BLE001 - `start` raises it
            self._error = error
        finally:
            self._is_open.set()

    async def _serve(self) -> None:
        loop, over = asyncio.get_running_loop(), asyncio.Event()
        async with _opened(*self._what) as url:
            self._url = url
            self._stopping = lambda: loop.call_soon_threadsafe(over.set)
            self._is_open.set()
            await over.wait()


@asynccontextmanager
async def _opened(store: str, place: Place, crawl: LiveCrawl | None) -> AsyncIterator[str]:
    """Serve while a block runs; yields the page's address, with its token."""
    # Imported where they are needed: a crawl without a page does not wait for them.
    from aiohttp import web  # noqa: PLC0415

    from canonry.crawler.web.app import build  # noqa: PLC0415

    demands = safety(place.host, place.token, _names(place))
    app = build(store, demands, crawl)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=_SECONDS_TO_END)
    await runner.setup()
    try:
        try:
            await web.TCPSite(runner, place.host, place.port).start()
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise SettingsError(
                f"the live page cannot be served on {place.host}, port {place.port}: {reason}; "
                "give another place"
            ) from None
        yield _address(demands, runner.addresses[0][1])
    finally:
        await runner.cleanup()


def _names(place: Place) -> set[str]:
    """Return the names of a server: others reach it by the machine's name, too."""
    machine = () if is_loopback(place.host) else (socket.gethostname(), socket.getfqdn())
    return {*place.names, *machine}


def _address(demands: Safety, port: int) -> str:
    """Return the address of the page, with the token that it needs."""
    host = demands.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - all addresses of this machine: it has a name
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={demands.token}" if demands.token else "")


def _tell(url: str, place: Place, notify: Callable[[str], None]) -> None:
    """Say where the page is."""
    notify(f"The live page: {url}")
    if not is_loopback(place.host):
        notify(f"canonry: {_ADVICE}; it is sent without encryption")
