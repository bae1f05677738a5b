"""Hosts that wait, and what an idle crawl waits for, on both databases."""

from pathlib import Path

import pytest
from support.stores import admit, open_store, visited

from canonry.storage import State
from canonry.storage.rows import leases
from canonry.storage.rows.waiting import waiting_hosts, waits_for

pytestmark = pytest.mark.every_database
NOW = 1_000_000.0


def test_what_a_crawl_waits_for_is_what_comes_first(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    url_ids = [one.url_id for one in admit(store, [f"http://{name}.example/" for name in "abc"])]
    with store.transaction() as connection:
        assert waits_for(connection, NOW) is None, "all may be asked"
    outcomes = [
        visited(url_id, State.QUEUED, reason, retry_at=NOW + wait)
        for url_id, reason, wait in zip(url_ids, ("x", "y", "z"), (500.0, 30.0, 40.0), strict=True)
    ]
    store.record(outcomes, NOW)
    with store.transaction() as connection:
        leases.pace(connection, {"a.example": 0.0, "b.example": NOW + 600, "c.example": NOW}, {})
        first = waits_for(connection, NOW)
        assert first is not None
        assert tuple(first) == ("c.example", NOW + 40, "z", 1)
        assert waits_for(connection, NOW + 41) is None
        assert [tuple(host) for host in waiting_hosts(connection, NOW)] == [
            ("b.example", NOW + 600, "y", 1)
        ]
        leases.pace(connection, {"b.example": NOW + 65}, {"b.example": 60.0})
        assert waiting_hosts(connection, NOW) == [], "its own delay is no news"
    store.close()
