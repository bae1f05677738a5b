"""Crawls of shops whose lists stay, and whose goods have the prices of others beside them."""

import random
import sqlite3
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from support.crawls import crawl, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

GOODS = 240
LISTS = 12
ORDERS = ("", "?sort=name", "?sort=price", "?sort=new")
NAMES = [" ".join(random.Random(n).choices(WORDS, k=3)) for n in range(GOODS)]
FRAME = " ".join(random.Random("frame").choices(WORDS, k=60))


class Shop:
    """A shop whose goods show how often they were viewed, and goods that are related to them."""

    def __init__(
        self, related: int, share: float = 0.0, *, sizes: str = "L", since: int = 0
    ) -> None:
        """Open it.

        Args:
            related: how many goods a page shows beside its own, others in each answer.
            share: of the goods whose large size costs more; if there are any, each has all sizes.
            sizes: of goods.
            since: the first list with goods whose large size costs more.
        """
        self._related = related
        goods = [n for n in range(GOODS) if n % LISTS >= since]
        self.dearer = {n for n in goods if random.Random(n * 7).random() < share}
        self._sizes = sizes
        self._chance = random.Random(1)
        self._views = 0
        self.asked: set[str] = set()

    def __call__(self, head: bytes) -> Answer:
        """Answer a request."""
        target = urlsplit(target_of(head))
        segments = [one for one in target.path.split("/") if one]
        given = dict(parse_qsl(target.query))
        if not segments:
            body = "".join(f"<p><a href='/goods/list/{n}/'>list</a>" for n in range(LISTS))
        elif segments[:2] == ["goods", "list"]:
            body = self._list(int(segments[2]), given.get("sort", ""))
        elif segments[0] == "goods":
            body = self._page(int(segments[1].rpartition("-")[2]), given.get("size", ""))
        else:
            return ok(b"", status="404 Not Found")
        self.asked.add(target.path + (f"?{target.query}" if target.query else ""))
        page = f"<title>The shop</title><nav>{FRAME}</nav>{body}"
        return ok(page.encode(), "Content-Type: text/html")

    def _list(self, number: int, order: str) -> str:
        """Return a list of goods, which is always the same, and links to it in other orders."""
        goods = list(range(number, GOODS, LISTS))
        random.Random(order).shuffle(goods)
        links = "".join(f"<a href='{one}'>by</a> " for one in ORDERS[1:])
        shown = "".join(self._shown(one, "list") for one in goods)
        return f"<h1>List {number}</h1><p>{links}<ol>{shown}</ol>"

    def _page(self, number: int, size: str) -> str:
        """Return the page of an article."""
        self._views += 1
        related = self._chance.sample([n for n in range(GOODS) if n != number], self._related)
        links = [f"<a href='{name_of(number)}?size={one}'>{one}</a>" for one in self._sizes]
        sizes = f"<p>{' '.join(links)}" if self.dearer else ""
        is_dearer = size == "L" and number in self.dearer
        text = " ".join(random.Random(-1 - number).choices(WORDS, k=100))
        return (
            f"<h1>{NAMES[number]}</h1>{offer(number, dearer=is_dearer)}{sizes}"
            f"<p>{text}</p><h2>Related</h2>"
            + "".join(self._shown(n, "rec") for n in related)
            + f"<footer>viewed {self._views} times</footer>"
        )

    def _shown(self, number: int, ref: str) -> str:
        link = f"<h3><a href='{name_of(number)}?ref={ref}'>{NAMES[number]}</a></h3>"
        return f"<li>{link}{offer(number)}</li>"


def name_of(number: int) -> str:
    """Return the path of an article."""
    return f"/goods/{NAMES[number].replace(' ', '-')}-{number}/"


def offer(number: int, *, dearer: bool = False) -> str:
    """Return its price, in the same markup wherever it is shown."""
    price = random.Random(number).randrange(300, 9000) + 117 * dearer
    return f"<form><span class=price>{price // 100}.{price % 100:02}</span> <b>In stock</b></form>"


def _active(folder: Path) -> list[str]:
    """Return what the active rules of a crawl say, as they are stored."""
    with sqlite3.connect(folder / "store.db") as store:
        return [
            said for (said,) in store.execute("SELECT definition FROM rules WHERE state='active'")
        ]


def test_what_stays_on_lists_says_nothing_of_goods_and_orders_stay_apart(tmp_path: Path) -> None:
    """Only lists are asked twice at first, and each page of goods then seems to be another one."""
    shop = Shop(3)
    crawl(tmp_path, shop)
    assert any('"ref"' in said for said in _active(tmp_path))
    goods = {urlsplit(one).path for one in shop.asked if "/list/" not in one}
    assert {name_of(n) for n in range(GOODS)} <= goods
    lists = {f"/goods/list/{n}/{order}" for n in range(LISTS) for order in ORDERS}
    assert lists <= shop.asked, "each order is another list"
    assert len(shop.asked) - len(lists) < 2.6 * GOODS, "of three names that each has"


@pytest.mark.parametrize(("related", "share"), [(3, 1.0), (6, 0.25)])
def test_a_price_among_those_of_related_goods_is_not_lost(
    tmp_path: Path, related: int, share: float
) -> None:
    """Chance, and the order of the answers, may hide the goods that differ: not twice in a row."""
    assert any(loses_none(tmp_path / str(n), Shop(related, share)) for n in range(2))


def test_a_price_among_others_is_not_lost_where_only_the_last_goods_have_it(
    tmp_path: Path,
) -> None:
    """A rule acts before any of them has answered; further names tell which of two is wrong."""
    assert loses_none(tmp_path, Shop(3, 1.0, sizes="SL", since=LISTS * 3 // 4))


def loses_none(folder: Path, shop: Shop) -> bool:
    """Return True if a crawl finds all goods whose large size costs more."""
    crawl(folder, shop)
    is_active = any("size" in said for said in _active(folder))
    return not is_active and {f"{name_of(n)}?size=L" for n in shop.dearer} <= shop.asked
