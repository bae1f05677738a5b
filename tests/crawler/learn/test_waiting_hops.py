"""Redirects and canonical links are evidence once a page has answered at their end."""

from pathlib import Path

from support.stores import admit, candidate, open_store, visited

from canonry.crawler.learn.news import Moved
from canonry.crawler.learn.waiting_hops import WaitingHops
from canonry.storage import Hop, Page, State

H = "http://h.example"
PAGE = Page(200, 0.1, "text/html", 1, b"x" * 16, None, None, 0)


def test_a_redirect_follows_a_chain_and_a_canonical_link_does_not(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    middle, end = (one.row for one in admit(store, [f"{H}/b", f"{H}/c"]))
    moved = Moved(f"{H}/a", f"{H}/b", 1.0)
    named = moved._replace(kind="canonical")
    waiting = WaitingHops()
    waiting.add(moved, middle)
    waiting.add(named, middle)
    waiting.add(named, end)

    def answered(row: int) -> list[Moved]:
        with store.transaction() as connection:
            return list(waiting.answered(connection, {row}, 1.0))

    assert answered(middle) == [], "it is in the queue"
    hop = Hop("redirect", 301, candidate(f"{H}/c")._replace(hops=1, source=middle))
    store.record([visited(middle, State.REDIRECTED, hops=[hop])], 2.0)
    assert answered(middle) == [], "it leads further"
    store.record([visited(end, State.FETCHED, page=PAGE)], 3.0)
    assert answered(end) == [named, moved]
    assert answered(end) == [], "each is evidence once"
    store.close()
