"""Why a request is a duplicate: the rules are named, also where the store is not asked again."""

from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.statscollectors import MemoryStatsCollector

from canonry.crawler.adapters.scrapy.dupe_filter import CanonryDupeFilter

_PAGE = "http://a.example/page"


def seen(folder: Path, *urls: str, **settings: str) -> dict[str, int]:
    """Claim URLs in order; return how many were dropped by each rule, and suppressed."""
    crawler = Crawler(Spider, {"CANONRY_STORE": str(folder / "s.db"), **settings})
    crawler.stats = MemoryStatsCollector(crawler)
    dupes = CanonryDupeFilter.from_crawler(crawler)
    dupes.open()
    for url in urls:
        dupes.request_seen(Request(url))
    dupes.close("finished")
    counts = crawler.stats.get_stats()
    return {n.removeprefix("dupefilter/canonry/"): v for n, v in counts.items() if "canonry" in n}


@pytest.mark.parametrize("first", [_PAGE, f"{_PAGE}#top"])
def test_links_into_a_page_are_told_from_the_page_itself(tmp_path: Path, first: str) -> None:
    others = {_PAGE, f"{_PAGE}#top", f"{_PAGE}#a", f"{_PAGE}#b"} - {first}
    assert seen(tmp_path, first, *sorted(others), first) == {"fragment": 3, "same-url": 1}
    # Another process knows them from the store.
    assert seen(tmp_path, *sorted(others), first) == {"fragment": 3, "same-url": 1}


def test_another_spelling_is_suppressed_once_whatever_its_fragment(tmp_path: Path) -> None:
    tracked = f"{_PAGE}?utm_source=x"
    found = seen(tmp_path, _PAGE, tracked, f"{tracked}#a", f"{tracked}#b", tracked)
    assert found == {
        "tracking": 2, "tracking+fragment": 2, "canonry/suppressed/tracking": 1,
    }  # fmt: skip


def test_where_fragments_count_they_are_kept_apart(tmp_path: Path) -> None:
    urls = [_PAGE, f"{_PAGE}#a", f"{_PAGE}#b", f"{_PAGE}#a"]
    assert seen(tmp_path, *urls, CANONRY_POLICY="rfc3986") == {"same-url": 1}
