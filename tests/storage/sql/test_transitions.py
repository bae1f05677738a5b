"""Every change of a URL's state is counted: by state and reason, by depth, and by host."""

from itertools import pairwise, product
from pathlib import Path

import pytest
from sqlalchemy import select
from support.stores import admit, assert_counts_are_right, open_store

from canonry.storage import State
from canonry.storage.sql import transitions
from canonry.storage.sql.schema import urls
from canonry.storage.sql.transitions import QUEUED, StateReason, Transition

pytestmark = pytest.mark.every_database

_STATES: list[StateReason] = [
    QUEUED,
    (State.FETCHED, None),
    (State.REDIRECTED, None),
    (State.FAILED, "timeout"),
    (State.HELD, "robots"),
    (State.HELD, "too-deep"),
]


def test_counts_follow_every_transition(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/", "http://b.example/1"])
    admit(store, ["http://a.example/deep", "http://b.example/2"], depth=2)
    way = [QUEUED, *(state for pair in product(_STATES, _STATES) for state in pair)]
    with store.transaction() as connection:
        first, *rows = connection.execute(select(urls.c.id, urls.c.host_id, urls.c.depth)).all()
        for due, (before, after) in enumerate(pairwise(way)):
            moved = {url_id: Transition(host, depth, before, after) for url_id, host, depth in rows}
            transitions.move(connection, moved, due=due)
            assert_counts_are_right(connection)
            others = select(urls.c.state, urls.c.reason, urls.c.due).where(urls.c.id != first.id)
            assert {tuple(row) for row in connection.execute(others)} == {(*after, due)}
    store.close()


def test_urls_that_are_held_together_are_counted_alike(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://a.example/", "http://b.example/1"])
    admit(store, ["http://a.example/deep", "http://b.example/2"], depth=2)
    with store.transaction() as connection:
        first, *rows = connection.execute(select(urls.c.id, urls.c.host_id, urls.c.depth)).all()
        due = connection.scalars(select(urls.c.due).order_by(urls.c.id)).all()
        transitions.hold(
            connection, {(host, depth): [url_id] for url_id, host, depth in rows}, "why-not"
        )
        transitions.hold(connection, {}, "nothing")
        assert_counts_are_right(connection)
        held = select(urls.c.id).where(urls.c.state == State.HELD, urls.c.reason == "why-not")
        assert (
            set(connection.scalars(held))
            == {url_id for url_id, _host, _depth in rows}
            != {first.id}
        )
        assert connection.scalars(select(urls.c.due).order_by(urls.c.id)).all() == due
    store.close()
