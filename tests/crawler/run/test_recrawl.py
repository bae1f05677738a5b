"""Recrawls: old pages are fetched again, with conditional requests."""

import asyncio
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest
from support.crawls import SEED, crawl, page, target_of
from support.servers import Answer, ok
from support.sites import exported, run_command
from support.stores import assert_counts_are_right

from canonry.storage.reading import report


def header(head: bytes, name: bytes) -> bytes | None:
    """Return a header of a request."""
    for line in head.split(b"\r\n"):
        key, colon, value = line.partition(b":")
        if colon and key.lower() == name.lower():
            return value.strip()
    return None


class Site:
    """A site that changes, and supports conditional requests."""

    def __init__(self) -> None:
        self.answers: dict[str, bytes] = {
            "/": page("/tagged", "/dated", "/plain", "/moved", "/down", "/turns"),
            "/tagged": ok(b"one", 'ETag: "1"'),
            "/dated": ok(b"two", "Last-Modified: Mon, 02 Nov 2026 10:00:00 GMT"),
            "/plain": ok(b"three"),
            "/moved": ok(b"", "Location: /plain", status="301 Moved"),
            "/down": ok(b"", status="500 Broken"),
            "/turns": ok(b"a page", 'ETag: "t"'),
        }
        self.requested: Counter[str] = Counter()
        self.conditions: dict[str, list[bytes]] = {}

    def answer(self, head: bytes) -> Answer:
        target = target_of(head)
        self.requested[target] += 1
        tag, since = header(head, b"If-None-Match"), header(head, b"If-Modified-Since")
        given = [value for value in (tag, since) if value is not None]
        if given:
            self.conditions[target] = given
        found = self.answers.get(target, ok(b"", status="404 Not Found"))
        if (tag and b"ETag: " + tag in found) or (since and b"Last-Modified: " + since in found):
            return b"HTTP/1.1 304 Not Modified\r\n\r\n"
        return found


def test_old_pages_are_fetched_again_and_unchanged_ones_are_not_sent(tmp_path: Path) -> None:
    site = Site()
    crawl(tmp_path, site.answer, retries=0)
    before, counted = site.requested.copy(), {p["url"]: p for p in exported_pages(tmp_path)}
    crawl(tmp_path, site.answer, retries=0, recrawl_after="1h")
    assert site.requested - before == Counter({"/": 1}), "nothing is an hour old, but the seed"
    assert site.conditions == {}
    before = site.requested.copy()
    site.answers["/"] = page("/tagged", "/new")
    site.answers["/dated"] = ok(b"2nd", "Last-Modified: Tue, 03 Nov 2026 10:00:00 GMT")
    site.answers["/down"] = ok(b"up again")
    site.answers["/turns"] = ok(b"", "Location: /tagged", status="302 Found")
    status, pages = crawl(tmp_path, site.answer, retries=0, recrawl_after="0")
    again = site.requested - before
    assert again == Counter([*site.answers, "/new"])
    assert site.conditions == {
        "/tagged": [b'"1"'],
        "/dated": [b"Mon, 02 Nov 2026 10:00:00 GMT"],
        "/turns": [b'"t"'],
    }
    found = {p["url"].removeprefix("http://a.example"): p for p in pages}
    assert set(found) == {"/", "/tagged", "/dated", "/plain", "/down", "/new"}
    assert found["/dated"]["size"] == 3
    assert found["/dated"]["modified"] == "Tue, 03 Nov 2026 10:00:00 GMT"
    assert found["/tagged"]["digest"] == counted[f"{SEED}tagged"]["digest"]
    assert found["/tagged"]["fetched_at"] > counted[f"{SEED}tagged"]["fetched_at"]
    assert status["urls"] == {"queued": 0, "fetched": 6, "redirected": 2, "failed": 0, "held": 0}
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        assert_counts_are_right(connection)


def exported_pages(folder: Path) -> list[dict[str, object]]:
    """Return the pages of the store in a folder."""
    with report.reading(f"sqlite:///{folder / 'store.db'}") as connection:
        return list(report.rows(connection, "pages"))


def test_a_recrawl_that_was_stopped_resumes(tmp_path: Path) -> None:
    site = Site()
    crawl(tmp_path, site.answer, retries=0)
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:  # a day goes by
        connection.execute("UPDATE url_rows SET due = due - 86400")
    before = site.requested.copy()
    crawl(tmp_path, site.answer, retries=0, recrawl_after="12h", max_pages=2)
    crawl(tmp_path, site.answer, retries=0, recrawl_after="12h")
    crawl(tmp_path, site.answer, retries=0, recrawl_after="12h")
    assert site.requested - before == Counter([*site.answers, "/", "/"])


