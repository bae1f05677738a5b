"""What tables say of their columns: whoever copies, merges, drops or counts reads only that."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Column, Integer, Table, inspect
from support.databases import url_of
from support.stores import MAKE, admit, assert_counts_are_right, open_store, visited

from canonry.canon.policies import preset
from canonry.crawler.policy_upgrade import change_policy
from canonry.storage import Page, State
from canonry.storage.copying import move
from canonry.storage.frontier.crawl_stores import DEFAULT, remove
from canonry.storage.reading import report
from canonry.storage.sql.engine import open_engine
from canonry.storage.sql.schema import metadata
from canonry.storage.sql.tables.guest_tables import requests
from canonry.storage.sql.tables.table_parts import FOLLOWS, GOES, TOGETHER, RowId

pytestmark = pytest.mark.every_database

H = "http://h.example"
PAGE = Page(200, 0.1, "text/html", 10, b"d" * 16, None, None, 0)


@pytest.fixture
def notes() -> Iterator[Table]:
    """Return a table that nothing has heard of but the list of tables."""
    table = Table(
        "notes",
        metadata,
        Column("url_id", RowId, primary_key=True, autoincrement=False, info=FOLLOWS),
        Column("seen", Integer, nullable=False, info=TOGETHER),
        Column("source_id", RowId, info=FOLLOWS),
    )
    yield table
    metadata.remove(table)


def change(folder: Path) -> None:
    """Change the policy of the store in a folder."""
    change_policy(url_of(folder), preset("search"), lambda _text: None, lambda _new, _all: None)


def test_every_column_with_a_url_says_what_becomes_of_it() -> None:
    names = {"url_id", "source_id", "from_id", "to_id"}
    said = {
        f"{table.name}.{column.name}"
        for table in metadata.sorted_tables
        for column in table.columns
        if table.primary_key and (column.foreign_keys or column.name in names)
        if column.info not in (FOLLOWS, GOES) and not table.info.get("one_policy")
        if not any(key.column.table.name != "url_rows" for key in column.foreign_keys)
    }
    assert said == set()


def test_a_new_table_is_merged_moved_and_dropped(
    tmp_path: Path, database: str, notes: Table
) -> None:
    store = open_store(tmp_path)
    names = [f"{H}/x?a=1&b=2", f"{H}/x?b=2&a=1", f"{H}/y"]
    one, other, third = (admission.url_id for admission in admit(store, names))
    store.record([visited(other, State.FETCHED, page=PAGE)], 5.0)
    with store.transaction() as connection:
        rows = [
            {"url_id": one, "seen": 1, "source_id": third},
            {"url_id": other, "seen": 10, "source_id": one},
            {"url_id": third, "seen": 100, "source_id": one},
        ]
        connection.execute(notes.insert(), rows)
    store.close()
    change(tmp_path)
    expected = [(other, 11, other), (third, 100, other)]
    target = f"sqlite:///{tmp_path / 'target.db'}"
    move(url_of(tmp_path), target, lambda _new, _all: None, lambda _text: None)
    for url in (url_of(tmp_path), target):
        with report.reading(url) as connection:
            assert_counts_are_right(connection)
            found = connection.execute(notes.select().order_by(notes.c.url_id))
            assert [tuple(row) for row in found] == expected
    remove(url_of(tmp_path), DEFAULT)
    if database != "sqlite":
        engine = open_engine(url_of(tmp_path), read_only=True)
        with engine.begin() as connection:
            assert inspect(connection).get_table_names() == []
        engine.dispose()


def test_of_requests_that_are_one_now_only_the_first_waits(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    urls = [f"{H}/x?a=1&b=2", f"{H}/x?b=2&a=1", f"{H}/form"]
    keys = [MAKE(urls[0]).key, MAKE(urls[1]).key, None]
    claims = [*keys[:2], b"hash of a POST"]
    plain = dict.fromkeys(("status", "rank", "place", "is_start", "depth", "hops"), 0)
    with store.transaction() as connection:
        for url, key, claim in zip(urls, keys, claims, strict=True):
            row = {"spider": "s", "url": url, "key": key, "claim": claim, "fingerprint": claim}
            connection.execute(requests.insert(), plain | row)
    store.close()
    change(tmp_path)
    new = MAKE.__class__("search")(urls[0]).key
    with report.reading(url_of(tmp_path)) as connection:
        c = requests.c
        found = connection.execute(requests.select().with_only_columns(c.url, c.key, c.claim))
        assert [tuple(row) for row in found] == [
            (urls[0], new, new),
            (urls[2], None, b"hash of a POST"),
        ]
