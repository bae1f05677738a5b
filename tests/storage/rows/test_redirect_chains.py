"""Chains of redirects: where URLs lead, on both databases."""

from pathlib import Path

import pytest
from support.stores import admit, candidate, open_store, visited

from canonry.storage import Hop, State
from canonry.storage.rows.redirect_chains import chains

pytestmark = pytest.mark.every_database


def test_each_chain_is_followed_to_its_end(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    names = [f"http://a.example/{n}" for n in range(6)]
    url_ids = [one.url_id for one in admit(store, names)]

    def to(number: int) -> tuple[Hop, ...]:
        return (Hop("redirect", 301, candidate(names[number])),)

    moved = State.REDIRECTED
    store.record([visited(url_ids[0], moved, hops=to(5))], 1.0)  # later it leads elsewhere
    with store.transaction() as connection:
        connection.exec_driver_sql("UPDATE url_rows SET state = 0 WHERE suffix = ':/0'")
    outcomes = [
        visited(url_ids[0], moved, hops=to(1)),
        visited(url_ids[1], moved, hops=to(2)),
        visited(url_ids[2], State.FAILED, "dns"),
        visited(url_ids[3], moved, hops=to(4)),
        visited(url_ids[4], moved, hops=to(3)),
    ]
    store.record(outcomes, 2.0)
    with store.transaction() as connection:
        found = chains(connection, url_ids)
    store.close()
    assert [chain[0].url_id for chain in found] == url_ids
    ends = [(chain[-1].url[-1], chain[-1].state, chain[-1].reason) for chain in found]
    assert ends[:3] == [("2", State.FAILED, "dns")] * 3
    assert {end[:2] for end in ends[3:5]} == {("3", moved), ("4", moved)}, "a circle"
    assert ends[5] == ("5", State.QUEUED, None)


def test_of_two_redirects_at_one_moment_the_later_one_counts_for_all(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    first, one, other = [
        found.url_id for found in admit(store, [f"http://a.example/{n}" for n in "abc"])
    ]
    for target in "bc":
        hops = (Hop("redirect", 301, candidate(f"http://a.example/{target}")),)
        store.record([visited(first, State.REDIRECTED, hops=hops)], 1.0)
        with store.transaction() as connection:
            connection.exec_driver_sql("UPDATE url_rows SET state = 0 WHERE suffix = ':/a'")
    with store.transaction() as connection:
        connection.exec_driver_sql("UPDATE url_rows SET state = 2 WHERE suffix = ':/a'")
        [chain] = chains(connection, [first])
    store.close()
    assert [(url.url_id, url.status, url.led_at) for url in chain] == [
        (first, 0, 0.0),
        (other, 301, 1.0),
    ]
    assert other != one
