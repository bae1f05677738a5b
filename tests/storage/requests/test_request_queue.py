"""Requests that workers hold: what becomes of them when a worker gives no more signs of life."""

from pathlib import Path

import pytest
from support.stores import open_store

from canonry.storage.requests import request_queue
from canonry.storage.requests.request_queue import LEASE_SECONDS, NewRequest

NOW = 1_000_000.0
LATER = NOW + LEASE_SECONDS + 1
_DAY = 86_400.0


def _new(number: int) -> NewRequest:
    fingerprint = number.to_bytes(16, "big")
    url = f"http://a.example/{number}"
    return NewRequest("spider", 0, number, 0, fingerprint, fingerprint, None, url, 0, 0, b"body")


@pytest.mark.every_database
def test_others_get_the_requests_of_a_worker_that_extends_its_leases_no_more(
    tmp_path: Path,
) -> None:
    """Those that it has processed are recorded by another, and not sent again."""
    store = open_store(tmp_path)
    with store.transaction() as connection:
        for number in range(4):
            assert request_queue.put(connection, _new(number))

        def take(worker: str, now: float) -> int | None:
            taken = request_queue.take(connection, "spider", worker, now)
            return None if taken is None else taken.request_id

        def done(worker: str, now: float) -> list[int]:
            found = request_queue.done(connection, "spider", worker, 9, now)
            return [one.request_id for one in found]

        assert [take("away", NOW), take("away", NOW), take("here", NOW)] == [1, 2, 3]
        request_queue.finish(connection, [1])
        assert (done("here", NOW), done("away", NOW)) == ([], [1])
        request_queue.extend(connection, "here", NOW + 9)
        assert request_queue.waits_for_others(connection, "spider", "here")
        assert request_queue.size(connection, "spider") == 3
        assert [take("here", LATER), take("here", LATER), take("here", LATER)] == [2, 4, None]
        assert done("here", LATER) == [1]
        assert not request_queue.waits_for_others(connection, "spider", "here")
        assert request_queue.give_back(connection, ["here"]) == 3
        assert [take("third", LATER) for _ in range(4)] == [2, 3, 4, None]
    store.close()


@pytest.mark.every_database
def test_a_clock_that_was_set_back_keeps_nobody_from_a_request(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    with store.transaction() as connection:
        request_queue.put(connection, _new(1))
        assert request_queue.take(connection, "spider", "away", NOW + _DAY) is not None
        assert request_queue.take(connection, "spider", "here", NOW) is not None
        assert request_queue.take(connection, "spider", "third", NOW) is None
    store.close()
