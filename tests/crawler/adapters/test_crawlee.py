"""Crawlee crawls a site on loopback with our keys: one request for each resource."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from support.late import Late

adapter, crawlee = Late("canonry.crawlee"), Late("crawlee")
crawlers, storage_clients = Late("crawlee.crawlers"), Late("crawlee.storage_clients")

LINKS = """<a href="/p?id=1&amp;utm_source=x">a</a> <a href="/p?id=1#top">b</a>
<a href="/p?id=1">c</a> <a href="/%70?id=1">d</a> <a href="/P?id=1">e</a> <a href="/p/?id=1">f</a>
<a href="/?fbclid=1">g</a> <a href="/P?ID=1">h</a>"""


def key(**options: object) -> str | None:
    found = adapter.UniqueKeys()(crawlee.RequestOptions(**options))
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
    made = adapter.UniqueKeys().request("http://A.example/%7E?utm_source=x")
    assert made.url == "http://A.example/%7E?utm_source=x"
    assert made.unique_key == "http://a.example/~"
    given = crawlee.RequestOptions(url="http://a.example/", label="list", user_data={"a": 1})
    found = adapter.UniqueKeys()(given)
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
        keys = adapter.UniqueKeys()
        crawler = crawlers.ParselCrawler(
            storage_client=storage_clients.MemoryStorageClient(),
            concurrency_settings=crawlee.ConcurrencySettings(
                max_concurrency=1, desired_concurrency=1
            ),
            max_requests_per_crawl=20,
            request_handler_timeout=timedelta(seconds=20),
            configure_logging=False,
        )

        @crawler.router.default_handler
        async def _(context: Any) -> None:  # noqa: ANN401 - crawlee is not imported yet
            await context.enqueue_links(transform_request_function=keys if with_keys else None)

        start = str(server.make_url("/"))
        await crawler.run([keys.request(start) if with_keys else crawlee.Request.from_url(start)])
    return asked


@pytest.mark.slow
def test_a_crawl_asks_once_for_each_resource() -> None:
    asked = asyncio.run(crawl(with_keys=True))
    assert sorted(asked.values()) == [1] * 5
    paths = {path.partition("?")[0] for path in asked}
    assert paths == {"/", "/p", "/P", "/p/"}
    # Crawlee's own keys are in lower case, without final slashes: it misses three pages.
    assert len(asyncio.run(crawl(with_keys=False))) < len(asked)
