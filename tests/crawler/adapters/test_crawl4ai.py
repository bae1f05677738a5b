"""crawl4ai's deep crawl over HTTP, without a browser, with our filter."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

pytest.importorskip("crawl4ai")

from crawl4ai import (
    AsyncWebCrawler,
    CrawlerRunConfig,
    HTTPCrawlerConfig,
)
from crawl4ai.async_crawler_strategy import AsyncHTTPCrawlerStrategy
from crawl4ai.deep_crawling import BFSDeepCrawlStrategy, FilterChain

from canonry.crawl4ai import DistinctFilter

LINKS = """<a href="/p?id=1&amp;gclid=x">a</a> <a href="/p?id=1">c</a> <a href="/%70?id=1">d</a>
<a href="/P?id=1">e</a> <a href="/p/?id=1">f</a> <a href="/?yclid=1">g</a>"""


def test_one_name_of_each_resource_passes() -> None:
    distinct = DistinctFilter(seen=["http://a.example/"])
    urls = ["http://a.example/#x", "http://a.example/?gclid=1", "http://a.example/p?utm_id=1",
            "http://a.example/p", "http://a.example/p?utm_id=1", "http://a.example/P",
            "http://[refused", "http://[refused"]  # fmt: skip
    assert [distinct.apply(url) for url in urls] == [
        True, False, True, False, True, True, True, True,
    ]  # fmt: skip
    assert (distinct.stats.total_urls, distinct.stats.rejected_urls) == (8, 2)
    assert asyncio.run(FilterChain([distinct]).apply("http://a.example/p")) is False


async def crawl(*, with_filter: bool) -> Counter[str]:
    """Crawl the site; return how often the server was asked for each URL."""
    asked: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.Response:
        asked[request.raw_path] += 1
        # A short page would be taken for a wall against robots.
        text = f"<p>{'A page of a site, with a sentence to read. ' * 50}</p>{LINKS}"
        return web.Response(
            text=f"<html><head><title>A page</title></head><body>{text}</body></html>",
            content_type="text/html",
        )

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app, host="127.0.0.1") as server:
        start = f"http://127.0.0.1:{server.port}/"
        chain = FilterChain([DistinctFilter(seen=[start])] if with_filter else [])
        config = CrawlerRunConfig(
            deep_crawl_strategy=BFSDeepCrawlStrategy(max_depth=2, filter_chain=chain),
            verbose=False,
        )
        strategy = AsyncHTTPCrawlerStrategy(HTTPCrawlerConfig())
        async with AsyncWebCrawler(crawler_strategy=strategy, verbose=False) as crawler:
            await crawler.arun(start, config=config)
    return asked


@pytest.mark.slow
@pytest.mark.filterwarnings("default")  # crawl4ai's own
def test_a_crawl_asks_once_for_each_resource(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CRAWL4_AI_BASE_DIRECTORY", str(tmp_path))
    asked = asyncio.run(crawl(with_filter=True))
    del asked["/robots.txt"]
    assert sorted(path.partition("?")[0] for path in asked) == ["/", "/P", "/p", "/p/"]
    assert set(asked.values()) == {1}
    assert len(asyncio.run(crawl(with_filter=False))) > len(asked)
