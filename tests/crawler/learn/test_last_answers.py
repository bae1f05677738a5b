"""What is asked last is learned from, too: a crawl does not end before."""

import random
import sqlite3
from itertools import count
from pathlib import Path

import pytest
from support.crawls import crawl, page, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

SAME = 18  # the pages that come first are the same with the parameter
OTHERS = 6


@pytest.mark.parametrize("seed", range(3))
def test_pages_in_doubt_that_come_last_are_asked_until_it_is_known(
    tmp_path: Path, seed: int
) -> None:
    """Each answer has another token. Of the last pages, one number is another."""
    tokens = count()
    numbers = range(SAME + OTHERS)

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/":
            return page(*(f"/{n}" for n in numbers), *(f"/{n}?view=full" for n in numbers))
        name, _, query = target.removeprefix("/").partition("?")
        if not name.isdigit():
            return ok(b"", status="404 Not Found")
        number = int(name)
        words = " ".join(random.Random(100 * seed + number).choices(WORDS, k=150))
        price = 10 + number + 5 * (bool(query) and number >= SAME)
        token = f"<input type=hidden value={next(tokens)}>"
        body = f"<title>{words[:20]}</title>{token}<p>{words}</p><p>costs {price} euros</p>"
        return ok(body.encode(), "Content-Type: text/html")

    crawl(tmp_path, answer)
    store = sqlite3.connect(tmp_path / "store.db")
    [(against,)] = store.execute(
        "SELECT disagree FROM rules WHERE definition LIKE '%view%'"
    ).fetchall()
    [(held,)] = store.execute("SELECT count(*) FROM urls WHERE state = 4").fetchall()
    store.close()
    assert against >= 1
    assert held == 0
