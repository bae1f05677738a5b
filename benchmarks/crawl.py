"""How many pages a second does a crawl make, beside a bare loop that keeps nothing?

The site is served on loopback by a process of its own; the bare loop is aiohttp, lexbor and a set.
"""

import asyncio
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin

import aiohttp
from aiohttp import web
from measure import arguments, keep
from selectolax.lexbor import LexborHTMLParser

_PAGES, _LINKS, _CONCURRENCY = 3000, 60, 32
_FILLER = "<p>" + "some words that fill the page up to a size that pages have " * 8 + "</p>\n"


def page(n: int) -> bytes:
    """Return page n of the site: 60 links, 32 KB."""
    rng = random.Random(n)
    links = [(n * 7 + k) % _PAGES for k in range(1, 8)] + [rng.randrange(_PAGES) for _ in range(53)]
    body = "".join(f'{_FILLER}<a href="/p/{link}.html">page {link}</a>' for link in links)
    return f"<!doctype html><title>page {n}</title>{body}".encode()


def site() -> dict[str, bytes]:
    """Return the pages of the site, by path."""
    return {f"/p/{n}.html": page(n) for n in range(_PAGES)}


def serve(port: "multiprocessing.Queue[int]", make: Callable[[], dict[str, bytes | str]]) -> None:
    """Serve pages, and redirects to paths, until killed; no other path is there."""
    answers = make()

    async def answer(request: web.BaseRequest) -> web.Response:
        found = answers.get(request.path_qs)
        if found is None:
            return web.Response(status=404)
        if isinstance(found, str):
            return web.Response(status=301, headers={"Location": found})
        return web.Response(body=found, content_type="text/html")

    async def run() -> None:
        runner = web.ServerRunner(web.Server(answer, access_log=None))
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        port.put(runner.addresses[0][1])
        await asyncio.Event().wait()

    asyncio.run(run())


@contextmanager
def served(make: Callable[[], dict[str, bytes | str]]) -> Iterator[str]:
    """Serve from a process of its own; yield where, as the beginning of URLs."""
    port: multiprocessing.Queue[int] = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(port, make), daemon=True)
    server.start()
    yield f"127.0.0.1:{port.get(timeout=60)}"
    server.kill()


async def bare(seed: str) -> int:
    """Crawl without keeping anything; return the number of pages."""
    seen, queue, pages = {seed}, [seed], 0
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=_CONCURRENCY)) as session:

        async def one(url: str) -> None:
            nonlocal pages
            async with session.get(url) as answer:
                body = await answer.read()
            pages += 1
            for node in LexborHTMLParser(body).css("a[href]"):
                link = urljoin(url, node.attributes["href"] or "")
                if link not in seen:
                    seen.add(link)
                    queue.append(link)

        running: set[asyncio.Task[None]] = set()
        while queue or running:
            while queue and len(running) < _CONCURRENCY:
                running.add(asyncio.create_task(one(queue.pop(0))))
            _, running = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
    return pages


def canonry(seed: str, folder: str, *more: str) -> dict[str, Any]:
    """Crawl with the command; return its summary."""
    words = [sys.executable, "-m", "crawler", "crawl", seed, "--allow-private", "--delay", "0"]
    words += ["--concurrency", str(_CONCURRENCY), "--store", f"sqlite:///{folder}/x.db", "--json"]
    words += ["--config", f"{folder}/x.toml", *more]
    with open(f"{folder}/x.toml", "w") as file:  # noqa: PTH123 - a settings file
        file.write(f"[crawl]\nrequests_per_host = {_CONCURRENCY}\n")
    done = subprocess.run(words, check=True, capture_output=True)
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def main() -> None:
    """Measure and print."""
    given = arguments(str(__doc__))
    rates: dict[str, list[float]] = {"canonry crawl": [], "bare loop, keeps nothing": []}
    with served(site) as where:
        seed = f"http://{where}/p/0.html"
        for _ in range(min(given.rounds, 3)):
            with tempfile.TemporaryDirectory() as folder:
                for name, work in (
                    ("canonry crawl", lambda: canonry(seed, folder)["pages_by_status"]["200"]),
                    ("bare loop, keeps nothing", lambda: asyncio.run(bare(seed))),
                ):
                    start = time.perf_counter()
                    pages = work()
                    rates[name].append(pages / (time.perf_counter() - start))
                    assert pages == _PAGES, pages  # noqa: S101 - a benchmark of a wrong crawl is none
    ceiling = max(rates["bare loop, keeps nothing"])
    print(f"{_PAGES:,} pages of {len(page(0)) // 1000} KB with {_LINKS} links, two cores")
    for name, found in rates.items():
        print(f"{name:26} {max(found):7,.0f} pages/s {max(found) / ceiling:6.2f} of the bare loop")
    keep(given, "crawl", [seed], {"pages_a_second": rates})


if __name__ == "__main__":
    main()
