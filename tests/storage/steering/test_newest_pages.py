"""Which of the newest pages repeat an earlier one, on both databases."""

from pathlib import Path

import pytest
from support.stores import admit, open_store, visited

from canonry.storage import State
from canonry.storage.records import Page
from canonry.storage.steering.steered_patterns import newest_pages

pytestmark = pytest.mark.every_database
_PAGE = Page(200, 0.1, "text/html", 3, b"a" * 16, None, None, 0)


def test_a_page_repeats_only_what_was_fetched_before(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    digests = {"a": b"1", "b": b"2", "c": b"1", "d": b"3", "e": b"2"}
    urls = [f"http://{name}.example/" for name in digests]
    for at, admitted in enumerate(admit(store, urls)):
        page = _PAGE._replace(digest=digests["abcde"[at]] * 16)
        store.record([visited(admitted.url_id, State.FETCHED, page=page)], at // 2)
    with store.transaction() as connection:
        found = dict(newest_pages(connection, 10))
        assert {url[7] for url, repeats in found.items() if repeats} == {"c", "e"}
        assert len(found) == len(urls)
        assert {url[7] for url in dict(newest_pages(connection, 2))} == {"d", "e"}
    store.close()