def test_a_recrawl_reads_its_seeds_whatever_they_were_due(tmp_path: Path) -> None:
    answers = {
        "/": ok(b"", "Location: /home", status="301 Moved"),
        "/home": page("/a"),
        "/list": page("/b"),
    }
    requested: list[str] = []

    def answer(head: bytes) -> Answer:
        requested.append(target_of(head))
        return answers.get(target_of(head), ok(b"no links"))

    seeds = [SEED, f"{SEED}list"]
    crawl(tmp_path, answer, seeds=seeds)
    answers |= {"/home": page("/a", "/new"), "/list": page("/b", "/newer")}
    for keys in ({"recrawl_after": "52w"}, {"recrawl": True}, {"recrawl": True}):
        requested.clear()
        crawl(tmp_path, answer, seeds=seeds, **keys)
        new = {"/new", "/newer"} if "recrawl_after" in keys else set()
        assert set(requested) == {"/", "/home", "/list", *new}
    requested.clear()
    crawl(tmp_path, answer, seeds=seeds)
    assert not requested, "no recrawl"
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:
        connection.execute("UPDATE jobs SET state = 'interrupted', started_at = started_at - 3600")
    crawl(tmp_path, answer, seeds=seeds, recrawl=True)
    assert not requested, "the one that was interrupted had read them"


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", None),
        ("0", 0.0),
        ("90s", 90.0),
        ("1.5m", 90.0),
        ("2h", 7200.0),
        ("7d", 604_800.0),
        ("1w", 604_800.0),
    ],
)
def test_times(text: str, seconds: float | None) -> None:
    from canonry.crawler.settings import load  # noqa: PLC0415

    assert load(None, {"crawl": {"recrawl_after": text}}).crawl.recrawl_seconds == seconds


def test_equal_bodies_are_reported(tmp_path: Path) -> None:
    answers = {
        "/": page("/a", "/b", "/c", "/none", "/nothing"),
        "/a": ok(b"the same"),
        "/b": ok(b"the same"),
        "/c": ok(b"other"),
        "/none": ok(b""),
        "/nothing": ok(b""),
    }

    def answer(head: bytes) -> Answer:
        return answers.get(target_of(head), ok(b"", status="404 Not Found"))

    status, _ = crawl(tmp_path, answer, requests_per_host=1)
    assert status["repeated_bodies"] == 1
    (tmp_path / "store.db").rename(tmp_path / "canonry.db")
    same = {p["url"]: p["same_body_as"] for p in exported(tmp_path, "pages") if p["same_body_as"]}
    assert same == {"http://a.example/b": "http://a.example/a"}
    (tmp_path / "canonry.db").rename(tmp_path / "store.db")
    answers["/b"] = ok(b"changed")
    status, _ = crawl(tmp_path, answer, recrawl_after="0")
    assert status["repeated_bodies"] == 0


def test_a_recrawl_asks_for_what_a_robots_txt_held_before(tmp_path: Path) -> None:
    answers = {"/": page("/a"), "/robots.txt": ok(b"User-agent: *\nDisallow: /a\n")}

    def answer(head: bytes) -> Answer:
        return answers.get(target_of(head), ok(b"fine"))

    status, _ = crawl(tmp_path, answer)
    assert status["held"] == {"robots": 1}
    answers["/robots.txt"] = ok(b"")
    with closing(sqlite3.connect(tmp_path / "store.db")) as connection, connection:  # a day goes by
        connection.execute("UPDATE robots SET expires_at = 0")
    status, pages = crawl(tmp_path, answer, recrawl_after="0")
    assert (status["held"], len(pages)) == ({}, 2)


async def hang_up(writer: asyncio.StreamWriter) -> None:
    """Close a connection without an answer."""
    writer.close()


def test_a_server_that_is_down_during_a_recrawl_takes_nothing_away(tmp_path: Path) -> None:
    """Pages and redirects stay what they were, and are asked again by the next recrawl."""
    site = Site()
    crawl(tmp_path, site.answer, retries=0)
    before = exported_pages(tmp_path)
    status, pages = crawl(tmp_path, lambda _head: hang_up, retries=0, recrawl_after="0")
    assert pages == before
    # "/down" had failed before, too.
    assert status["urls"] == {"queued": 0, "fetched": 5, "redirected": 1, "failed": 1, "held": 0}
    [(reason, number)] = status["not_again"].items()
    assert reason.partition(":")[0] in {"connect", "protocol"}
    assert number == 5
    with report.reading(f"sqlite:///{tmp_path / 'store.db'}") as connection:
        assert_counts_are_right(connection)
    said = run_command("why", f"{SEED}plain", "--store", "store.db", folder=tmp_path).stdout
    assert b"the page is there, and could not be fetched again: " in b" ".join(said.split())
    asked = site.requested.copy()
    status, _pages = crawl(tmp_path, site.answer, retries=0, recrawl_after="0")
    again = site.requested - asked
    assert set(again) == set(site.answers), "each once more, but for robots.txt"
    assert status["urls"]["fetched"] == 5
