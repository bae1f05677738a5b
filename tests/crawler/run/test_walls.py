"""Walls are found by what a site answers, held, and asked again; pages are not."""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import create_engine
from support.crawls import SEED, crawl, target_of
from support.servers import Answer, ok
from support.stores import assert_counts_are_right

from canonry.crawler.cli.commands import main

PAGES = 60
NOT_FOUND = ok(b"<h1>Not found</h1>", "Content-Type: text/html", status="404 Not Found")
Say = Callable[[str, int], str | None]  # from a path and the number of the request to a wall


def html(text: str) -> Answer:
    """Return a page in the frame of the site."""
    body = f"<html><body><div class=nav>Home News About</div>{text}<footer>Our site</footer>"
    return ok(body.encode(), "Content-Type: text/html")


def real(path: str) -> str | None:
    """Return the text of a page that exists."""
    if path == "/":
        names = [f"/news/{n}" for n in range(PAGES)] + [f"/members/{n}" for n in range(PAGES // 2)]
        return "".join(f'<a href="{name}">{name}</a>' for name in names)
    folder, _slash, number = path[1:].partition("/")
    if folder in {"news", "members"} and number.isdigit():
        text = f"{folder} number {number}: " + " ".join(f"{path}-{n}" for n in range(30))
        return f"<h1>All about {path}</h1><p>{text}.</p><p>Written by author {number}.</p>"
    return None


class Site:
    """A site with walls, which notes what is asked."""

    def __init__(self, wall: Say) -> None:
        self._wall = wall
        self.asked: list[str] = []

    def __call__(self, head: bytes) -> Answer:
        path = target_of(head)
        if path == "/robots.txt":
            return NOT_FOUND
        self.asked.append(path)
        wall = self._wall(path, len(self.asked))
        text = real(path) if wall is None else wall
        return NOT_FOUND if text is None else html(text)


def human(number: int) -> str:
    """Return a wall with a token and a clock."""
    token = f"{number * 7_919_993 % 1_000_003:06}"
    return (
        "<h2>Are you human?</h2><p>Please solve this to go on.</p>"
        f"<form class=captcha><b>{token}</b></form><i>12:{number % 60:02}:{number * 13 % 60:02}</i>"
    )


def _data_of(path: str) -> int:
    """Return the size of the data that a script shows."""
    number = path.rpartition("/")[2]
    return 300 * int(number) + 150 * path.startswith("/news") if number.isdigit() else 50_000


def by_folder(rows: list[dict[str, Any]]) -> Counter[str]:
    """Count the pages of each folder."""
    return Counter(row["url"].split("/")[3] for row in rows if row["status"] == 200)


@pytest.mark.parametrize("number", [3, 30])
@pytest.mark.parametrize("beginning", [2, 20])
def test_a_wall_for_a_time_is_waited_for(tmp_path: Path, number: int, beginning: int) -> None:
    site = Site(lambda _path, n: human(n) if beginning <= n < beginning + number else None)
    found, rows = crawl(tmp_path, site, retry_wait=0.05)
    assert found["held"] == {}
    assert by_folder(rows) == {"": 1, "news": PAGES, "members": PAGES // 2}
    assert all(row["size"] > 300 for row in rows if row["url"] != SEED)  # none is the wall


def test_a_wall_that_stays_pauses_the_host_and_ends(tmp_path: Path) -> None:
    notices: list[str] = []
    site = Site(lambda _path, n: human(n) if n > 20 else None)
    found, rows = crawl(tmp_path, site, retry_wait=0.02, notices=notices, delay=0.03)
    assert 10 < len(rows) <= 20
    assert len(site.asked) < 60  # it is not crawled to its end
    assert found["held"]["wall"] > 0
    assert found["held"]["host-blocked"] > 30
    assert any("blocked until the next run" in notice for notice in notices)
    explained = CliRunner().invoke(main, ["why", f"{SEED}news/59", *_store(tmp_path)])
    assert "host" in explained.stdout

    again = Site(lambda _path, _n: None)
    found, rows = crawl(tmp_path, again)  # the next run asks the host again
    assert found["held"].keys() <= {"wall"}
    walled = found["held"].get("wall", 0)
    assert len(rows) == 1 + PAGES + PAGES // 2 - walled


def test_a_long_wall_is_found_and_the_next_run_loses_nothing(tmp_path: Path) -> None:
    """Longer than the pauses: 300 requests are not sent to a wall to see its end."""
    site = Site(lambda _path, n: human(n) if 20 <= n < 320 else None)
    _found, rows = crawl(tmp_path, site, retry_wait=0.02, delay=0.03)
    assert len(site.asked) < 60
    assert all(row["size"] > 300 for row in rows)  # none is the wall
    found, rows = crawl(tmp_path, Site(lambda _path, _n: None))
    missing = found["held"].get("wall", 0)
    assert missing <= 3  # they are asked again an hour later
    assert len(rows) + missing == 1 + PAGES + PAGES // 2


def test_a_site_that_has_always_shown_one_thing_is_crawled(tmp_path: Path) -> None:
    """It may have nothing else: servers that people try things with answer everything alike."""
    links = real("/")
    site = Site(lambda path, _n: f"<p>You asked for {path}</p>{links}")
    found, rows = crawl(tmp_path, site, retry_wait=0.02)
    assert found["held"] == {}
    assert len(rows) == 1 + PAGES + PAGES // 2
    assert not [path for path in site.asked if path != "/" and real(path) is None]


def test_only_pages_of_an_earlier_run_are_asked_again_for_what_is_known(tmp_path: Path) -> None:
    """A store that has pages of another host says nothing about a host that is new."""
    crawl(tmp_path, Site(lambda _path, _n: "<p>Nothing else</p>"), seeds=["http://other.example/"])
    site = Site(lambda path, _n: f"<p>You asked for {path}</p>{real('/')}")
    crawl(tmp_path, site)
    assert Counter(site.asked).most_common(1) == [("/", 1)]


@pytest.mark.parametrize("number", [60, 20])
def test_a_wall_with_the_elements_of_each_page_is_found(tmp_path: Path, number: int) -> None:
    """Good pages of a title and a paragraph, and then one such page for every URL."""

    def walls(path: str, n: int) -> str | None:
        if n > number:
            return "<title>Denied</title><p>Your requests were blocked.</p><a href='/'>Home</a>"
        text = f"<title>About {path}</title><p>All there is to say of {path}.</p>"
        return text + (real("/") if path == "/" else "<a href='/'>/</a>") if real(path) else None

    site = Site(walls)
    found, rows = crawl(tmp_path, site, retry_wait=0.02, delay=0.005)
    assert found["held"]["host-blocked"] > 0
    assert len(rows) <= number
    assert len(site.asked) < number + 45  # it is not crawled to its end


@pytest.mark.parametrize("status", [200, 404])
def test_a_section_behind_a_form_is_held(tmp_path: Path, status: int) -> None:
    """Whether names that do not exist get the form as well, or 404."""
    form = "<h2>Members only</h2><p>Log in, please.</p><form>Name Password</form>"

    def walls(path: str, _n: int) -> str | None:
        exists = real(path) is not None
        return form if path.startswith("/members/") and (exists or status == 200) else None

    found, rows = crawl(tmp_path, Site(walls))
    assert found["held"] == {"wall": PAGES // 2 - 1}
    assert by_folder(rows) == {"": 1, "news": PAGES, "members": 1}  # the form, once
    why = CliRunner().invoke(main, ["why", f"{SEED}members/9", *_store(tmp_path)])
    assert "its answer was a wall" in why.stdout
    assert "canonry refused release wall" in " ".join(why.stdout.split())


def test_a_soft_404_that_repeats_the_name_is_held(tmp_path: Path) -> None:
    def walls(path: str, _n: int) -> str | None:
        missing = real(path) is None or (path.startswith("/members/") and path[-1] in "012")
        return f"<h1>Oh no</h1><p>There is no {path} here.</p>" if missing else None

    found, rows = crawl(tmp_path, Site(walls))
    assert found["held"] == {"wall": 8}
    assert by_folder(rows) == {"": 1, "news": PAGES, "members": PAGES // 2 - 8}


def test_walled_urls_are_asked_again_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = "<h2>Members only</h2><p>Log in, please.</p><form>Name Password</form>"
    crawl(tmp_path, Site(lambda path, _n: form if path.startswith("/members/") else None))
    soon = Site(lambda _path, _n: None)
    crawl(tmp_path, soon)
    assert soon.asked == []
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() + 4_000)
    later = Site(lambda _path, _n: None)
    found, rows = crawl(tmp_path, later)
    assert found["held"] == {}
    asked = {path for path in later.asked if real(path) is not None}
    assert asked - {"/"} == {
        f"/members/{n}" for n in range(PAGES // 2)
    }  # also the one that was kept
    assert len(rows) == 1 + PAGES + PAGES // 2
    assert all(row["size"] > 300 for row in rows if row["url"] != SEED)  # none is the wall


FORM = "<h2>Members only</h2><p>Log in, please.</p><form>Name Password</form>"


def members_only(path: str, _n: int) -> str | None:
    """Return a form in place of some pages."""
    return FORM if path.startswith("/members/") else None


def kept_page(rows: list[dict[str, Any]]) -> str:
    """Return the URL of the one page that shows the form."""
    [url] = {row["url"] for row in rows if "/members/" in row["url"] and row["size"] < 300}
    return str(url)


def test_a_page_that_shows_a_wall_says_so(tmp_path: Path) -> None:
    _found, rows = crawl(tmp_path, Site(members_only))
    kept = kept_page(rows)
    why = CliRunner().invoke(main, ["why", kept, *_store(tmp_path)])
    assert "fetched (wall)" in why.stdout
    assert "its answer was a wall" in why.stdout
    assert "canonry refused release wall" in " ".join(why.stdout.split())


@pytest.mark.parametrize("host", [[], ["--host", "a.example"]])
def test_a_release_asks_for_the_page_that_shows_a_wall(tmp_path: Path, host: list[str]) -> None:
    _found, rows = crawl(tmp_path, Site(members_only))
    kept = kept_page(rows)
    words = ["refused", "release", "wall", *host, *_store(tmp_path)]
    assert CliRunner().invoke(main, words).exit_code == 0
    found, rows = crawl(tmp_path, Site(lambda _path, _n: None))
    assert found["held"] == {}
    assert all(row["size"] > 300 for row in rows if row["url"] != SEED)
    why = CliRunner().invoke(main, ["why", kept, *_store(tmp_path)])
    assert "wall" not in why.stdout
    engine = create_engine(f"sqlite:///{tmp_path / 'store.db'}")
    with engine.connect() as connection:
        assert_counts_are_right(connection)
    engine.dispose()


def test_a_wall_that_alone_is_asked_again_and_stands_is_held_again(tmp_path: Path) -> None:
    """The run sees no other page of the site, but the store knows some."""
    crawl(tmp_path, Site(members_only))
    CliRunner().invoke(main, ["refused", "release", "wall", *_store(tmp_path)])
    site = Site(members_only)
    found, rows = crawl(tmp_path, site)
    assert found["held"] == {"wall": PAGES // 2 - 1}
    assert by_folder(rows) == {"": 1, "news": PAGES, "members": 1}
    assert len([path for path in site.asked if not path.startswith("/members/")]) <= 3  # questions


def test_a_recrawl_of_a_wall_that_stands_holds_and_marks_it_again(tmp_path: Path) -> None:
    crawl(tmp_path, Site(members_only))
    CliRunner().invoke(main, ["refused", "release", "wall", *_store(tmp_path)])
    found, rows = crawl(tmp_path, Site(members_only), recrawl_after="0s")
    assert found["held"] == {"wall": PAGES // 2 - 1}
    why = CliRunner().invoke(main, ["why", kept_page(rows), *_store(tmp_path)])
    assert "fetched (wall)" in why.stdout


def test_a_recrawl_that_meets_a_wall_loses_no_page(tmp_path: Path) -> None:
    crawl(tmp_path, Site(lambda _path, _n: None))
    site = Site(lambda _path, n: human(n) if 5 <= n < 25 else None)
    found, rows = crawl(tmp_path, site, retry_wait=0.05, recrawl_after="0s")
    assert found["held"] == {}
    assert all(row["size"] > 300 for row in rows if row["url"] != SEED)
    assert len(rows) == 1 + PAGES + PAGES // 2


@pytest.mark.parametrize(
    "text",
    [
        # One template; what exists has little of its own, and what does not gets the template, too.
        lambda path: (
            f"<h1>Item {path}</h1><p>Price: {len(path) * 7 % 13}</p>" if real(path) else None
        ),
        lambda path: f"<h1>Item {path}</h1><p>{'Sold' if real(path) else 'Nothing'}</p>",
        lambda path: f"<p>{path} is here</p>" if real(path) else f"<p>{path} is missing</p>",
        # The visible text is one; what a script shows is not.
        lambda path: f"<h1>Loading</h1><script>{'x' * _data_of(path)}</script>",
    ],
)
def test_pages_of_a_template_are_no_wall(tmp_path: Path, text: Callable[[str], str | None]) -> None:
    def pages(path: str, _n: int) -> str | None:
        return None if path == "/" else text(path) or None

    def walls(path: str, n: int) -> str | None:
        found = pages(path, n)
        return found if found is not None or path == "/" else None

    found, rows = crawl(tmp_path, Site(walls))
    assert found["held"] == {}
    assert sum(row["status"] == 200 for row in rows) == 1 + PAGES + PAGES // 2


def test_a_teaser_that_rotates_is_no_wall(tmp_path: Path) -> None:
    turn = itertools.count()

    def walls(path: str, _n: int) -> str | None:
        if path == "/" or real(path) is None:
            return None
        return f"{real(path)}<aside>Offer {next(turn) // 3 % 5}</aside>"

    site = Site(walls)
    found, rows = crawl(tmp_path, site)
    assert found["held"] == {}
    assert len(site.asked) < 1.2 * len(rows) + 12


def test_walls_can_be_left_alone(tmp_path: Path) -> None:
    form = "<h2>Members only</h2><p>Log in, please.</p>"
    site = Site(lambda path, _n: form if path.startswith("/members/") else None)
    found, _rows = crawl(tmp_path, site, traps={"walls": False})
    assert found["held"] == {}
    assert not [path for path in site.asked if path != "/" and real(path) is None]


def _store(folder: Path) -> list[str]:
    return ["--store", str(folder / "store.db")]
