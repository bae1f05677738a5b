"""The live page over HTTP: a real server, a real store."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from support.browsing.shop import crawl_of_shop
from support.crawls import crawl, page
from support.live_pages import Viewer, live_page
from support.sites import wait_for

from canonry.crawler.observe.progress import LiveCrawl, Progress
from canonry.crawler.settings import SettingsError
from canonry.crawler.web import serving
from canonry.crawler.web.app import PANELS
from canonry.crawler.web.panel import Panel
from canonry.crawler.web.serving import Place

TOKEN = "not-guessed-easily"  # noqa: S105


@pytest.mark.parametrize("path", ["/", *(f"/{panel.name}" for panel in PANELS)])
def test_every_page_is_whole_safe_and_without_inline_code(viewer: Viewer, path: str) -> None:
    reply = viewer.get(path)
    assert reply.status == 200
    policy = reply.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self'")
    assert "unsafe" not in policy
    assert reply.headers["X-Content-Type-Options"] == "nosniff"
    assert reply.headers["X-Frame-Options"] == "DENY"
    assert reply.headers["Referrer-Policy"] == "no-referrer"
    assert re.findall(r"<script[^>]*>", reply.text) == ['<script src="/static/page.js" defer>']
    assert not re.search(r"<[^>]*\s(style|on[a-z]+)=", reply.text)
    assert "<h1" in reply.text
    for name in ("main", "nav", "header", "footer"):
        assert reply.text.count(f"<{name}") == 1
    assert "http://" not in "".join(re.findall(r'src="[^"]*"', reply.text))
    ids = re.findall(r'\sid="([^"]*)"', reply.text)
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.name)
def test_every_panel_has_its_json(viewer: Viewer, panel: Panel) -> None:
    name = panel.name
    reply = viewer.get(f"/{name}.json")
    assert (reply.status, reply.headers["Content-Type"]) == (200, "application/json")
    assert "secret" not in reply.text


def test_now_counts_what_is_in_the_store(viewer: Viewer) -> None:
    found = viewer.json("/now")
    counted = {name: found[name] for name in ("queued", "fetched", "redirected", "held")}
    assert counted == {"queued": 0, "fetched": 4, "redirected": 1, "held": 1}
    assert (found["state"], found["error_pages"], found["failed"]) == ("finished", 1, 0)
    assert found["merged_links"] == 2
    assert found["pages_per_second"] is found["left"] is None
    assert (found["says"], found["share"], found["to_do"]) == ("It is done: 4 pages.", 1.0, 0)


def test_another_name_is_not_answered(viewer: Viewer) -> None:
    reply = viewer.get("/", Host="evil.example")
    assert reply.status == 421
    assert "finished" not in reply.text
    assert "--allow-host" in reply.text
    assert viewer.get("/now.json", Host="evil.example").data.keys() == {"error"}


def test_unknown_pages_and_questions_are_answered_in_a_sentence(viewer: Viewer) -> None:
    assert viewer.get("/nothing").status == 404
    assert viewer.get("/static/../app.py").status == 404
    assert viewer.get("/static/%2e%2e/app.py").status in {403, 404}


@pytest.mark.parametrize("path", ["/", *(f"/{panel.name}" for panel in PANELS)])
def test_nothing_is_changed_from_the_page(viewer: Viewer, path: str) -> None:
    assert 'method="post"' not in viewer.get(path).text
    reply = viewer.post(path, {"host": "a.example"}, Origin=viewer.origin)
    assert reply.status == 405
    assert "this page only shows" in reply.text


def test_a_token_is_needed_once_it_is_given(crawled: str) -> None:
    with live_page(crawled, place=Place(token=TOKEN)) as viewer:
        assert str(viewer.address).endswith(f"/?token={TOKEN}")
        refused = viewer.get("/")
        assert refused.status == 401
        assert 'name="token"' in refused.text
        assert viewer.get("/now.json").status == viewer.get("/to-do").status == 401
        assert viewer.get("/?token=wrong-but-long").status == 401
        assert viewer.get("/static/style.css").status == 200
        sent = viewer.get(f"/now?token={TOKEN}&x=1")
        assert (sent.status, sent.headers["Location"]) == (303, "/now?x=1")
        cookie = sent.headers["Set-Cookie"]
        assert {"HttpOnly", "SameSite=Strict"} <= set(cookie.split("; "))
        assert viewer.get("/", Cookie=cookie.partition(";")[0]).status == 200
        assert viewer.json("/now", Authorization=f"Bearer {TOKEN}")["state"] == "finished"


def test_a_store_that_is_not_there_yet_is_waited_for(tmp_path: Path) -> None:
    watched = LiveCrawl()
    with live_page(f"sqlite:///{tmp_path / 'store.db'}", watched) as viewer:
        reply = viewer.get("/")
        assert reply.status == 503
        assert "there is no store" in reply.text
        assert 'http-equiv="refresh"' in reply.text
        crawl(tmp_path, lambda _head: page())
        watched.update(Progress(pages=7, in_flight=3, queued=5))
        found = viewer.json("/now")
        assert (found["state"], found["fetched"]) == ("running", 1)


def test_a_store_of_another_schema_says_what_to_do(tmp_path: Path) -> None:
    crawl(tmp_path, lambda _head: page())
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE meta SET value = '3' WHERE name = 'schema'")
    with live_page(f"sqlite:///{tmp_path / 'store.db'}") as viewer:
        reply = viewer.get("/now.json")
        assert reply.status == 503
        assert "it has schema 3" in reply.data["error"]


def test_a_port_that_is_taken_is_named(viewer: Viewer, crawled: str) -> None:
    port = viewer.address.port or 0
    with (
        pytest.raises(SettingsError, match=f"port {port}"),
        serving.served(crawled, Place(port=port), None, lambda _said: None),
    ):
        pass


def test_every_panel_of_a_running_crawl_says_that_it_runs(tmp_path: Path) -> None:
    with crawl_of_shop(tmp_path) as address:

        def panel(name: str) -> Any:  # noqa: ANN401 - JSON
            with urlopen(f"{address}{name}.json?url=http://shop.example/") as answer:  # noqa: S310 - on loopback
                return json.load(answer)

        def crawl() -> Any:  # noqa: ANN401 - JSON
            return panel("not-fetched")["url"]["crawl"]

        wait_for(lambda: crawl() is not None)
        assert crawl()["state"] == panel("now")["state"] == "running"
