"""What does the add-on cost inside Scrapy, beside Scrapy's own parts with JOBDIR?

Pages a second on a site that a separate process serves on loopback, the two taking turns; and
microseconds a fingerprint. Folders of HTML files on the command line are sites, too.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from crawl import page, served
from measure import arguments, best, keep, made

_CONCURRENCY = 32
_SPIDER = """
import sys
import scrapy
from scrapy.crawler import CrawlerProcess
from scrapy.linkextractors import LinkExtractor

class Site(scrapy.Spider):
    name = "site"
    start_urls = [sys.argv[1]]
    links = LinkExtractor(allow=sys.argv[5])

    def parse(self, response):
        for link in self.links.extract_links(response):
            yield response.follow(link)

own = {"ADDONS": {"canonry.scrapy.Canonry": 500}} if sys.argv[4] == "canonry" else {}
process = CrawlerProcess({
    "JOBDIR": sys.argv[2], "CONCURRENT_REQUESTS": int(sys.argv[3]),
    "CONCURRENT_REQUESTS_PER_DOMAIN": int(sys.argv[3]), "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "TELNETCONSOLE_ENABLED": False, **own,
})
crawler = process.create_crawler(Site)
process.crawl(crawler)
process.start()
print(crawler.stats.get_value("downloader/response_status_count/200"))
print(crawler.stats.get_value("elapsed_time_seconds"))
print(crawler.stats.get_value("dupefilter/filtered"))
"""


class Crawled(NamedTuple):
    """What a crawl with Scrapy found, and what it took."""

    pages: int
    dropped: int
    measures: dict[str, float]


def crawled(which: str, seed: str) -> Crawled:
    """Crawl a site with Scrapy; return its rate and its CPU time."""
    before, start = os.times(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        allowed = f"^{seed[: seed.index('/', 8)]}/"
        words = [sys.executable, "-c", _SPIDER, seed, folder, str(_CONCURRENCY), which, allowed]
        done = subprocess.run(words, check=True, capture_output=True, cwd=folder)
    number, elapsed, dropped = done.stdout.split()
    seconds, after = time.perf_counter() - start, os.times()
    pages = int(number)
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    measures = {
        "pages a second": pages / float(elapsed),  # between the spider's opening and its end
        "pages a second, with the start of the process": pages / seconds,
        "CPU ms a page, with the start of the process": 1000 * cpu / pages,
    }
    return Crawled(pages, int(dropped), measures)


def fingerprints(count: int, rounds: int) -> dict[str, float]:
    """Return microseconds a fingerprint, of requests that have none yet."""
    from scrapy import Request  # noqa: PLC0415 - only this process needs it
    from scrapy.utils.request import RequestFingerprinter  # noqa: PLC0415 - as above

    from canonry.canon import Canonicalizer  # noqa: PLC0415 - as above
    from canonry.crawler.adapters.scrapy.fingerprints import RequestKeys  # noqa: PLC0415 - as above

    urls = made(count)
    makers = {
        "canonry": RequestKeys(Canonicalizer("web")).fingerprint,
        "Scrapy": RequestFingerprinter().fingerprint,
    }
    found = dict.fromkeys(makers, 0.0)
    for name, make in makers.items():
        times = []
        for _ in range(rounds):
            requests = [Request(url) for url in urls]
            times.append(best(lambda make=make, given=requests: [make(r) for r in given], 1))
        found[name] = round(1e6 * min(times) / count, 2)
    return found


def compared(seed: str, rounds: int) -> dict[str, Any]:
    """Return the rates of both, which take turns, and the median of their ratios."""
    results: dict[str, list[dict[str, float]]] = {"canonry": [], "Scrapy with JOBDIR": []}
    found = set()
    for number in range(rounds):
        order = list(results)
        for which in order if number % 2 else reversed(order):
            pages, dropped, measures = crawled(which, seed)
            found.add((pages, dropped))
            results[which].append(measures)
            print(which, pages, json.dumps(measures), flush=True)
    assert len(found) == 1, found  # noqa: S101 - both found the same, in every round
    ours, theirs = results["canonry"], results["Scrapy with JOBDIR"]
    ratios = {
        measure: median(a[measure] / b[measure] for a, b in zip(ours, theirs, strict=True))
        for measure in ours[0]
    }
    [(pages, dropped)] = found
    return {
        "pages": pages,
        "duplicates dropped": dropped,
        "median of the ratios, canonry to Scrapy": ratios,
        "rounds": results,
    }


def site(pages: int, rounds: int) -> dict[str, Any]:
    """Compare both on a site of generated pages, all of one spelling: nothing is suppressed."""
    with served(lambda: {f"/p/{n}.html": page(n, pages) for n in range(pages)}) as place:
        found = compared(f"http://{place}/p/0.html", rounds)
    # The seed is linked: Scrapy asks for it again.
    assert found["pages"] in {pages, pages + 1}, found["pages"]  # noqa: S101 - no page is lost
    return found


def tree(folder: Path, rounds: int) -> dict[str, Any]:
    """Compare both on a tree of HTML files."""

    def files() -> dict[str, bytes | str]:
        return {
            f"/{file.relative_to(folder)}": file.read_bytes()
            for file in folder.rglob("*.html")
            if file.is_file()
        }

    with served(files) as place:
        return compared(f"http://{place}/index.html", rounds)


def main() -> None:
    """Run the benchmark."""
    trees = [Path(word) for word in sys.argv[1:] if Path(word).is_dir()]
    sys.argv[1:] = [word for word in sys.argv[1:] if not Path(word).is_dir()]
    given = arguments(__doc__.splitlines()[0], pages=1500)
    result: dict[str, Any] = {"Scrapy": version("scrapy"), "load before": os.getloadavg()}
    result["microseconds a fingerprint"] = fingerprints(20_000, given.rounds)
    print(result, flush=True)
    result["throughput"] = site(given.pages, given.rounds)
    for folder in trees:
        result[f"throughput, {folder.name}"] = tree(folder, given.rounds)
    print(json.dumps(result, indent=2))
    keep(given, "scrapy_adapter", made(20_000), result)


if __name__ == "__main__":
    main()
