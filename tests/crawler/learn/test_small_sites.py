"""Crawls of small sites with a fresh session id in each link: they end by themselves."""

import random
import sqlite3
from itertools import count
from pathlib import Path

import pytest
from support.crawls import crawl, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

LINKS = 10  # of a page
MOST = 3_000  # pages, after which the crawl would be stopped


class Site:
    """A site whose pages show another token and another teaser in each answer."""

    def __init__(self, pages: int, mark: str) -> None:
        """Open it.

        Args:
            pages: how many.
            mark: what stands between the path and the session id in a link.
        """
        self._pages, self._mark = pages, mark
        self._answers = count()
        self.asked: list[str] = []

    def __call__(self, head: bytes) -> Answer:
        """Answer a request."""
        target = target_of(head)
        self.asked.append(target)
        name = target.partition(self._mark)[0].strip("/") or "0"
        if not name.isdecimal() or int(name) >= self._pages:
            return ok(b"", status="404 Not Found")
        number, fresh = int(name), random.Random(next(self._answers))
        text = " ".join(random.Random(number).choices(WORDS, k=80))
        token, teaser = f"{fresh.getrandbits(40):x}", " ".join(fresh.choices(WORDS, k=9))
        others = [(number + step) % self._pages for step in range(LINKS)]
        links = "".join(f"<a href='/{n}{self._mark}{token}'>page</a>" for n in others)
        body = f"<title>{text[:20]}</title><p>{text}</p><p class=token>token {token}</p>"
        body += f"<p class=teaser>{teaser}</p>{links}"
        return ok(body.encode(), "Content-Type: text/html")


@pytest.mark.parametrize("mark", ["?sid=", ";jsessionid="])
@pytest.mark.parametrize(("pages", "most"), [(3, 40), (11, 10), (40, 5), (120, 3)])
def test_a_small_site_ends_by_itself(tmp_path: Path, mark: str, pages: int, most: int) -> None:
    site = Site(pages, mark)
    crawl(tmp_path, site, timeout=30.0, max_pages=MOST)
    assert len(site.asked) <= most * pages, "requests for each page"
    names = {target.partition(mark)[0].strip("/") or "0" for target in site.asked}
    assert {str(n) for n in range(pages)} <= names
    with sqlite3.connect(tmp_path / "store.db") as store:
        [(wrong,)] = store.execute("SELECT count(*) FROM rules WHERE state = 'revoked'").fetchall()
    assert wrong == 0
