"""How many pages a second does a crawl fetch, compared with Scrapy, wget2 and a bare loop?

And what does learning cost where each link lacks the slash at its end, on sites of several sizes?

A separate process serves the site on loopback. Scrapy runs with JOBDIR, so that it stores its
queue, too. wget2, in C, stores nothing but files: pages, but no queue, and does not resume. The
bare loop is aiohttp, lexbor and a set, and stores nothing. All use the same concurrency and have to
find the same pages.
"""

import asyncio
import json
import multiprocessing
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urljoin

import aiohttp
from aiohttp import web
from measure import arguments, is_here, keep

_PAGES, _CONCURRENCY, _BACKLOG = 5000, 32, 1024
_FOLDERS = (500, 2_000, 8_000)  # of sites whose links lack the slash
_FILLER = "some words that fill the page up to a size that pages have "
# Scrapy as its users run it to get a whole site fast, and to be able to resume.
_SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

class Site(scrapy.Spider):
    name = "site"
    start_urls = [sys.argv[1]]
    links = LinkExtractor()

    def parse(self, response):
        for link in self.links.extract_links(response):
            yield response.follow(link)

process = CrawlerProcess({
    "JOBDIR": sys.argv[2], "CONCURRENT_REQUESTS": int(sys.argv[3]),
    "CONCURRENT_REQUESTS_PER_DOMAIN": int(sys.argv[3]), "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False,
})
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
print(crawler.stats.get_value("downloader/response_status_count/200"))
"""


def page(n: int, pages: int = _PAGES) -> bytes:
    """Return page n of a site: 20 to 100 KB, 50 to 100 links."""
    rng = random.Random(n)
    links = [(n * 7 + k) % pages for k in range(1, 8)]
    links += [rng.randrange(pages) for _ in range(rng.randrange(43, 94))]
    filler = _FILLER * (rng.randrange(20_000, 100_000) // len(links) // len(_FILLER))
    body = "".join(f'<p>{filler}</p>\n<a href="/p/{link}.html">page {link}</a>' for link in links)
    return f"<!doctype html><title>page {n}</title>{body}".encode()


def site() -> dict[str, bytes]:
    """Return the pages of the site, by path."""
    return {f"/p/{n}.html": page(n) for n in range(_PAGES)}


def folders(number: int) -> dict[str, "Answer"]:
    """Return a site of folders: each link lacks the slash, and the server redirects to it."""
    answers: dict[str, Answer] = {}
    for n in range(number):
        rng = random.Random(n)
        links = {*((n * 7 + k) % number for k in range(1, 6)), *rng.choices(range(number), k=15)}
        body = f"<!doctype html><title>Folder {n}</title><h1>Folder {n}</h1>"
        for link in sorted(links):
            body += f"<p>From {n} to {link}: {rng.random()}</p><a href='/d{link}'>folder {link}</a>"
        answers[f"/d{n}"], answers[f"/d{n}/"] = f"/d{n}/", body.encode()
    return answers


Answer: TypeAlias = bytes | str | Callable[[], bytes]  # a page, a redirect's target, a new page


def serve(
    port: "multiprocessing.SimpleQueue[int]",
    make: Callable[[], Mapping[str, Answer]],
    pause: float,
    processes: int,
) -> None:
    """Serve pages, and redirects to paths, until killed; all other paths are 404.

    Args:
        port: gets the port.
        make: returns what answers, by path.
        pause: seconds before each answer.
        processes: that serve, in one group of processes.
    """
    os.setpgid(0, 0)
    answers = make()

    async def answer(request: web.BaseRequest) -> web.Response:
        if pause:
            await asyncio.sleep(pause)
        found = answers.get(request.path_qs)
        if found is None:
            return web.Response(status=404)
        if isinstance(found, str):
            return web.Response(status=301, headers={"Location": found})
        body = found if isinstance(found, bytes) else found()
        return web.Response(body=body, content_type="text/html")

    async def run(bound: socket.socket) -> None:
        runner = web.ServerRunner(web.Server(answer, access_log=None))
        await runner.setup()
        await web.SockSite(runner, bound, backlog=_BACKLOG).start()
        await asyncio.Event().wait()

    with socket.create_server(("127.0.0.1", 0), backlog=_BACKLOG) as bound:
        port.put(bound.getsockname()[1])
        for _ in range(processes - 1):
            if os.fork() == 0:  # they share the pages and the socket
                break
        asyncio.run(run(bound))


@contextmanager
def served(
    make: Callable[[], Mapping[str, Answer]], pause: float = 0.0, processes: int = 1
) -> Iterator[str]:
    """Serve from separate processes, as `serve` does; yield their host and port."""
    port: multiprocessing.SimpleQueue[int] = multiprocessing.SimpleQueue()
    server = multiprocessing.Process(target=serve, args=(port, make, pause, processes))
    server.start()
    try:
        yield f"127.0.0.1:{port.get()}"
    finally:
        os.killpg(server.pid or 0, signal.SIGKILL)
        server.join()


async def bare(seed: str) -> int:
    """Crawl without storing anything; return the number of pages."""
    from selectolax.lexbor import LexborHTMLParser  # noqa: PLC0415 - only this process needs it

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
    words = [sys.executable, "-m", "canonry", "crawl", seed, "--allow-private", "--delay", "0"]
    words += ["--concurrency", str(_CONCURRENCY), "--store", f"sqlite:///{folder}/x.db", "--json"]
    words += ["--config", f"{folder}/x.toml", *more]
    settings = f"[crawl]\nrequests_per_host = {_CONCURRENCY}\n"
    (Path(folder) / "x.toml").write_text(settings)
    done = subprocess.run(words, check=True, capture_output=True)
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def by_canonry(seed: str) -> int:
    """Return how many pages the command finds."""
    with tempfile.TemporaryDirectory() as folder:
        found: int = canonry(seed, folder)["pages_by_status"]["200"]
        return found


def by_canonry_with_warc(seed: str) -> int:
    """Return how many pages the command finds, when it also writes WARC files."""
    with tempfile.TemporaryDirectory() as folder:
        summary = canonry(seed, folder, "--warc", f"{folder}/warc")
        found: int = summary["pages_by_status"]["200"]
        return found


def by_scrapy(seed: str) -> int:
    """Return how many pages Scrapy finds, without robots.txt."""
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", _SPIDER, seed, folder, str(_CONCURRENCY)]
        return int(subprocess.run(words, check=True, capture_output=True).stdout)


def by_wget2(seed: str) -> int:
    """Return how many pages wget2 finds, as files."""
    with tempfile.TemporaryDirectory() as folder:
        words = ["wget2", "--recursive", "--level=inf", "--quiet", f"--directory-prefix={folder}"]
        subprocess.run([*words, f"--max-threads={_CONCURRENCY}", seed], check=True)
        return sum(1 for _ in Path(folder).rglob("*.html"))


def by_bare_loop(seed: str) -> int:
    """Return how many pages the bare loop finds, in a separate process like the others."""
    words = [sys.executable, __file__, "--bare", seed]
    return int(subprocess.run(words, check=True, capture_output=True).stdout)


def measured(work: Callable[[str], int], seed: str) -> dict[str, float]:
    """Return the rate of a crawl, its CPU time per page, and its peak memory."""
    reader, writer = multiprocessing.Pipe(duplex=False)

    def run() -> None:
        pages = work(seed)
        writer.send((pages, os.times(), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss))

    process = multiprocessing.Process(target=run)
    start = time.perf_counter()
    process.start()
    pages, times, peak = reader.recv()
    seconds = time.perf_counter() - start
    process.join()
    # Scrapy requests seeds without its filter, so a link to a seed makes it fetch the seed again.
    assert pages in {_PAGES, _PAGES + (work is by_scrapy)}, pages  # noqa: S101 - else it means nothing
    cpu = times.children_user + times.children_system
    return {
        "pages a second": round(pages / seconds, 1),
        "CPU ms a page": round(1000 * cpu / pages, 3),
        "MiB at most": round(peak / 1024),
    }


def cost_of_learning(number: int) -> dict[str, float]:
    """Return the CPU time a page of crawls of folders, with learning and without."""
    found: dict[str, float] = {"pages": number}
    with served(lambda: folders(number)) as where:
        for name, more in (("learning", ()), ("not learning", ("--config", "learn.enabled=false"))):
            with tempfile.TemporaryDirectory() as folder:
                before = resource.getrusage(resource.RUSAGE_CHILDREN)
                pages = canonry(f"http://{where}/d0", folder, *more)["pages_by_status"]["200"]
                after = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert pages == number, pages  # noqa: S101 - else it means nothing
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            found[f"CPU ms a page, {name}"] = round(1000 * cpu / number, 3)
    return found


_NEEDS = {
    "bare loop, keeps nothing": "selectolax",
    "Scrapy with JOBDIR": "scrapy",
    "wget2, files alone": "wget2",
}
_PEERS = {
    "canonry crawl": by_canonry,
    "canonry crawl --warc": by_canonry_with_warc,
    "bare loop, keeps nothing": by_bare_loop,
    "Scrapy with JOBDIR": by_scrapy,
    "wget2, files alone": by_wget2,
}


def main() -> None:
    """Measure and print."""
    if sys.argv[1:2] == ["--bare"]:
        print(asyncio.run(bare(sys.argv[2])))
        return
    given = arguments(str(__doc__))
    peers = {n: work for n, work in _PEERS.items() if is_here(n, _NEEDS.get(n, ""))}
    runs: dict[str, list[dict[str, float]]] = {name: [] for name in peers}
    with served(site) as where:
        seed = f"http://{where}/p/0.html"
        for round_ in range(min(given.rounds, 3)):
            for name, work in peers.items():
                if work is not by_scrapy or round_ == 0:  # one round takes long enough
                    runs[name].append(measured(work, seed))
    best = {name: max(found, key=lambda run: run["pages a second"]) for name, found in runs.items()}
    ours = best["canonry crawl"]["pages a second"]
    sizes = [len(page(n)) // 1000 for n in range(0, _PAGES, 50)]
    print(f"{_PAGES:,} pages of {min(sizes)} to {max(sizes)} KB, concurrency {_CONCURRENCY}")
    for name, run in best.items():
        shown = ", ".join(f"{value:,.6g} {what}" for what, value in run.items())
        print(f"{name:26} {shown}; we make {ours / run['pages a second']:.2f} times the pages")
    learning = [cost_of_learning(number) for number in _FOLDERS]
    for found in learning:
        print("links without slash:", ", ".join(f"{v:,.6g} {name}" for name, v in found.items()))
    keep(given, "crawl", [seed], {"runs": runs, "links without slash": learning})


if __name__ == "__main__":
    main()
