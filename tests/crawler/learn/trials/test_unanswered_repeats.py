"""Pages that were asked twice to decide on a rule, and never answer: nothing stays held by it."""

import sqlite3
from collections import Counter
from pathlib import Path

from support.crawls import crawl, page, target_of
from support.made_pages import aged
from support.servers import Answer, ok

FILES = 300
SWITCH = 330  # answers, after which the pages show another age


def test_a_rule_does_not_hold_pages_because_it_waits_for_answers(tmp_path: Path) -> None:
    """The ages make it doubtful, and each page that is requested a second time fails."""
    asked: Counter[str] = Counter()

    def answer(head: bytes) -> Answer:
        target = target_of(head)
        asked[target] += 1
        if target == "/":
            names = [f"/d/{n}.html" for n in range(FILES)]
            return page(*names, *(f"{name}?sort=name" for name in names))
        name = target.removeprefix("/d/").partition(".")[0]
        if not name.isdigit():
            return ok(b"", status="404 Not Found")
        if asked[target] > 1:
            return ok(b"", status="500 Internal Server Error")
        return ok(aged(int(name), asked.total() > SWITCH), "Content-Type: text/html")

    crawl(tmp_path, answer, timeout=60.0, concurrency=1)  # the answers always come in one order
    store = sqlite3.connect(tmp_path / "store.db")
    [(held,)] = store.execute("SELECT count(*) FROM urls WHERE state = 4").fetchall()
    store.close()
    assert max(number for target, number in asked.items() if target.startswith("/d/")) > 1
    assert held == 0, "220 of the names, if the trial did not end"
