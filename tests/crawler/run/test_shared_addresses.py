"""Processes that crawl hosts on one address keep its pause together, as the server sees."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import pairwise
from pathlib import Path

import pytest
from aiohttp import web
from support.databases import url_of
from support.sites import from_thread, pages_of, start, wait_for

_DELAY, _PAUSE = 0.3, 0.1  # between two requests to a host, and to an address
_CLOCKS = 0.05  # a request may arrive later, and the next one sooner
_PAGES = 6
_SETTINGS = f"""
[crawl]
delay = {_DELAY}
[fetch]
allow_private = true
"""


class _Site:
    """Pages that link to each other; it records when requests arrive."""

    def __init__(self) -> None:
        self.port = 0
        self.arrived: list[tuple[float, str]] = []

    async def answer(self, request: web.BaseRequest) -> web.Response:
        self.arrived.append((time.monotonic(), request.host.partition(":")[0]))
        links = "".join(f'<a href="/{n}">{n}</a>' for n in range(_PAGES))
        body = f"<title>{request.host}{request.path}</title>{links}"
        return web.Response(text=body, content_type="text/html")


@asynccontextmanager
async def _serving() -> AsyncIterator[_Site]:
    site = _Site()
    runner = web.ServerRunner(web.Server(site.answer))
    await runner.setup()
    tcp = web.TCPSite(runner, "127.0.0.1", 0)
    await tcp.start()
    site.port = runner.addresses[0][1]
    try:
        yield site
    finally:
        await runner.cleanup()


@pytest.mark.every_database
@pytest.mark.slow
def test_the_pause_of_an_address_holds_over_processes(tmp_path: Path, database: str) -> None:
    store = url_of(tmp_path)
    (tmp_path / "s.toml").write_text(_SETTINGS, encoding="utf-8")
    more = ("--store", store, "--config", "s.toml", "--scope", "any", "--config", "crawl.workers=2")
    with from_thread(_serving()) as site:
        crawls = []
        for host in ("localhost", "127.0.0.1"):
            crawls.append(start(tmp_path, "crawl", f"http://{host}:{site.port}/", *more))
            wait_for(lambda host=host: any(name == host for _at, name in site.arrived))
        for crawl in crawls:
            _out, errors = crawl.communicate(timeout=100)
            assert crawl.returncode == 0, errors.decode()
    gaps = [after - before for (before, _), (after, _) in pairwise(site.arrived)]
    assert min(gaps) > _PAUSE - _CLOCKS, sorted(gaps)[:3]
    assert len(pages_of(tmp_path, "--store", store)) == 2 * (_PAGES + 1)
    assert len(site.arrived) == 2 * (_PAGES + 2), "with robots.txt, and nothing twice"
    assert database
