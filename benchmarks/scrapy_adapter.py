"""What does the add-on cost inside Scrapy, beside Scrapy's own parts with JOBDIR?

Pages a second on a site that a separate process serves on loopback, the two taking turns; and
microseconds a fingerprint.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from statistics import median
from typing import Any

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
    links = LinkExtractor()

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
"""


def crawled(which: str, seed: str, pages: int) -> dict[str, float]:
    """Crawl with Scrapy; return its rate and its CPU time."""
    before, start = os.times(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-c", _SPIDER, seed, folder, str(_CONCURRENCY), which]
        done = subprocess.run(words, check=True, capture_output=True, cwd=folder)
    number, elapsed = done.stdout.split()
    found = int(number)
    seconds, after = time.perf_counter() - start, os.times()
    assert found in {pages, pages + 1}, found  # noqa: S101 - the seed is linked: Scrapy asks it again
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    return {
        "pages a second": pages / float(elapsed),  # between the spider's opening and its end
        "pages a second, with the start of the process": pages / seconds,
        "CPU ms a page, with the start of the process": 1000 * cpu / pages,
    }


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


def throughput(pages: int, rounds: int) -> dict[str, Any]:
    """Return the rates of both, round by round, and the median of their ratios."""
    results: dict[str, list[dict[str, float]]] = {"canonry": [], "Scrapy with JOBDIR": []}
    with served(lambda: {f"/p/{n}.html": page(n, pages) for n in range(pages)}) as place:
        seed = f"http://{place}/p/0.html"
        for number in range(rounds):
            order = list(results)
            for which in order if number % 2 else reversed(order):
                results[which].append(crawled(which, seed, pages))
                print(which, json.dumps(results[which][-1]), flush=True)
    ours, theirs = results["canonry"], results["Scrapy with JOBDIR"]
    ratios = {
        measure: median(a[measure] / b[measure] for a, b in zip(ours, theirs, strict=True))
        for measure in ours[0]
    }
    return {"rounds": results, "median of the ratios, canonry to Scrapy": ratios}


def main() -> None:
    """Run the benchmark."""
    given = arguments(__doc__.splitlines()[0], pages=1500)
    result: dict[str, Any] = {"Scrapy": version("scrapy"), "load before": os.getloadavg()}
    result["microseconds a fingerprint"] = fingerprints(20_000, given.rounds)
    print(result, flush=True)
    result["throughput"] = throughput(given.pages, given.rounds)
    print(json.dumps(result, indent=2))
    keep(given, "scrapy_adapter", made(20_000), result)


if __name__ == "__main__":
    main()
