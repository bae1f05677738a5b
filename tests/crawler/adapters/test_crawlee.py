"""Crawlee crawls a site on loopback with our keys: one request for each resource."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

crawlee = pytest.importorskip("crawlee", reason="needs Crawlee")

from crawlee import ConcurrencySettings, Request, RequestOptions  # noqa: E402 - after the check
from crawlee.crawlers import ParselCrawler, ParselCrawlingContext  # noqa: E402
from crawlee.storage_clients import MemoryStorageClient  # noqa: E402

from canonry.crawlee import UniqueKeys  # noqa: E402

LINKS = """<a href="/p?id=1&amp;utm_source=x">a</a> <a href="/p?id=1#top">b</a>
<a href="/p?id=1">c</a> <a href="/%70?id=1">d</a> <a href="/P?id=1">e</a> <a href="/p/?id=1">f</a>
<a href="/?fbclid=1">g</a> <a href="/P?ID=1">h</a>"""


def key(**options: object) -> str | None:
    found = UniqueKeys()(RequestOptions(**options))  # type: ignore[typeddict-item]
    return None if found == "unchanged" else found["unique_key"]


def test_names_of_one_resource_have_one_key_and_others_do_not() -> None:
    assert key(url="HTTP://a.example/%7Eb?utm_source=x#c") == "http://a.example/~b"
    assert key(url="http://a.example/B") != key(url="http://a.example/b")
    assert key(url="http://a.example/", method="POST", payload="a") != key(url="http://a.example/")
    assert key(url="http://a.example/", payload=b"a") == key(url="http://A.example/", payload="a")
    assert key(url="http://a.example/", payload="a") != key(url="http://a.example/", payload="b")


@pytest.mark.parametrize(
    "options",
    [
        {"url": "http://[a"},
        {"url": "nothing"},
        {"url": "http://a.example/", "unique_key": "mine"},
        {"url": "http://a.example/", "always_enqueue": True},
        {"url": "http://a.example/", "use_extended_unique_key": True},
        {"url": "http://a.example/#a", "keep_url_fragment": True},
    ],
)
def test_some_requests_stay_as_they_are(options: dict[str, object]) -> None:
    assert key(**options) is None


def test_a_request_keeps_its_url_and_other_options() -> None:
    made = UniqueKeys().request("http://A.example/%7E?utm_source=x")
    assert made.url == "http://A.example/%7E?utm_source=x"
    assert made.unique_key == "http://a.example/~"
    given = RequestOptions(url="http://a.example/", label="list", user_data={"a": 1})
    found = UniqueKeys()(given)
    assert found == {**given, "unique_key": "http://a.example/"}
    assert "unique_key" not in given


async def crawl(*, with_keys: bool) -> Counter[str]:
    """Crawl the site; return how often the server was asked for each URL."""
    asked: Counter[str] = Counter()

    async def answer(request: web.Request) -> web.Response:
        asked[request.raw_path] += 1
        return web.Response(text=LINKS, content_type="text/html")

    app = web.Application()
    app.router.add_get("/{path:.*}", answer)
    async with TestServer(app) as server:
        keys = UniqueKeys()
        crawler = ParselCrawler(
            storage_client=MemoryStorageClient(),
            concurrency_settings=ConcurrencySettings(max_concurrency=1, desired_concurrency=1),
            max_requests_per_crawl=20,
            request_handler_timeout=timedelta(seconds=20),
            configure_logging=False,
        )

        @crawler.router.default_handler
        async def _(context: ParselCrawlingContext) -> None:
            await context.enqueue_links(transform_request_function=keys if with_keys else None)

        start = str(server.make_url("/"))
        await crawler.run([keys.request(start) if with_keys else Request.from_url(start)])
    return asked


@pytest.mark.slow
def test_a_crawl_asks_once_for_each_resource() -> None:
    asked = asyncio.run(crawl(with_keys=True))
    assert sorted(asked.values()) == [1] * 5
    paths = {path.partition("?")[0] for path in asked}
    assert paths == {"/", "/p", "/P", "/p/"}
    # Crawlee's own keys are in lower case, without final slashes: it misses three pages.
    assert len(asyncio.run(crawl(with_keys=False))) < len(asked)
