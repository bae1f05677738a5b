"""Addresses belong to one worker at a time, as long as it lives."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from support.stores import admit, lease_names, open_store

from canonry.storage import Store
from canonry.storage.rows import address_rows

pytestmark = pytest.mark.every_database


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = open_store(tmp_path)
    admit(opened, [f"http://{name}.example/" for name in "abc"])
    yield opened
    opened.close()


def _lease(store: Store, worker: str) -> None:
    with store.transaction() as connection:
        assert len(lease_names(connection, worker, 1)) == 1


def _claim(store: Store, worker: str, *wanted: str, now: float = 0.0) -> dict[str, str]:
    with store.leasing() as connection:
        return address_rows.claim(connection, worker, wanted, now)


def test_the_first_worker_gets_an_address(store: Store) -> None:
    _lease(store, "one")
    assert _claim(store, "one", "1.1.1.1", "2.2.2.2") == {"1.1.1.1": "one", "2.2.2.2": "one"}
    assert _claim(store, "two", "2.2.2.2", "3.3.3.3") == {"2.2.2.2": "one", "3.3.3.3": "two"}
    assert _claim(store, "two") == {}


def test_the_addresses_of_a_dead_worker_are_free(store: Store) -> None:
    _lease(store, "one")
    _claim(store, "one", "1.1.1.1", "2.2.2.2")
    assert _claim(store, "two", "1.1.1.1", now=59.0)["1.1.1.1"] == "one"
    assert _claim(store, "two", "1.1.1.1", now=10_000.0)["1.1.1.1"] == "two"
    assert _claim(store, "one", "1.1.1.1", now=10_000.0)["1.1.1.1"] in {"one", "two"}


def test_addresses_are_given_and_released(store: Store) -> None:
    _lease(store, "one")
    _lease(store, "two")
    _claim(store, "one", "1.1.1.1", "2.2.2.2")
    with store.leasing() as connection:
        address_rows.give(connection, ["1.1.1.1"], "one", "two")
        address_rows.give(connection, ["2.2.2.2"], "two", "three")
        address_rows.give(connection, [], "one", "two")
    assert _claim(store, "one", "1.1.1.1", "2.2.2.2") == {"1.1.1.1": "two", "2.2.2.2": "one"}
    with store.leasing() as connection:
        address_rows.release(connection, ["one", "three"])
    assert _claim(store, "two", "1.1.1.1", "2.2.2.2") == {"1.1.1.1": "two", "2.2.2.2": "two"}
