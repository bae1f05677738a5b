"""Serve the live page: as a command of its own, or during a crawl on its own thread."""

import asyncio
import signal
import socket
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from canonry.crawler.fetch.open_files import for_viewers
from canonry.crawler.observe.progress import LiveCrawl
from canonry.crawler.web.listening import Where, listening, on_thread
from canonry.crawler.web.safety import Safety, is_loopback, safety

if TYPE_CHECKING:
    from aiohttp import web

PORT = 8_400
LOCAL = "127.0.0.1"
_ADVICE = "whoever has this address, with its token, sees the crawl"


class Place(NamedTuple):
    """Where to serve, and who may view the page."""

    host: str = LOCAL
    port: int = PORT  # 0: any that is free
    token: str | None = None  # that viewers need; None: generated if needed
    names: Collection[str] = ()  # further names of the server


def serve(store: str, place: Place, notify: Callable[[str], None]) -> None:
    """Serve the page of a store until the process is asked to stop.

    Args:
        store: a SQLAlchemy URL.
        place: where.
        notify: receives sentences for people.

    Raises:
        SettingsError: if the port cannot be opened, or the token not be used.
    """
    demands = _demands(place)

    async def run() -> None:
        over = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, over.set)
        async with listening(_application(store, demands, None), _where(place)) as port:
            _tell(_address(demands, port), place, notify)
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
        SettingsError: as `serve` does.
    """
    if place is None:
        yield
        return
    demands = _demands(place)
    with on_thread(partial(_application, store, demands, crawl), _where(place)) as port:
        _tell(_address(demands, port), place, notify)
        try:
            yield
        finally:
            if crawl is not None:
                crawl.end()


def _application(store: str, demands: Safety, crawl: LiveCrawl | None) -> "web.Application":
    """Return the application of the page; a crawl without a page does not load its libraries."""
    from canonry.crawler.web.app import build  # noqa: PLC0415

    return build(store, demands, crawl)


def _where(place: Place) -> Where:
    return Where("the live page", place.host, place.port, for_viewers())


def _demands(place: Place) -> Safety:
    """Return who may view the page; the machine's names count if other machines can reach it."""
    machine = () if is_loopback(place.host) else (socket.gethostname(), socket.getfqdn())
    return safety(place.host, place.token, {*place.names, *machine})


def _address(demands: Safety, port: int) -> str:
    """Return the address of the page, with the token that it needs."""
    host = demands.host
    if host in {"0.0.0.0", "::"}:  # noqa: S104 - all addresses of this machine: it has a name
        host = socket.gethostname()
    name = f"[{host}]" if ":" in host else host
    return f"http://{name}:{port}/" + (f"?token={demands.token}" if demands.token else "")


def _tell(url: str, place: Place, notify: Callable[[str], None]) -> None:
    """Notify people of the address of the page."""
    notify(f"The live page: {url}")
    if not is_loopback(place.host):
        notify(f"canonry: {_ADVICE}; it is sent without encryption")
