"""What sites say about the use of pages is stored, exported, counted, and obeyed on request."""

import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner
from support.crawls import crawl, target_of
from support.servers import Answer, ok

from canonry.crawler.cli.commands import main

ROBOTS = b"User-agent: *\nContent-Signal: /trained ai-train=no\nContent-Usage: search=y\n"


def site(asked: list[str], *, silent: bool = False) -> Any:  # noqa: ANN401 - of the support's type
    """Return a site of four pages, of which each says something else."""

    def say(head: bytes) -> Answer:
        target = target_of(head)
        asked.append(target)
        if target == "/robots.txt":
            return ok(ROBOTS, "Content-Type: text/plain")
        links = b'<a href="/trained">t</a><a href="/meta">m</a><a href="/tdm">d</a>'
        if silent:
            return ok(target.encode() + links, "Content-Type: text/html")
        if target == "/meta":
            return ok(b"<meta name=robots content=noindex>m" + links, "Content-Type: text/html")
        headers = ["TDM-Reservation: 1", "X-Robots-Tag: noarchive"] if target == "/tdm" else []
        return ok(target.encode() + links, "Content-Type: text/html", *headers)

    return say


def test_statements_are_stored_counted_and_exported(tmp_path: Path) -> None:
    asked: list[str] = []
    found, rows = crawl(tmp_path, site(asked))
    by_path = {row["url"].partition("a.example")[2]: row for row in rows}
    assert {path: row["use_reserved"] for path, row in by_path.items()} == {
        "/": None,
        "/trained": "ai-train",
        "/meta": "search",
        "/tdm": "archive ai-train tdm",
    }
    assert set(by_path["/tdm"]["use_statements"].split("\n")) == {
        "robots.txt content-usage: search=y",
        "header tdm-reservation: 1",
        "header x-robots-tag: noarchive",
    }
    assert found["use_reserved"] == {"ai-train": 2, "archive": 1, "search": 1, "tdm": 1}

    store = ["--store", str(tmp_path / "store.db")]
    exported = CliRunner().invoke(main, ["export", "pages", *store, "--allows", "ai-train"])
    assert exported.exit_code == 0
    paths = {
        json.loads(line)["url"].partition("a.example")[2]
        for line in exported.stdout.split("\n")[:-1]
    }
    assert paths == {"/", "/meta"}
    assert "left out, as their sites reserve the use: 2 pages by ai-train" in exported.stderr
    clusters = CliRunner().invoke(main, ["export", "clusters", *store])
    uses = {
        row["url"]: row["use_reserved"] for row in map(json.loads, clusters.stdout.splitlines())
    }
    assert uses["http://a.example/meta"] == "search"
    wrong = CliRunner().invoke(main, ["export", "urls", *store, "--allows", "tdm"])
    assert wrong.exit_code == 2
    shown = CliRunner().invoke(main, ["status", *store]).stdout
    assert "ai-train of 2, " in shown


def test_counts_follow_when_a_site_changes_its_mind(tmp_path: Path) -> None:
    asked: list[str] = []
    crawl(tmp_path, site(asked))
    found, _rows = crawl(tmp_path, site(asked, silent=True), recrawl_after="0s")
    assert found["use_reserved"] == {"ai-train": 1}  # by robots.txt, which is asked once a day


def test_a_purpose_that_robots_reserve_is_obeyed_and_released(tmp_path: Path) -> None:
    asked: list[str] = []
    found, _rows = crawl(tmp_path, site(asked), purpose=["ai-train"])
    assert "/trained" not in asked
    assert found["held"] == {"use-reserved": 1}
    assert "/tdm" in asked  # its header is known only then
    found, _rows = crawl(tmp_path, site(asked), purpose=["search"])
    assert "/trained" in asked
    assert found["held"] == {}
