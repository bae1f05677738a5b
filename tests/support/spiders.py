"""Spiders for tests, in a process of their own, as Scrapy's users run them.

As a script it reads one JSON object: the spider, where it starts, Scrapy's settings, and the file
that gets a line for each item and, at the end, the stats.
"""

import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import scrapy
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

ADDON = {"ADDONS": {"canonry.scrapy.Canonry": 500}}
QUICK: dict[str, Any] = {
    "TELNETCONSOLE_ENABLED": False,
    "DOWNLOAD_DELAY": 0,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 8,
    "CONCURRENT_REQUESTS": 8,
    "RETRY_BACKOFF_BASE": 0,
    "LOG_LEVEL": "INFO",
    "EXTENSIONS": {"scrapy.extensions.memusage.MemoryUsage": None},
}


ENDLESS = ("/trap/", "/calendar")  # paths of the demo site without an end


class Links(scrapy.Spider):
    """Follows every link."""

    name = "links"

    def __init__(self, start: list[str], **named: Any) -> None:  # noqa: ANN401 - as Scrapy's own
        """Start with some URLs."""
        super().__init__(**named)
        self.start_urls = start

    def parse(self, response: Response) -> Iterator[Any]:
        """Yield the page and its links."""
        if not isinstance(response, TextResponse):
            return
        yield {"url": response.url, "title": response.css("title::text").get()}
        for link in LinkExtractor(deny=ENDLESS).extract_links(response):
            if link.url.startswith("http:"):
                yield scrapy.Request(link.url)


class Habits(scrapy.Spider):
    """Does what spiders do: posts, repeats, meta, errbacks, pagination, callbacks of its own."""

    name = "habits"

    def __init__(self, start: list[str], **named: Any) -> None:  # noqa: ANN401 - as Scrapy's own
        """Start with one URL."""
        super().__init__(**named)
        [self.base] = start

    async def start(self) -> AsyncIterator[Any]:
        """Yield the first requests, of several kinds."""
        base = self.base
        yield scrapy.Request(f"{base}/page/1", self.parse_page, cb_kwargs={"number": 1})
        for body in (b"a=1", b"a=2", b"a=1"):
            yield scrapy.Request(f"{base}/form", self.note, method="POST", body=body)
        for _ in range(2):
            yield scrapy.Request(f"{base}/again", self.note, dont_filter=True)
            yield scrapy.Request(f"{base}/once?utm_source=x", self.note, meta={"tag": ["kept"]})
        yield scrapy.Request(f"{base}/busy", self.note)  # 503, then 200
        yield scrapy.Request(f"{base}/gone", self.note, errback=self.failed)
        yield scrapy.Request(f"{base}/private/x", self.note, errback=self.failed)
        yield scrapy.Request(f"{base}/moved?utm_source=x", self.note)  # to itself, without it
        yield scrapy.Request(f"{base}/old", self.note)  # to /once, which was asked
        yield scrapy.Request(f"{base}/lambda", lambda response: list(self.note(response)))
        yield scrapy.Request(f"{base}/lambda", lambda response: list(self.note(response)))
        yield scrapy.Request(f"{base}/low", self.note, priority=-5)
        yield scrapy.Request(f"{base}/high", self.note, priority=5)
        yield scrapy.Request("http://[::1", self.note, errback=self.failed)

    def parse_page(self, response: Response, number: int) -> Iterator[Any]:
        """Yield a page and the next one."""
        yield {"path": response.url.removeprefix(self.base), "number": number}
        if number < 4:
            url = f"{self.base}/page/{number + 1}?utm_medium={number}"
            yield scrapy.Request(url, self.parse_page, cb_kwargs={"number": number + 1})

    def note(self, response: Response) -> Iterator[Any]:
        """Yield what came."""
        found = {"path": response.url.removeprefix(self.base), "status": response.status}
        request = response.request
        if request is not None and "tag" in request.meta:
            found["tag"] = request.meta["tag"]
        yield found

    def failed(self, failure: Any) -> Iterator[Any]:  # noqa: ANN401 - Twisted's Failure
        """Yield what failed."""
        yield {"failed": failure.request.url.removeprefix(self.base), "by": failure.type.__name__}


SPIDERS = {"links": Links, "habits": Habits}


def words(spider: str, start: str, out: Path, **settings: Any) -> list[str]:  # noqa: ANN401 - any
    """Return the command that runs a spider."""
    given = {"spider": spider, "start": [start], "out": str(out), "settings": QUICK | settings}
    return [sys.executable, str(Path(__file__)), json.dumps(given)]


def run(
    spider: str,
    start: str,
    folder: Path,
    **settings: Any,  # noqa: ANN401 - of Scrapy
) -> tuple[list[dict[str, Any]], dict[str, Any], str]:
    """Run a spider in a folder until it ends; return its items, its stats and its log."""
    out = folder / "out.jsonl"
    out.unlink(missing_ok=True)
    command = words(spider, start, out, **settings)
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=100, check=False)
    log = done.stderr.decode()
    assert done.returncode == 0, log
    *items, stats = [json.loads(line) for line in out.read_text().splitlines()]
    return items, stats, log


def main() -> None:
    """Run a spider."""
    from scrapy import signals  # noqa: PLC0415 - only a process of its own may install a reactor
    from scrapy.crawler import CrawlerProcess  # noqa: PLC0415 - as above

    given = json.loads(sys.argv[1])
    with Path(given["out"]).open("a", encoding="utf-8", buffering=1) as out:

        def write(item: Any) -> None:  # noqa: ANN401 - any item
            out.write(json.dumps(item) + "\n")

        process = CrawlerProcess(given["settings"])
        crawler = process.create_crawler(SPIDERS[given["spider"]])
        crawler.signals.connect(write, signal=signals.item_scraped, weak=False)
        process.crawl(crawler, start=given["start"])
        process.start()
        assert crawler.stats is not None
        stats = {name: str(value) for name, value in crawler.stats.get_stats().items()}
        write({name: int(value) for name, value in stats.items() if value.isdecimal()})


if __name__ == "__main__":
    main()
