"""Crawls of sites where a parameter limits how much is shown: it selects where there is much."""

import random
import sqlite3
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from support.crawls import crawl, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

FILES = 400
USUAL = 60  # lines of a log, that are shown
LONG = frozenset(range(24, FILES, 25))  # the files whose logs have more


def _log(number: int) -> list[str]:
    """Return the lines of a file's log."""
    rng = random.Random(number)
    lines = rng.randrange(62, 100) if number in LONG else rng.randrange(1, 10)
    return [" ".join(rng.choices(WORDS, k=9)) for _ in range(lines)]


def test_a_limit_of_what_is_shown_is_found_out_by_the_largest_pages(tmp_path: Path) -> None:
    """One of 25 logs is longer than what is shown; all others are the same with any limit."""
    asked: set[str] = set()

    def answer(head: bytes) -> Answer:
        target = urlsplit(target_of(head))
        if target.path == "/":
            body = "".join(f"<p><a href='/log/{n}'>file {n}</a>" for n in range(FILES))
        elif not target.path.removeprefix("/log/").isdecimal():
            return ok(b"", status="404 Not Found")
        else:
            limit = int(parse_qs(target.query).get("lines", [str(USUAL)])[0])
            path = target.path
            lines = _log(int(path.rpartition("/")[2]))[:limit]
            body = f"<a href='{path}?lines={max(15, limit // 2)}'>fewer</a>"
            body += f"<a href='{path}?lines={min(240, limit * 2)}'>more</a>"
            body += "<p>".join(["", *lines])
        asked.add(target.path + (f"?{target.query}" if target.query else ""))
        return ok(f"<title>{target.path}</title>{body}".encode(), "Content-Type: text/html")

    crawl(tmp_path, answer)
    assert {f"/log/{n}?lines={2 * USUAL}" for n in LONG} <= asked


def test_what_rules_suppress_is_what_they_hold(tmp_path: Path) -> None:
    """Not what they have held until it was asked, to test them."""
    rng = random.Random(1)

    def answer(head: bytes) -> Answer:
        target = urlsplit(target_of(head))
        if target.path == "/robots.txt":
            return ok(b"", status="404 Not Found")
        links = "".join(
            f"<a href='/p{rng.randrange(500)}{end}'>a page</a>" for end in ("", "?ref=a", "?ref=b")
        )
        words = " ".join(random.Random(target.path).choices(WORDS, k=40))
        page = f"<title>{target.path}</title>{words}{links * 4}"
        return ok(page.encode(), "Content-Type: text/html")

    crawl(tmp_path, answer)
    with sqlite3.connect(tmp_path / "store.db") as store:
        query = "SELECT count(*) FROM urls WHERE state = 4 AND reason = 'learned'"
        [(held,)] = store.execute(query)
        [(suppressed,)] = store.execute("SELECT sum(suppressed) FROM rules")
    assert held > 300
    assert 0 <= suppressed - held < 12, "a few were on their way when the rule became active"
