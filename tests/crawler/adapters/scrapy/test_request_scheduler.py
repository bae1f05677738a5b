"""The scheduler and the dupefilter by themselves, without an engine, on every database."""

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import scrapy
from scrapy import Request
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from support.databases import url_of

from canonry.canon.learned import LearnedRule, RuleSet
from canonry.crawler.adapters.scrapy.dupe_filter import CanonryDupeFilter
from canonry.crawler.adapters.scrapy.request_scheduler import CanonryScheduler
from canonry.crawler.adapters.scrapy.request_session import RequestSession
from canonry.scrapy import Canonry

pytestmark = [pytest.mark.every_database, pytest.mark.usefixtures("database")]
SITE = "http://a.example"


class Spider(scrapy.Spider):
    name = "spider"

    def parse_one(self, response: Any) -> None:  # noqa: ANN401 - never called
        """Do nothing."""


def crawler_of(store: str, **settings: Any) -> Crawler:  # noqa: ANN401 - of Scrapy
    """Return a crawler with the add-on."""
    given = Settings({"CANONRY_STORE": store, **settings})
    Canonry().update_settings(given)
    crawler = Crawler(Spider, given)  # without a reactor, which a process can have but one of
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.spider = Spider()
    return crawler


@contextmanager
def opened(store: str, **settings: Any) -> Iterator[CanonryScheduler]:  # noqa: ANN401 - of Scrapy
    """Open a scheduler, as the engine does, and close it as if the crawl was stopped."""
    crawler = crawler_of(store, **settings)
    scheduler = CanonryScheduler.from_crawler(crawler)
    assert isinstance(crawler.spider, Spider)
    scheduler.open(crawler.spider)
    try:
        yield scheduler
    finally:
        scheduler.close("shutdown")


def rest(scheduler: CanonryScheduler) -> list[str]:
    """Take all requests; return their URLs, without the site."""
    return [r.url.removeprefix(SITE) for r in iter(scheduler.next_request, None)]


def enqueue(scheduler: CanonryScheduler, *paths: str, **given: Any) -> list[bool]:  # noqa: ANN401
    """Enqueue requests; return the answers."""
    return [scheduler.enqueue_request(Request(f"{SITE}{path}", **given)) for path in paths]


def test_one_page_is_queued_once(tmp_path: Path) -> None:
    with opened(url_of(tmp_path)) as scheduler:
        assert enqueue(scheduler, "/a", "/a", "/a?utm_source=x", "/b") == [True, False, False, True]
        assert enqueue(scheduler, "/a", dont_filter=True) == [True]
        assert enqueue(scheduler, "/a", "/a", method="POST") == [True, False]
        assert len(scheduler) == 4
        stats = scheduler._crawler.stats  # noqa: SLF001 - the crawler's
        assert stats is not None
        assert stats.get_value("dupefilter/filtered") == 3
        assert stats.get_value("dupefilter/canonry/tracking") == 1
        assert stats.get_value("dupefilter/canonry/same-url") == 1


def test_priorities_then_the_last_first_then_start_requests(tmp_path: Path) -> None:
    with opened(url_of(tmp_path)) as scheduler:
        enqueue(scheduler, "/start1", "/start2", meta={"is_start_request": True})
        enqueue(scheduler, "/a", "/b")
        enqueue(scheduler, "/low", priority=-1)
        enqueue(scheduler, "/high", priority=7)
        assert rest(scheduler) == ["/high", "/b", "/a", "/start1", "/start2", "/low"]


def test_first_in_first_out_where_the_settings_say_so(tmp_path: Path) -> None:
    fifo = {"SCHEDULER_DISK_QUEUE": "scrapy.squeues.PickleFifoDiskQueue"}
    with opened(url_of(tmp_path), **fifo) as scheduler:
        enqueue(scheduler, "/a", "/b", "/c")
        assert rest(scheduler) == ["/a", "/b", "/c"]


def test_what_was_taken_and_not_processed_comes_again(tmp_path: Path) -> None:
    with opened(url_of(tmp_path)) as scheduler:
        enqueue(scheduler, "/a", "/b")
        assert scheduler.next_request() is not None
    with opened(url_of(tmp_path)) as scheduler:
        assert scheduler.has_pending_requests()
        assert rest(scheduler) == ["/b", "/a"]
        assert enqueue(scheduler, "/a") == [False]


def test_a_request_comes_back_whole(tmp_path: Path) -> None:
    with opened(url_of(tmp_path)) as scheduler:
        spider = scheduler._spider  # noqa: SLF001 - to name its method
        assert isinstance(spider, Spider)
        given = Request(
            f"{SITE}/a",
            spider.parse_one,
            method="PUT",
            headers={"X-A": ["1", "2"]},
            body=b"\xff",
            cookies={"c": "d"},
            meta={"depth": 3, "deep": [{"x": (1, 2)}]},
            cb_kwargs={"k": {1}},
            flags=["f"],
            priority=2,
        )
        assert scheduler.enqueue_request(given)
    with opened(url_of(tmp_path)) as scheduler:
        taken = scheduler.next_request()
        spider = scheduler._spider  # noqa: SLF001 - as above
        assert taken is not None
        assert taken.to_dict(spider=spider) == given.to_dict(spider=spider) | {
            "callback": "parse_one"
        }


