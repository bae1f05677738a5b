"""How fast is the live page of a store of ten million URLs, and what does it cost a crawl?

Each view is asked for over HTTP, as JSON and as HTML, and never twice with the same question, so
that the answer is made each time. ``canonry status`` is measured as queries in a warm process. Then
a site is crawled with no page, with a page that nobody looks at, and with three viewers, in turn.
"""

import asyncio
import contextlib
import http.client
import itertools
import os
import socket
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import aiohttp
import crawl as crawling
import made_store
from measure import arguments, keep

from canonry.crawler.web import serving
from canonry.crawler.web.app import PANELS
from canonry.storage.reading import report

# Further questions to panels, besides the first page of each.
_MORE = {
    "not-fetched": [
        "state=held&reason=out-of-scope",
        "state=failed&reason=too-large",
        "url=https://www.host7.example/user/1000",
    ],
    "made-one": ["state=active"],
}
_VIEWERS = 3


def percentiles(taken: list[float]) -> dict[str, float]:
    """Return the median and the 95th percentile of times, in milliseconds."""
    ordered = sorted(taken)
    p95 = ordered[min(len(ordered) - 1, round(0.95 * len(ordered)))]
    found = {"p50": statistics.median(ordered), "p95": p95, "most": ordered[-1]}
    return {name: round(1000 * value, 1) for name, value in found.items()}


def timed(work: Callable[[int], object], rounds: int) -> dict[str, float]:
    """Return the times of some rounds."""
    taken = []
    for number in range(rounds):
        start = time.perf_counter()
        work(number)
        taken.append(time.perf_counter() - start)
    return percentiles(taken)


@contextmanager
def opened(store: str) -> Iterator[Callable[[str], None]]:
    """Serve a store; yield what asks the server for a path."""
    said: list[str] = []
    with serving.served(store, serving.Place(port=0), None, said.append):
        client = http.client.HTTPConnection(said[0].partition("//")[2].rstrip("/"), timeout=60)

        def ask(path: str) -> None:
            client.request("GET", path)
            client.getresponse().read()

        yield ask
        client.close()


def paths() -> list[str]:
    """Return the path of every view, with the first page of all."""
    panels = [
        f"/{panel.name}{kind}?{query}".rstrip("?")
        for panel in PANELS
        for query in ("", *_MORE.get(panel.name, []))
        for kind in (".json", "")
    ]
    return ["/", *panels]


def views(store: str, rounds: int) -> dict[str, Any]:
    """Measure every view of a store, and its status."""
    found: dict[str, Any] = {}
    with report.reading(store) as connection:
        report.status(connection)
        found["canonry status"] = timed(lambda _n: report.status(connection), rounds)
    numbers = itertools.count()
    with opened(store) as ask:
        for path in paths():

            def again(_round: int, path: str = path) -> None:
                ask(f"{path}{'&' if '?' in path else '?'}unlike={next(numbers)}")

            again(0)
            found[path] = timed(again, rounds)
    return found


def first_views(store: str, rounds: int) -> dict[str, Any]:
    """Measure every view as the first question to a server that has just opened the store.

    The system may have the file in memory; SQLite, the server and its templates start anew.
    """

    def status() -> float:
        begun = time.perf_counter()
        with report.reading(store) as connection:
            report.status(connection)
        return time.perf_counter() - begun

    def view(path: str) -> float:
        with opened(store) as ask:
            begun = time.perf_counter()
            ask(path)
            return time.perf_counter() - begun

    found = {"canonry status": percentiles([status() for _ in range(rounds)])}
    for path in paths():
        found[path] = percentiles([view(path) for _ in range(rounds)])
    return found


async def _view(address: str) -> None:
    """Look at the first page, again and again, as its script does."""
    async with aiohttp.ClientSession() as session:
        while True:
            with contextlib.suppress(aiohttp.ClientError):
                async with session.get(f"{address}/") as reply:
                    await reply.read()
            await asyncio.sleep(2.0)


@contextmanager
def viewers(address: str, number: int) -> Iterator[None]:
    """Let viewers look while a block runs."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    tasks = [asyncio.run_coroutine_threadsafe(_view(address), loop) for _ in range(number)]
    yield
    for task in tasks:
        task.cancel()
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0.2), loop).result()  # until they have ended
    loop.call_soon_threadsafe(loop.stop)
    thread.join()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def crawls(rounds: int) -> dict[str, Any]:
    """Crawl a site with and without viewers, in turn; return the rates of all rounds."""
    rates: dict[str, list[float]] = {"no page": [], "a page": [], f"{_VIEWERS} viewers": []}
    cpu: dict[str, list[float]] = {name: [] for name in rates}
    with crawling.served(crawling.site) as where:  # type: ignore[arg-type]
        for number in range(rounds):
            names = list(rates) if number % 2 else list(reversed(rates))
            for name in names:
                port = _free_port()
                more = () if name == "no page" else ("--serve", str(port))
                looking = _VIEWERS if name.endswith("viewers") else 0
                before = os.times()
                with (
                    tempfile.TemporaryDirectory() as folder,
                    viewers(f"http://127.0.0.1:{port}", looking),
                ):
                    summary = crawling.canonry(f"http://{where}/p/0.html", folder, *more)
                after = os.times()
                pages = summary["pages_by_status"]["200"]
                used = after.children_user + after.children_system
                used -= before.children_user + before.children_system
                rates[name].append(round(pages / summary["seconds"], 1))
                cpu[name].append(round(1000 * used / pages, 3))
                print(
                    f"{name:12} {rates[name][-1]:8} pages a second, {cpu[name][-1]} ms", flush=True
                )
    median = {name: statistics.median(found) for name, found in rates.items()}
    lost = 1 - median[f"{_VIEWERS} viewers"] / median["no page"]
    print(f"lost to {_VIEWERS} viewers: {lost:.1%} (median)")
    return {"pages a second": rates, "CPU ms a page": cpu, "lost to viewers": round(lost, 4)}


def main() -> None:
    """Measure and print; ``CANONRY_STORE`` names a store that was made before."""
    given = arguments(str(__doc__), crawls=5, millions=10)
    load_before = os.getloadavg()
    with tempfile.TemporaryDirectory() as folder:
        store = os.environ.get("CANONRY_STORE", f"sqlite:///{folder}/made.db")
        if "CANONRY_STORE" not in os.environ:
            made_store.make(store, given.millions * 1_000_000)
        found = views(store, given.rounds)
        first = first_views(store, given.rounds)
        size = Path(store.removeprefix("sqlite:///")).stat().st_size if "sqlite" in store else None
    for name, times in found.items():
        print(
            f"{name:70} p50 {times['p50']:8} ms   p95 {times['p95']:8} ms   "
            f"first p50 {first[name]['p50']:8} most {first[name]['most']:8} ms"
        )
    result = {
        "millions": given.millions,
        "bytes": size,
        "milliseconds": found,
        "milliseconds, first question after opening": first,
        "crawls": crawls(given.crawls) if given.crawls else None,
        "load before and after": [load_before, os.getloadavg()],
    }
    keep(given, "web", [], result)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    main()
