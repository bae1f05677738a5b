"""Growth and the last pages, on a store that is made sample by sample."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.live_pages import Viewer, live_page
from support.stores import admit, lease, open_store, visited

from canonry.crawler.observe.progress import LiveCrawl, Progress
from canonry.storage import Page, State

HOUR = 3_600.0
TITLE = "<script>alert(1)</script>\u202e" + "x" * 2_000_000
PAGE = Page(200, 0.25, "text/html", 3, b"d" * 16, TITLE, None, 0)


@pytest.fixture(scope="module", autouse=True)
def _clock_that_stands_still() -> Iterator[None]:
    """Let all tests take no time: speeds and ages do not depend on how busy the machine is."""
    now = time.time()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(time, "time", lambda: now)
        yield


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Make a store in which a job runs: 40 of 100 pages fetched, a page every 3 seconds."""
    folder = tmp_path_factory.mktemp("growth")
    now = time.time()
    made = open_store(folder)
    urls = [f"http://h.example/{n}" for n in range(99)] + ["http://me:secret@h.example/x_y"]
    url_ids = [answer.url_id for answer in admit(made, urls, now - HOUR)]
    made.begin_job("crawl", '{"settings": {"crawl": {"max_pages": 60}}}', now - 121.0)
    lease(made)
    for n, url_id in enumerate([*url_ids[:39], url_ids[99]]):
        status = 404 if n == 5 else 200
        page = PAGE._replace(status=status, digest=url_id.to_bytes(16))
        made.record([visited(url_id, State.FETCHED, page=page)], now - 120.0 + 3 * n)
    made.close()
    return f"sqlite:///{folder / 'store.db'}"


@pytest.fixture(scope="module")
def grown(store: str) -> Iterator[Viewer]:
    with live_page(store) as viewer:
        yield viewer


def test_the_speed_of_another_process_comes_from_its_samples(grown: Viewer) -> None:
    found = grown.json("/now")
    assert (found["state"], found["probes"], found["share"]) == ("running", None, 0.4)
    assert (found["fetched"], found["queued"]) == (40, 60)
    assert 0.1 < found["pages_per_second"] < 0.5
    # 60 are queued, 20 pages are left until --max-pages, at a page every three seconds or so.
    assert 30 < found["left"]["least"] <= found["left"]["most"] < 180


def test_growth_has_the_samples_of_a_span(grown: Viewer) -> None:
    found = grown.json("/growth")
    points = found["points"]
    assert 30 < len(points) <= 150
    assert [p["fetched"] for p in points] == sorted(p["fetched"] for p in points)
    assert points[-1]["fetched"] == 40
    for point in points:
        parts = ("fetched", "redirected", "suppressed", "held", "failed", "queued")
        assert point["known"] == sum(point[name] for name in parts) == 100
    assert grown.json("/growth?span=10min")["points"][-1] == points[-1]
    assert "has to be one of" in grown.get("/growth.json?span=2h").data["error"]


def test_the_chart_has_its_numbers_as_a_table_too(grown: Viewer) -> None:
    text = grown.get("/growth").text
    assert text.count('<svg class="chart') == 2
    assert text.count("<polyline") == 2 * 6
    assert "<title" in text
    assert text.count('<tr><th scope="row">') == 30


def test_a_store_without_samples_says_so(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with live_page(f"sqlite:///{tmp_path / 'store.db'}") as viewer:
        assert viewer.json("/growth")["points"] == []
        assert "This store has no samples" in viewer.get("/growth").text


def test_the_crawl_of_this_process_knows_more(store: str) -> None:
    watched = LiveCrawl()
    watched.update(Progress(queued=60, pages=40, probes=9))
    with live_page(store, watched) as viewer:
        found = viewer.json("/now")
        assert found["probes"] == 9
        assert "<dt>probes</dt><dd>9" in viewer.get("/now").text
