"""Crawls of sites that have cost pages once: nothing is held that is another page."""

import random
import sqlite3
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, urlsplit

import pytest
from support.crawls import SEED, crawl, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

PAGES = 120
TEASERS = [" ".join(random.Random(-n).choices(WORDS, k=12)) for n in range(7)]
_TURN = count()


class Said(NamedTuple):
    """What a URL says: which page it is, and more that is no page's own."""

    page: str
    more: str = ""  # HTML
    canonical: str | None = None


class Site(NamedTuple):
    """A site: the URLs that its home page links, and what each of them says."""

    urls: list[str]
    says: Callable[[str, int, dict[str, str]], Said]  # of a path, its number, and its query


def text(seed: object, words: int = 90) -> str:
    return " ".join(random.Random(str(seed)).choices(WORDS, k=words))


def teaser() -> str:
    return f"<p class=teaser>{random.Random(next(_TURN)).choice(TEASERS)}</p>"


def numbered(*ends: str, pages: int = PAGES) -> list[str]:
    return [f"/d/{n}{end}" for n in range(pages) for end in ends]


def _eighth(_path: str, n: int, given: dict[str, str]) -> Said:
    return Said(f"{n} {given.get('view', '')}" if n % 8 == 5 else f"{n}", teaser())


def _tenth(_path: str, n: int, given: dict[str, str]) -> Said:
    is_other = given.get("size") == "L" and n % 5 < 2
    return Said(f"{n}{' large' * is_other}", teaser() if n % 10 == 3 else "")


def _lines(_path: str, n: int, given: dict[str, str]) -> Said:
    return Said(f"{n}{' short' * ('nofiles' in given)}", "<p>files below</p>")


def _filter(_path: str, n: int, given: dict[str, str]) -> Said:
    is_other = "instock" in given and n % 16 == 7
    return Said(f"{n} {given.get('page', '1')}{' in stock' * is_other}")


def _towns(path: str, n: int, _given: dict[str, str]) -> Said:
    return Said(f"{n} {path.split('/')[1]}" if n % 33 == 30 else f"{n}")


def _latest(_path: str, n: int, _given: dict[str, str]) -> Said:
    return Said(f"{n}", teaser())


def _wall(_path: str, n: int, given: dict[str, str]) -> Said:
    if next(_TURN) % 1000 > 100:
        return Said("wall", f"<p>token {random.random()}</p>")
    return Said(f"{n} {given.get('id', '')}")


def _replies(path: str, n: int, given: dict[str, str]) -> Said:
    heading = "<h2>Reply to somebody</h2>" if "replytocom" in given else "<h2>Comments</h2>"
    return Said(f"{n}", heading + teaser(), canonical=f"{SEED}{path.strip('/')}")


def _comments(path: str, n: int, given: dict[str, str]) -> Said:
    kept = f"?cpage={given['cpage']}" if "cpage" in given else ""
    return Said(f"{n} {given.get('cpage', '')}", canonical=f"{SEED}{path.strip('/')}{kept}")


def _own_url(path: str, n: int, given: dict[str, str]) -> Said:
    return Said(f"{n}", f"<p>You are at {path}?ref={given.get('ref', '')}</p>")


def _in(places: Iterable[str], pages: int = PAGES) -> list[str]:
    return [f"/{place}/{n}" for n in range(pages) for place in places]


SITES = {
    "every eighth page": Site(numbered("", "?view=1", "?view=2"), _eighth),
    "teasers on a tenth": Site(numbered("", "?size=S", "?size=L"), _tenth),
    "lines left out": Site(numbered("", "?nofiles"), _lines),
    "a rare filter": Site(numbered("", "?page=2", "?instock=1", "?instock=1&page=2"), _filter),
    "towns": Site(_in(("berlin", "hamburg", "kassel", "kiel", "ulm")), _towns),
    "latest and stable": Site(_in(("latest", "stable")), _latest),
    "a wall that stays": Site(numbered("", "?id=1", "?id=2"), _wall),
    "replies": Site(numbered("", *(f"?replytocom={n}" for n in range(5))), _replies),
    "pages of comments": Site(numbered("", "?cpage=1", "?cpage=2"), _comments),
    "its own URL": Site(numbered("", "?ref=1", "?ref=2"), _own_url),
}


@pytest.mark.parametrize("name", SITES)
def test_nothing_is_held_that_is_another_page(tmp_path: Path, name: str) -> None:
    site = SITES[name]
    seen: dict[str, set[str]] = {}  # pages that a URL has shown

    def says(target: str) -> Said:
        parts = urlsplit(target)
        given = {key: values[0] for key, values in parse_qs(parts.query, True).items()}  # noqa: FBT003
        return site.says(parts.path, int(parts.path.rpartition("/")[2]), given)

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/":
            links = "".join(f"<a href='{url}'>x</a>" for url in site.urls)
            return ok(links.encode(), "Content-Type: text/html")
        if not urlsplit(target).path.rpartition("/")[2].isdecimal():
            return ok(b"", status="404 Not Found")
        said = says(target)
        seen.setdefault(target, set()).add(said.page)
        head_html = f"<link rel=canonical href='{said.canonical}'>" if said.canonical else ""
        body = f"{head_html}<title>{said.page}</title><p>{text(said.page)}</p>{said.more}"
        return ok(body.encode(), "Content-Type: text/html")

    notices: list[str] = []
    crawl(tmp_path, answer, timeout=60.0, notices=notices)
    assert not [notice for notice in notices if "Learning failed" in notice]
    with sqlite3.connect(tmp_path / "store.db") as store:
        held = store.execute(
            "SELECT u.url, v.url FROM urls u JOIN aliases a ON a.from_id = u.id AND "
            "a.kind = 'rule' JOIN urls v ON v.id = a.to_id WHERE u.state = 4"
        ).fetchall()
    if name == "a wall that stays":  # what is behind it, nobody knows
        assert not held
        return
    wrong = [(url, one) for url, one in held if _page(says, url) != _page(says, one)]
    assert wrong == []
    pages = {_page(says, url) for url in site.urls}
    assert pages <= {page for shown in seen.values() for page in shown}


def _page(says: Callable[[str], Said], url: str) -> str:
    return says(url.removeprefix(SEED.rstrip("/"))).page
