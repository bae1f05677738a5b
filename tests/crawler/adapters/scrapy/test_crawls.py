"""Crawls of the released Scrapy with the add-on, each in a process of its own."""

import json
import os
import random
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner
from sqlalchemy import select
from support import databases, spiders
from support.servers import ok, raw_server
from support.sites import demo_site, exported, from_thread, wait_for

from canonry.crawler.cli.commands import main
from canonry.crawler.demo.server import Served
from canonry.crawler.demo.site import SEED
from canonry.storage import StoreError
from canonry.storage.reading import report
from canonry.storage.sql.schema import urls
from canonry.storage.sql.tables.guest_tables import RequestState, requests

KILLS = int(os.environ.get("CANONRY_TEST_KILLS", "3"))  # more for a long look, with --timeout=0
ROBOTS = ok(b"User-agent: *\nDisallow: /private/\n", "Content-Type: text/plain")


@contextmanager
def proxied(products: int = 16, guides: int = 8) -> Iterator[Served]:
    """Serve the demo site; Scrapy takes the server for a proxy, so that all hosts lead to it."""
    with demo_site(products=products, guides=guides) as served, pytest.MonkeyPatch.context() as p:
        p.setenv("http_proxy", f"http://127.0.0.1:{served.port}")
        yield served


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> tuple[set[str], int]:
    """Return the titles that Scrapy itself finds, and how many requests it needs."""
    with proxied():
        items, stats, _ = spiders.run("links", SEED, tmp_path_factory.mktemp("plain"))
    return titles(items), stats["downloader/request_count"]


@pytest.fixture
def site() -> Iterator[Served]:
    with proxied() as served:
        yield served


def titles(items: list[dict[str, Any]]) -> set[str]:
    """Return the titles of pages; on the demo site, a title is a resource."""
    return {item["title"] for item in items if item.get("title")}


def repeated(served: Served) -> set[str]:
    """Return what was asked more than once, but for redirects to the very same URL."""
    to_itself = ("/wall/", "/loop/self")
    twice = {target for target, count in served.targets.items() if count > 1}
    return {target for target in twice if not any(path in target for path in to_itself)}


def in_flight(store: str) -> Counter[str]:
    """Return the targets, with their hosts, that spiders have taken and not processed."""
    try:
        with report.reading(store) as connection:
            taken = requests.c.status == RequestState.QUEUED, requests.c.holder.is_not(None)
            found = connection.scalars(select(requests.c.url).where(*taken)).all()
    except StoreError:  # the first run was killed before it made one
        return Counter()
    parts = [urlsplit(url) for url in found]
    return Counter(f"{p.hostname}{p.path or '/'}{'?' * bool(p.query)}{p.query}" for p in parts)


