"""Recrawls that learn: real crawls of a site that changes, three times and more."""

import sqlite3
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.crawls import SEED, crawl, page, target_of
from support.servers import Answer, ok
from support.sites import run_command

from canonry.crawler.settings import load
from canonry.storage.reading import report
from canonry.storage.recrawls import revisit_rows

DAY = 86_400.0
HTML = "Content-Type: text/html"
XML = "Content-Type: application/xml"


class ChangingSite:
    """A site whose pages have versions, one of them with a token in each answer."""

    def __init__(self, *paths: str) -> None:
        self.versions = dict.fromkeys(paths, 1)
        self.requests: list[tuple[str, bool]] = []  # each target, and whether it had conditions
        self.answers = 0
        self.dates: Callable[[str], str] | None = (
            None  # by page, for the sitemap; None: it has none
        )

    def answer(self, head: bytes) -> Answer:
        target = target_of(head)
        if target == "/robots.txt":
            return ok(b"Sitemap: /sitemap.xml\n" if self.dates else b"")
        self.requests.append((target, b"If-None-Match" in head))
        if target == "/sitemap.xml":
            return ok(self._sitemap(), XML)
        version = self.versions.get(target)
        if version is None:
            return ok(b"", status="404 Not Found")
        tag = f'"{target}{version}"'.encode()
        if target != "/token" and b"If-None-Match: " + tag in head:
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        self.answers += 1
        links = "".join(f'<a href="{one}">x</a>' for one in self.versions) * (target == "/")
        token = f"<i class=token>{self.answers}</i>" * (target == "/token")
        body = f"<h1>{target}</h1><p>version {version}</p>{token}{links}".encode()
        return ok(body, HTML, f"ETag: {tag.decode()}")

    def _sitemap(self) -> bytes:
        assert self.dates is not None
        urls = "".join(
            f"<url><loc>{SEED}{one[1:]}</loc><lastmod>{self.dates(one)}</lastmod></url>"
            for one in self.versions
        )
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        return f'<urlset xmlns="{space}">{urls}</urlset>'.encode()

    def recrawl(self, folder: Path, **keys: object) -> Counter[str]:
        """Crawl with --recrawl; return what was requested."""
        self.requests.clear()
        crawl(folder, self.answer, recrawl=True, traps={"walls": False}, **keys)
        return Counter(target for target, _conditions in self.requests)


def pass_time(folder: Path, days: float) -> None:
    """Let days go by for a store."""
    with closing(sqlite3.connect(folder / "store.db")) as connection, connection:
        for table, column in (
            ("url_rows", "due"),
            ("pages", "fetched_at"),
            ("revisits", "due"),
            ("revisits", "seen_at"),
            ("robots", "expires_at"),
        ):
            connection.execute(f"UPDATE {table} SET {column} = {column} - {days * DAY}")  # noqa: S608 - ours


def rows_of(folder: Path) -> dict[str, revisit_rows.Revisited]:
    """Return the rows of pages."""
    with report.reading(f"sqlite:///{folder / 'store.db'}") as connection:
        found = connection.exec_driver_sql("SELECT url, id FROM urls")
        ids = dict(map(tuple, found))
        rows = revisit_rows.read(connection, ids.values())
    return {url.removeprefix(SEED[:-1]): rows[one] for url, one in ids.items() if one in rows}


def test_only_what_is_due_is_asked_and_a_token_is_no_change(tmp_path: Path) -> None:
    site = ChangingSite("/", "/still", "/often", "/token")
    assert site.recrawl(tmp_path) == Counter(site.versions)
    assert site.recrawl(tmp_path) == Counter({"/": 1}), "nothing is due, but the seed"
    pass_time(tmp_path, 8)
    site.versions["/often"] += 1
    found = site.recrawl(tmp_path)
    assert found.keys() == site.versions.keys()
    assert [found[one] for one in ("/", "/still")] == [1, 1]
    assert found["/token"] == found["/often"] == 2, "a control shows what changes by itself"
    assert ("/still", True) in site.requests
    rows = rows_of(tmp_path)
    assert {path: (row.visits, row.changes) for path, row in rows.items()} == {
        "/": (2, 0),
        "/still": (1, 0),
        "/often": (1, 1),
        "/token": (1, 0),
    }
    for _ in range(3):
        site.versions["/often"] += 1
        pass_time(tmp_path, 4)
        site.recrawl(tmp_path)
    rows = rows_of(tmp_path)
    waits = {path: row.due - row.seen_at for path, row in rows.items()}
    assert waits["/often"] < waits["/still"] / 2
    assert rows["/token"].changes == 0
    store = f"sqlite:///{tmp_path / 'store.db'}"
    told = run_command("why", f"{SEED}often", "--store", store, folder=tmp_path).stdout.decode()
    assert "changed at 4 of 4 later visits; asked every " in told
    pass_time(tmp_path, waits["/often"] / DAY + 0.01)
    told = run_command("status", "--store", store, folder=tmp_path).stdout.decode()
    assert "due        1 page for --recrawl\n" in told
    assert site.recrawl(tmp_path).keys() == {"/", "/often"}


