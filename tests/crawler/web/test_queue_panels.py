"""Refused URLs and what needs a person, with the commands that change something."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.live_pages import Viewer, live_page, shown
from support.stores import candidate, open_store, visited

from canonry.crawler.admission import url_filter
from canonry.crawler.run.job.preparation import as_job
from canonry.crawler.settings import load
from canonry.storage import Page, State
from canonry.storage.records import CachedRobots
from canonry.storage.rows import host_rows, leases, little_new
from canonry.storage.rows.little_new import LittleNew
from canonry.storage.steering import blocked_hosts
from canonry.storage.steering.short_steps import ShortSteps

A = "http://a.example/"
_EVIL = "<script>alert(1)</script>"


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Viewer]:
    """Return a viewer of a store with queued, held and failed URLs on a few hosts."""
    store = open_store(tmp_path)
    settings = load(None, {"crawl": {"max_depth": 3, "delay": 0.5}})
    store.budgets_of = lambda url: url_filter.budgets_of(url, settings.traps)
    urls = [*(f"{A}day/{n}/" for n in range(60)), *(f"http://h{n}.example/" for n in range(70))]
    store.admit([candidate(url) for url in urls], 1.0)
    store.admit([candidate(f"{A}{n}", depth=4, held="too-deep") for n in range(3)], 1.0)
    store.admit([candidate(f"{A}{_EVIL}", held="out-of-scope")], 1.0)
    url_id = store.admit([candidate(f"{A}fails")], 1.0)[0].url_id
    store.record([visited(url_id, State.FAILED, "dns")], 5.0)
    with store.transaction() as connection:
        leases.pace(connection, {"h1.example": 4e9}, {"h1.example": 7.0})
        kept = CachedRobots(None, 9e9, 1e9)
        host_rows.cache_robots(connection, "http://h1.example", kept)
    store.begin_job("crawl", as_job([A], (), settings), 1.0)
    store.close()
    with live_page(f"sqlite:///{tmp_path / 'store.db'}") as viewer:
        yield viewer


def test_reasons_have_examples_and_what_lifts_them(queue: Viewer) -> None:
    found = queue.json("/not-fetched")["reasons"]
    assert [(one["state"], one["reason"], one["urls"]) for one in found] == [
        ("held", "too-deep", 3),
        ("failed", "dns", 1),
        ("held", "out-of-scope", 1),
    ]
    assert found[0]["remedy"] == "--max-depth 4 or more (it was 3)"
    assert found[0]["examples"] == [f"{A}2", f"{A}1", f"{A}0"]
    one = queue.json("/not-fetched?state=held&reason=too-deep")["one"]
    assert [row["url"] for row in one["urls"]] == found[0]["examples"]
    page = queue.get("/not-fetched?state=held&reason=out-of-scope").text
    assert _EVIL not in page
    assert queue.get("/not-fetched?state=other&reason=x").status == 400


def test_the_commands_that_change_something_are_there_to_copy(
    queue: Viewer, tmp_path: Path
) -> None:
    store = f"--store sqlite:///{tmp_path}/store.db"
    assert "--max-depth 4 or more" in shown(queue.get("/not-fetched").text)
    assert f"canonry hosts block {store} a.example" in shown(queue.get("/to-do").text)
    with ShortSteps(f"sqlite:///{tmp_path}/store.db") as steps:
        blocked_hosts.block(steps, "a.example")
    assert "canonry hosts block" not in shown(queue.get("/to-do?after=that").text)


def test_what_needs_a_person_comes_first(queue: Viewer, tmp_path: Path) -> None:
    found = queue.json("/to-do?before=that")
    assert [(one["reason"], one["urls"]) for one in found["reasons"]] == [("dns", 1)]
    assert [(one["host"], one["reason"]) for one in found["hosts"]] == [("a.example", "dns")]
    assert found["little_new"] == []
    now = queue.json("/now?before=that")
    assert (now["to_do"], now["held"], now["says"]) == (
        *(2, 4, "It runs: 0 pages so far, 130 URLs in the queue."),
    )
    store = open_store(tmp_path)
    [found_id] = [one.url_id for one in store.admit([candidate(f"{A}well")], 1.0)]
    store.admit([candidate(f"{A}login", held="wall")], 1.0)
    well = Page(200, 0.25, "text/html", 3, b"d" * 16, None, None, 0)
    store.record([visited(found_id, State.FETCHED, page=well)], 6.0)
    with store.transaction() as connection:
        for n in range(7):
            poor = LittleNew(f"h{n}.example", 0.04, f"h{n}.example/list?", 150, 0.02)
            little_new.put(connection, poor, float(n))
    store.close()
    found = queue.json("/to-do?after=that")
    assert found["hosts"] == [], "it has given a page since"
    newest = [f"h{n}.example" for n in (6, 5, 4, 3, 2)]
    assert [one["host"] for one in found["little_new"]] == newest
    page = queue.get("/").text
    store_url = f"--store sqlite:///{tmp_path}/store.db"
    assert f"canonry patterns exclude --dry-run {store_url} 'h6.example/list?'" in shown(page)
    assert shown(page).count(f"canonry refused release {store_url} wall") == 1
    assert "canonry refused release wall" not in shown(page), "it is said once, with its store"
    assert "then the same crawl command again" in shown(page)
    assert 'href="/not-fetched?state=failed&amp;reason=dns"' in page
    assert page.index("7 things need you") < page.index("To do</a></h2>")
    assert 'class="now slim"' in queue.get("/growth").text


def test_nothing_to_do_is_said(tmp_path: Path) -> None:
    open_store(tmp_path).close()
    with live_page(f"sqlite:///{tmp_path / 'store.db'}") as viewer:
        page = viewer.get("/").text
    assert "No crawl has used this store." in page
    assert "Nothing needs you" in page
    assert "Nothing: all goes as it was told." in page