def in_file(path: Path) -> list[dict[str, Any]]:
    """Return the items that spiders wrote to a file before they were killed."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.endswith("}")]


def test_it_finds_what_scrapy_finds_with_fewer_requests_and_nothing_anew_in_a_second_run(
    plain: tuple[set[str], int], site: Served, tmp_path: Path
) -> None:
    items, stats, log = spiders.run("links", SEED, tmp_path, **spiders.ADDON)
    assert plain[0] <= titles(items)
    assert stats["downloader/request_count"] < 0.75 * plain[1]
    by_rule = {n: count for n, count in stats.items() if n.startswith("dupefilter/canonry/")}
    assert sum(by_rule.values()) == stats["dupefilter/filtered"]
    assert by_rule["dupefilter/canonry/tracking"] > 0
    assert " fetches suppressed, by rule: tracking " in log
    # As with Scrapy, the start page is asked again where it is linked.
    assert repeated(site) <= {"shop.example/"}
    states = Counter(url["state"] for url in exported(tmp_path, "urls"))
    assert states["queued"] == 0
    assert states["redirected"] > 0
    fetched = {page["url"]: page["fetched_at"] for page in exported(tmp_path, "pages")}
    assert titles(exported(tmp_path, "pages")) >= titles(items)
    kinds = Counter(alias["kind"] for alias in exported(tmp_path, "aliases"))
    assert min(kinds["redirect"], kinds["canonical"]) > 0
    assert_sources_are_right(tmp_path)

    site.targets.clear()
    again, stats, _ = spiders.run("links", SEED, tmp_path, **spiders.ADDON)
    assert len(items) > 30
    assert titles(again) == {"/"}
    assert site.targets == {"shop.example/": 1}
    assert stats["dupefilter/filtered"] > 0
    pages = exported(tmp_path, "pages")
    anew = [page["url"] for page in pages if page["fetched_at"] != fetched[page["url"]]]
    assert anew == ["http://shop.example/"], "the new page replaces the one of the first run"


def assert_sources_are_right(folder: Path) -> None:
    """Check that each URL has the page on which it was found."""
    with report.reading(f"sqlite:///{folder / 'canonry.db'}") as connection:
        columns = (urls.c.id, urls.c.url, urls.c.depth, urls.c.source_id)
        rows = connection.execute(select(*columns).where(urls.c.hops == 0)).all()
    pages = {url_id: (url, depth) for url_id, url, depth, _source in rows}
    assert max(depth for _url, depth in pages.values()) > 2
    for _id, url, depth, source in rows:
        if depth == 1:  # on the start page, which claims nothing, so the store may not have it
            assert source is None or pages[source][0] == SEED, url
        elif source in pages and pages[source][0] != SEED:  # else a redirect leads to its source
            assert pages[source][1] == depth - 1, url
        else:
            assert source is not None, url
    links = [url for _id, url, depth, source in rows if depth == 1 and source is None]
    done = CliRunner().invoke(main, ["why", links[0], "--store", str(folder / "canonry.db")])
    assert "found      on a page that the store does not have, " in done.stdout
    assert ", 1 link from a seed" in done.stdout


def test_with_scrapys_own_scheduler_each_url_has_the_page_on_which_it_was_found(
    site: Served, tmp_path: Path
) -> None:
    own = {"SCHEDULER": "scrapy.core.scheduler.Scheduler"}
    spiders.run("links", SEED, tmp_path, **spiders.ADDON, **own)
    assert site.targets
    assert_sources_are_right(tmp_path)


def habit(head: bytes, busy: list[int]) -> bytes:
    """Answer the spider of habits."""
    target = head.split()[1].decode()
    html = ok(target.encode(), "Content-Type: text/html")
    if target == "/robots.txt":
        return ROBOTS
    if target == "/busy":
        busy.append(1)
        return html if len(busy) > 1 else ok(b"", status="503 Busy")
    if target == "/gone":
        return ok(b"", status="404 Not Found")
    if target == "/moved?utm_source=x":
        return ok(b"", "Location: /moved", status="301 Moved")
    if target == "/old":
        return ok(b"", "Location: /once", status="301 Moved")
    return html


def test_habits_of_spiders_keep_their_meaning(tmp_path: Path) -> None:
    busy: list[int] = []
    with from_thread(raw_server(lambda head: habit(head, busy))) as raw:
        base = f"http://127.0.0.1:{raw.port}"
        one_by_one = {"CONCURRENT_REQUESTS": 1, "ROBOTSTXT_OBEY": True, "DUPEFILTER_DEBUG": True}
        items, stats, log = spiders.run(
            "habits", base, tmp_path, **one_by_one, **spiders.ADDON, LOG_LEVEL="DEBUG"
        )
        asked = Counter(line.split()[1].decode() for line in raw.lines)
    assert [item["number"] for item in items if "number" in item] == [1, 2, 3, 4]
    assert asked["/form"] == 2  # two bodies
    assert asked["/again"] == 2  # dont_filter
    assert asked["/once?utm_source=x"] == 1
    assert [item["tag"] for item in items if "tag" in item] == [["kept"]]
    assert asked["/busy"] == 2  # the retry of a 503 is no duplicate
    assert asked["/moved?utm_source=x"] == asked["/moved"] == 1  # its own source is no duplicate
    assert asked["/old"] == 1
    assert asked["/once"] == 0  # it was asked under another name
    assert asked["/lambda"] == 1  # it cannot be written: it waits in memory
    assert asked["/robots.txt"] == 1
    assert asked["/private/x"] == 0
    failed = {item["failed"]: item["by"] for item in items if "failed" in item}
    assert failed["/gone"] == "HttpError"
    assert failed.get("/private/x", "IgnoreRequest") == "IgnoreRequest"  # 2.13 calls no errback
    order = [item["path"] for item in items if "path" in item]
    assert order.index("/high") < order.index("/low")
    assert stats["scheduler/unserializable"] == 1
    assert "rule: tracking; same as: " in log
    known = {url["url"].removeprefix(base): url for url in exported(tmp_path, "urls")}
    assert known["/private/x"]["reason"] == "robots"
    assert known["/old"]["state"] == "redirected"
    assert known["/gone"]["state"] == "fetched"
    assert "/form" not in known


def kill_often(
    command: list[str], folder: Path, served: Served, kills: int, store: str
) -> Counter[str]:
    """Run a command again and again; kill each run after some requests, but let the last end.

    Returns:
        What was in flight when runs were killed.
    """
    chance = random.Random(kills)
    flying: Counter[str] = Counter()
    for _ in range(kills):
        goal = served.requests + chance.randrange(1, max(4, 160 // kills))
        with (folder / "log").open("ab") as log:
            run = subprocess.Popen(command, cwd=folder, stderr=log)
        wait_for(lambda goal=goal, run=run: served.requests >= goal or run.poll() is not None, 60)
        run.kill()
        run.wait()
        flying += in_flight(store)
    with (folder / "log").open("ab") as log:
        subprocess.run(command, cwd=folder, stderr=log, timeout=100, check=True)
    return flying


def test_kills_lose_nothing_and_repeat_only_what_was_in_flight(
    plain: tuple[set[str], int], site: Served, tmp_path: Path
) -> None:
    site.pause = 0.01
    store = databases.url_of(tmp_path)
    out = tmp_path / "out.jsonl"
    command = spiders.words(
        "links", SEED, out, **spiders.ADDON, CANONRY_STORE=store, CANONRY_LEARN=False
    )
    flying = kill_often(command, tmp_path, site, KILLS, store)
    assert flying.total() > 3
    assert plain[0] <= titles(in_file(out))
    again = {target: site.targets[target] - 1 for target in repeated(site) - {"shop.example/"}}
    assert {t: (n, flying[t]) for t, n in again.items() if n > flying[t]} == {}
    log = (tmp_path / "log").read_text()
    assert "Resuming crawl: " in log
    ours = re.findall(r'File ".*/canonry/(?:canon|crawler|storage)/.*', log)
    assert ours == []  # Scrapy logs a traceback if it cannot ask the web for its list of suffixes


@pytest.mark.parametrize("database", ["postgresql"], indirect=True)
@pytest.mark.usefixtures("database")
def test_two_processes_of_a_spider_share_its_queue(site: Served, tmp_path: Path) -> None:
    site.pause = 0.6  # Scrapy's engine looks every 5 seconds for requests that others have found
    store = databases.url_of(tmp_path)
    given = {**spiders.ADDON, "CANONRY_STORE": store, "CANONRY_LEARN": False}
    runs, outs = [], [tmp_path / "out0", tmp_path / "out1"]
    for out in outs:
        with (tmp_path / "log").open("ab") as log:
            command = spiders.words("links", SEED, out, **given)
            runs.append(subprocess.Popen(command, cwd=tmp_path, stderr=log))
    assert [run.wait(100) for run in runs] == [0, 0]
    counts = [sum("title" in item for item in in_file(out)) for out in outs]
    assert min(counts) > 0
    assert repeated(site) <= {"shop.example/"}


def test_rules_are_learned(tmp_path: Path) -> None:
    """On a site with evidence for four rules, in whatever order its answers come."""
    with proxied(products=48, guides=24):
        _, _, log = spiders.run("links", SEED, tmp_path, **spiders.ADDON)
    assert "is active" in log
    assert any(rule["state"] == "active" for rule in exported(tmp_path, "rules"))


def test_a_wrong_setting_stops_the_crawl_with_what_is_allowed(tmp_path: Path) -> None:
    wrong = {**spiders.ADDON, "CANONRY_POLICY": "wep"}
    command = spiders.words("links", "http://127.0.0.1:9/", tmp_path / "out", **wrong)
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=60, check=False)
    assert b"there is no policy" in done.stderr or b"wep" in done.stderr
    assert b"web" in done.stderr
    assert not (tmp_path / "canonry.db").exists()