def test_the_dates_of_an_honest_sitemap_are_believed(tmp_path: Path) -> None:
    site = ChangingSite("/", *(f"/p{n}" for n in range(8)))
    changed_at = dict.fromkeys(site.versions, 1_500_000_000.0)
    site.dates = lambda path: _iso(changed_at[path])
    _live(site, tmp_path, lambda path: changed_at.update({path: time.time()}))
    pass_time(tmp_path, 1.01)
    site.versions["/p7"] += 1
    changed_at["/p7"] = time.time()
    assert site.recrawl(tmp_path) == Counter({"/": 1, "/sitemap.xml": 1, "/p7": 1})
    assert site.requests[0][0] == "/sitemap.xml", "sitemaps go first"
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        assert report.status(connection)["due"] == 0


@pytest.mark.parametrize("lie", [time.time, lambda: 1_500_000_000.0], ids=["always", "never"])
def test_the_dates_of_a_lying_sitemap_are_ignored(tmp_path: Path, lie: Callable[[], float]) -> None:
    site = ChangingSite("/", *(f"/p{n}" for n in range(8)))
    site.dates = lambda _path: _iso(lie())
    _live(site, tmp_path, lambda _path: None)
    pass_time(tmp_path, 1.01)
    site.versions["/p7"] += 1
    assert site.recrawl(tmp_path) == Counter({"/": 1, "/sitemap.xml": 1})


def _live(site: ChangingSite, folder: Path, change: Callable[[str], None]) -> None:
    """Let some pages of a site change between crawls in which all are due."""
    site.recrawl(folder)
    for turn in range(2):
        pass_time(folder, 100)
        for n in range(3):
            site.versions[f"/p{n + turn}"] += 1
            change(f"/p{n + turn}")
        assert site.recrawl(folder, requests_per_host=1).keys() == {"/sitemap.xml", *site.versions}


def _iso(at: float) -> str:
    """Return a time as sitemaps have it."""
    return datetime.fromtimestamp(at, UTC).isoformat()


def test_a_recrawl_that_was_stopped_goes_on(tmp_path: Path) -> None:
    site = ChangingSite("/", "/a", "/b", "/c")
    site.recrawl(tmp_path)
    pass_time(tmp_path, 8)
    some = site.recrawl(tmp_path, max_pages=2)
    assert 0 < some.total() < 4
    rest = site.recrawl(tmp_path)
    assert some + rest == Counter([*site.versions, "/"]), "each recrawl reads the seed"


def test_failures_and_redirects_wait_for_the_first_interval(tmp_path: Path) -> None:
    site = ChangingSite("/", "/a")
    site.recrawl(tmp_path)
    del site.versions["/a"]
    pass_time(tmp_path, 8)
    assert site.recrawl(tmp_path) == Counter({"/": 1, "/a": 1})
    assert site.recrawl(tmp_path) == Counter({"/": 1})
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        assert report.status(connection)["due"] == 0
    pass_time(tmp_path, 8)
    assert site.recrawl(tmp_path)["/a"] == 1


def test_a_store_of_earlier_crawls_is_recrawled_by_the_age_of_its_pages(tmp_path: Path) -> None:
    site = ChangingSite("/", "/a")
    crawl(tmp_path, site.answer)
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        assert report.status(connection)["due"] is None
    assert site.recrawl(tmp_path) == Counter({"/": 1})
    pass_time(tmp_path, 5)
    assert site.recrawl(tmp_path) == Counter({"/": 1})
    assert site.recrawl(tmp_path, recrawl_after="4d") == Counter({"/": 1, "/a": 1})
    assert {row.changes for row in rows_of(tmp_path).values()} == {0.0}, "304 is no change"


@pytest.mark.parametrize(
    ("keys", "days"),
    [
        ({}, (1, 7, 90)),
        ({"recrawl_after": "2d"}, (1, 2, 90)),
        ({"recrawl_after": "0"}, (1, 1, 90)),
        ({"recrawl_after": "12h"}, (0.5, 0.5, 90)),
        ({"recrawl_after": "100d"}, (1, 100, 100)),
    ],
)
def test_no_interval_is_shorter_than_the_least_one(
    keys: dict[str, str], days: tuple[float, float, float]
) -> None:
    assert load(None, {"crawl": keys}).crawl.intervals == tuple(DAY * one for one in days)


def test_a_limit_of_pages_does_not_count_those_that_are_queued_again(tmp_path: Path) -> None:
    requested: list[str] = []

    def answer(head: bytes) -> bytes:
        if (target := target_of(head)) != "/robots.txt":
            requested.append(target)
        return page(*(f"/{n}" for n in range(30)))

    crawl(tmp_path, answer)
    requested.clear()
    found, rows = crawl(tmp_path, answer, recrawl_after="0s", max_pages=8)
    assert found["urls"]["fetched"] == 8
    assert 8 <= len(requested) < 16  # some may have been in flight, or asked to learn
    assert len(rows) == 31, "the others keep their old page"
    assert found["urls"]["queued"] == 31 - 8