def test_what_cannot_be_written_waits_in_memory_and_comes_first(tmp_path: Path) -> None:
    with opened(url_of(tmp_path)) as scheduler:
        enqueue(scheduler, "/a")
        assert enqueue(scheduler, "/b", "/b", callback=lambda _response: None) == [True, False]
        assert enqueue(scheduler, "/a", callback=lambda _response: None) == [False]
        assert len(scheduler) == 2
        assert rest(scheduler) == ["/b", "/a"]
    with opened(url_of(tmp_path)) as scheduler:  # the page that gave it gives it again
        assert enqueue(scheduler, "/b") == [True]


def test_a_redirect_to_its_own_page_is_no_duplicate(tmp_path: Path) -> None:
    with opened(url_of(tmp_path)) as scheduler:
        enqueue(scheduler, "/a?utm_source=x", "/c")
        came = {"redirect_urls": [f"{SITE}/a?utm_source=x"], "redirect_times": 1}
        assert enqueue(scheduler, "/a", meta=came) == [True]
        assert enqueue(scheduler, "/c", meta=came) == [False]
        looped = {"redirect_urls": [f"{SITE}/d"] * 2}
        assert enqueue(scheduler, "/d", "/d", meta=looped) == [True, False]


def test_rules_of_a_file_hold_what_is_known_under_another_name(tmp_path: Path) -> None:
    rule = LearnedRule(host="a.example", family="trailing-slash", new="bare")
    (tmp_path / "rules.json").write_text(RuleSet([rule], "web/1").dumps())
    with opened(url_of(tmp_path), CANONRY_RULES=tmp_path / "rules.json") as scheduler:
        assert enqueue(scheduler, "/a", "/a/", "/b/", "/b") == [True, False, True, True]
        stats = scheduler._crawler.stats  # noqa: SLF001 - the crawler's
        assert stats is not None
        assert stats.get_value("dupefilter/canonry/learned/trailing-slash") == 1
        assert rest(scheduler) == ["/b", "/a"]  # in place of "/b/", which waited


def claims_of(store: str, count: int) -> list[str]:
    """Claim pages in a process of its own; return those that were new."""
    dupefilter = CanonryDupeFilter.from_crawler(crawler_of(store))
    dupefilter.open()
    urls = [f"{SITE}/{n}" for n in range(count)]
    new = [url for url in urls if not dupefilter.request_seen(Request(url))]
    dupefilter.close("finished")
    return new


def test_of_processes_that_claim_the_same_pages_each_page_has_one(tmp_path: Path) -> None:
    store, context = url_of(tmp_path), multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(2, context) as processes:
        jobs = [processes.submit(claims_of, store, 60) for _ in range(2)]
        won = [job.result() for job in jobs]
    assert sorted(won[0] + won[1]) == sorted(f"{SITE}/{n}" for n in range(60))


def test_a_session_is_shared_and_closed_once(tmp_path: Path) -> None:
    crawler = crawler_of(url_of(tmp_path))
    session = RequestSession.of(crawler)
    assert RequestSession.of(crawler) is session
    session.open("spider", queues=True)
    session.open("spider", queues=False)
    session.close("shutdown")
    assert session.is_open
    session.close("shutdown")
    assert not session.is_open


def test_links_into_a_page_are_duplicates_and_suppress_nothing(tmp_path: Path) -> None:
    """Also where the page was asked with a fragment, or is spelled in another way."""
    with opened(url_of(tmp_path)) as scheduler:
        assert enqueue(scheduler, "/a", "/a#1", "/a#2", "/a#1") == [True, False, False, False]
        assert enqueue(scheduler, "/b#1") == [True]
        assert enqueue(scheduler, "/b", "/b#2", "/x/../a#1") == [False] * 3
        stats = scheduler._crawler.stats  # noqa: SLF001 - the crawler's
        assert stats is not None
        assert stats.get_value("dupefilter/canonry/fragment") == 5
        assert stats.get_value("canonry/suppressed/fragment") is None


def redirected(request: Request) -> Request:
    """Return what Scrapy makes of a redirect of a request to itself."""
    sources = [*request.meta.get("redirect_urls", []), request.url]
    return request.replace(meta={**request.meta, "redirect_urls": sources})


def test_a_cookie_wall_is_passed_once_by_each_process(tmp_path: Path) -> None:
    store = url_of(tmp_path)
    with opened(store) as first:
        first.enqueue_request(Request(f"{SITE}/wall"))
        wall = first.next_request()
        assert wall is not None
        assert first.enqueue_request(redirected(wall))
    with opened(store) as second:  # the first was stopped, and its cookie is gone
        again = [second.next_request(), second.next_request()]
        through = next(one for one in again if one is not None and "redirect_urls" in one.meta)
        assert second.enqueue_request(redirected(through))
        more = second.next_request()
        assert more is not None
        assert not second.enqueue_request(redirected(more))
