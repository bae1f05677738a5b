"""The stores of a frontier's crawls: apart, found again by their names, and removed whole."""

from pathlib import Path

import pytest
from support.databases import url_of

from canonry.crawler.named_policies import find_policy
from canonry.crawler.opening import open_store
from canonry.storage import Candidate, StoreError
from canonry.storage.frontier.crawl_stores import DEFAULT, crawls_in, remove, store_of
from canonry.storage.reading import report

pytestmark = pytest.mark.every_database
_NAMES = ("news/2026", "Überall", "a.b", "..", "%2F", 'x"; DROP')


def _fill(store: str, crawl: str, number: int) -> None:
    opened = open_store(store_of(store, crawl), find_policy("web"), print)
    candidates = [
        Candidate(f"http://a.example/{n}", "", bytes([n] * 16), "a.example", 0)
        for n in range(number)
    ]
    opened.admit(candidates, 0.0)
    opened.close()


def _size(store: str, crawl: str) -> int:
    with report.reading(store_of(store, crawl)) as connection:
        return int(report.status(connection)["urls"]["queued"])


def test_every_name_has_a_store_of_its_own(tmp_path: Path) -> None:
    store = url_of(tmp_path)
    for number, name in enumerate((DEFAULT, *_NAMES), 1):
        _fill(store, name, number)
    assert crawls_in(store) == sorted(_NAMES)
    sizes = [_size(store, name) for name in (DEFAULT, *_NAMES)]
    assert sizes == list(range(1, len(_NAMES) + 2))


def test_a_store_is_removed_whole_and_the_others_stay(tmp_path: Path) -> None:
    store = url_of(tmp_path)
    for name in (DEFAULT, "x", "y"):
        _fill(store, name, 3)
    remove(store, "x")
    assert crawls_in(store) == ["y"]
    _fill(store, "x", 1)
    assert [_size(store, name) for name in ("x", "y", DEFAULT)] == [1, 3, 3]
    remove(store, DEFAULT)
    with pytest.raises(StoreError):
        _size(store, DEFAULT)
    assert crawls_in(store) == ["x", "y"]
    _fill(store, DEFAULT, 2)
    assert _size(store, DEFAULT) == 2


def test_names_have_a_limit(tmp_path: Path) -> None:
    store = url_of(tmp_path)
    store_of(store, "x" * 50)
    with pytest.raises(StoreError, match="longer than 50"):
        store_of(store, "x" * 51)
    with pytest.raises(StoreError, match="longer than 50"):
        store_of(store, "ü" * 20)


def test_a_store_with_options_has_one_crawl(tmp_path: Path, database: str) -> None:
    if database != "sqlite":
        return
    store = f"sqlite:///file:{tmp_path / 'x.db'}?uri=true"
    assert crawls_in(store) == []
    with pytest.raises(StoreError, match="one crawl only"):
        store_of(store, "x")
