"""The metrics of a crawl for Prometheus, on a port of their own."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from canonry.crawler.observe.metrics import Collector
from canonry.crawler.observe.progress import Progress
from canonry.crawler.settings import SettingsError
from canonry.crawler.web.listening import LAST_PORT, Where, on_thread
from canonry.extras import require

if TYPE_CHECKING:
    from aiohttp import web

_CONNECTIONS = 4  # Prometheus uses one, a check of health another


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
    """Return an application that answers on each path with the metrics."""
    from aiohttp import web  # noqa: PLC0415 - a crawl that serves nothing does not wait for it
    from prometheus_client import CollectorRegistry  # noqa: PLC0415 - optional
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415 - optional

    registry = CollectorRegistry()
    registry.register(collector)
    alone = asyncio.Lock()  # one look at the store at a time

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
