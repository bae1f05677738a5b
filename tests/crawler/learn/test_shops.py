"""Crawls of a shop: links with any of several parameters, and one that selects a price."""

import random
import sqlite3
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from support.crawls import crawl, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

GOODS = 30
IDLE = ("camp", "from", "list", "pos", "ref", "view")  # they select nothing
LINKS = 24  # of a page


class Shop:
    """A shop, each of whose answers has another token that nobody sees."""

    def __init__(self, share: float) -> None:
        """Open it.

        Args:
            share: of the goods whose large size costs more.
        """
        self._tokens = random.Random(1)
        self.dearer = {n for n in range(GOODS) if random.Random(n * 7).random() < share}
        self.asked: list[str] = []

    def __call__(self, head: bytes) -> Answer:
        """Answer a request."""
        target = urlsplit(target_of(head))
        if target.path not in {"/", "/item"}:
            return ok(b"", status="404 Not Found")
        self.asked.append(target.query)
        given = dict(parse_qsl(target.query))
        number = int(given.get("id", 0))
        is_other = given.get("size") == "L" and number in self.dearer
        words = " ".join(random.Random(number).choices(WORDS, k=120))
        token = f"<input type=hidden value={self._tokens.random()}>"
        body = f"<title>Item</title>{token}<p>{words}</p><p>{self.offer(number, is_other)}</p>"
        return ok(f"{body}{self._links(target.query)}".encode(), "Content-Type: text/html")

    def offer(self, number: int, is_other: bool) -> str:
        """Return what is said of an article, or of its large size if that is another."""
        return f"costs {10 + number + 5 * is_other} euros"

    def _links(self, seed: str) -> str:
        rng = random.Random(seed)
        each = [f"id={rng.randrange(GOODS)}" for _ in range(LINKS)]
        more = ["".join(f"&{name}=x" for name in IDLE if rng.random() < 0.4) for _ in each]
        sizes = "".join(f"<a href='/item?{one}&size=L'>L</a>" for one in each[:6] if self.dearer)
        names = zip(each, more, strict=True)
        return sizes + "".join(f"<a href='/item?{one}{other}'>item</a>" for one, other in names)


class ShopWithTeasers(Shop):
    """A shop, each of whose answers shows one of nine teasers; a large size may be sold out."""

    def offer(self, number: int, is_other: bool) -> str:
        """Return what is said of an article, with a teaser behind it."""
        teaser = " ".join(random.Random(self._tokens.randrange(9)).choices(WORDS, k=12))
        stock = "sold out" if is_other else "in stock"
        return f"costs {10 + number} euros, {stock}</p><p class=teaser>Also read: {teaser}"


def _active(folder: Path) -> list[str]:
    """Return what the active rules of a crawl say, as they are stored."""
    with sqlite3.connect(folder / "store.db") as store:
        return [
            said for (said,) in store.execute("SELECT definition FROM rules WHERE state='active'")
        ]


def test_links_with_any_of_six_parameters_are_few_requests(tmp_path: Path) -> None:
    shop = Shop(0.0)
    crawl(tmp_path, shop)
    assert sum("parameter-anywhere" in said for said in _active(tmp_path)) >= 4
    assert {dict(parse_qsl(query)).get("id", "0") for query in shop.asked} == set(
        map(str, range(GOODS))
    ), "no page is lost"
    assert len(shop.asked) < 6 * GOODS, "of 64 names that each has"


def test_a_price_that_a_parameter_raises_now_and_then_is_not_lost(tmp_path: Path) -> None:
    """The price is all that differs, and may be a clock, as far as one comparison can tell."""
    _crawl_without_loss(tmp_path, Shop(0.3))


def test_two_words_that_a_parameter_changes_beside_a_teaser_are_not_lost(tmp_path: Path) -> None:
    """No shingle of a sketch need tell, and the hash of all words differs anyway."""
    _crawl_without_loss(tmp_path, ShopWithTeasers(0.4))


def _crawl_without_loss(tmp_path: Path, shop: Shop) -> None:
    """Crawl a shop; no large size that is another article may be held."""
    crawl(tmp_path, shop)
    assert not [said for said in _active(tmp_path) if "size" in said]
    assert {f"id={n}&size=L" for n in shop.dearer} <= set(shop.asked)
