"""What is asked last is learned from, too: a crawl does not end before."""

import random
import sqlite3
from collections.abc import Callable
from itertools import count
from pathlib import Path

import pytest
from support.crawls import crawl, page, target_of
from support.made_pages import WORDS
from support.servers import Answer, ok

SAME = 18  # the pages that come first are the same with the parameter
OTHERS = 6


def shop(seed: int, same: int, others: int) -> Callable[[bytes], Answer]:
    """Answer for pages whose last ones cost more with a parameter; each answer has a new token."""
    tokens = count()
    numbers = range(same + others)

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        if target == "/":
            return page(*(f"/{n}" for n in numbers), *(f"/{n}?view=full" for n in numbers))
        name, _, query = target.removeprefix("/").partition("?")
        if not name.isdigit():
            return ok(b"", status="404 Not Found")
        number = int(name)
        words = " ".join(random.Random(100 * seed + number).choices(WORDS, k=150))
        price = 10 + number + 5 * (bool(query) and number >= same)
        token = f"<input type=hidden value={next(tokens)}>"
        body = f"<title>{words[:20]}</title>{token}<p>{words}</p><p>costs {price} euros</p>"
        return ok(body.encode(), "Content-Type: text/html")

    return answer


@pytest.mark.parametrize("seed", range(3))
def test_pages_in_doubt_that_come_last_are_asked_until_it_is_known(
    tmp_path: Path, seed: int
) -> None:
    """Each answer has another token. Of the last pages, one number is another."""
    crawl(tmp_path, shop(seed, SAME, OTHERS))
    store = sqlite3.connect(tmp_path / "store.db")
    [(against,)] = store.execute(
        "SELECT disagree FROM rules WHERE definition LIKE '%view%'"
    ).fetchall()
    [(held,)] = store.execute("SELECT count(*) FROM urls WHERE state = 4").fetchall()
    store.close()
    assert against >= 1
    assert held == 0


@pytest.mark.parametrize("seed", range(2))
def test_a_rule_that_is_in_doubt_at_the_end_is_decided(tmp_path: Path, seed: int) -> None:
    """It held many pages by one name each: these too pay for the questions."""
    crawl(tmp_path, shop(seed, 300, 40))
    with sqlite3.connect(tmp_path / "store.db") as store:
        states = store.execute("SELECT state FROM rules WHERE definition LIKE '%view%'")
        [(state,)] = states.fetchall()
    assert state != "suspended"
