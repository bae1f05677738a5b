"""Names that are asked in place of their pages: what is held then, and what is asked as well."""

from pathlib import Path

import pytest
from support.stored_rules import REF, put_in_force
from support.stores import MAKE, admit_names, assert_counts_are_right, candidate, open_store

from canonry.crawler.learn.news import Moved
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.trials.in_place import InPlace
from canonry.storage import Hop, Outcome, Page, Queued, State, Store
from canonry.storage.learned import classes
from canonry.storage.sql.schema import urls

H = "http://h.example"


def row_of(store: Store, url: str) -> int:
    with store.transaction() as connection:
        found = connection.execute(urls.select().where(urls.c.url == url)).one()
    return int(found.id)


def state_of(store: Store, url: str) -> tuple[int, str | None]:
    with store.transaction() as connection:
        found = connection.execute(urls.select().where(urls.c.url == url)).one()
    return found.state, found.reason


def page(status: int = 200) -> Page:
    return Page(status, 0.1, "text/html", 1, b"%16d" % 1, None, None, 0)


def to(url: str, kind: str = "canonical") -> Hop:
    status = 200 if kind == "canonical" else 301
    return Hop(kind, status, candidate(url, depth=2)._replace(source=1))


def asked_in_place(folder: Path) -> tuple[Store, InPlace, RulesInForce]:
    """Return a store where the name with ``ref`` of a page is asked in its place."""
    store = open_store(folder)
    admit_names(store, 3)
    in_place = InPlace()
    with store.transaction() as connection:
        _rules, in_force = put_in_force(connection, REF)
    name, own = row_of(store, f"{H}/p1?ref=1"), row_of(store, f"{H}/p1")
    with store.transaction() as connection:
        assert classes.release(connection, [name]) == [name]
        assert in_place.add(connection, {name: own}) == [own]
    return store, in_place, in_force


def test_a_page_that_names_its_own_name_is_fetched_once(tmp_path: Path) -> None:
    store, in_place, in_force = asked_in_place(tmp_path)
    name, own = row_of(store, f"{H}/p1?ref=1"), row_of(store, f"{H}/p1")
    queued = Queued(name, f"{H}/p1?ref=1", 1, 0, 0)
    outcome = Outcome(queued, State.FETCHED, page=page(), hops=(to(f"{H}/p1"),))
    with store.transaction() as connection:
        recorded = store.record_in(connection, [outcome], 4.0)
        settled = in_place.settle(connection, recorded, in_force, 4.0)
        assert_counts_are_right(connection)
    assert settled.held == [own]
    assert settled.to_ask == []
    assert settled.moved == [Moved(f"{H}/p1?ref=1", f"{H}/p1", 4.0, "canonical")]
    assert state_of(store, f"{H}/p1") == classes.HELD
    with store.transaction() as connection:
        assert classes.edges_of(connection, [own])[own][0] == name
        again = in_place.settle(connection, recorded, in_force, 5.0)
        assert again == ([], [], []), "it has answered"
        rule_store.revoke(connection, rule_store.find(connection, REF.id), MAKE, 6.0)
        assert_counts_are_right(connection)
    assert state_of(store, f"{H}/p1") == (State.QUEUED, None), "without the rule it is another URL"
    store.close()


@pytest.mark.parametrize(
    ("state", "status", "hop"),
    [
        (State.FETCHED, 200, None),
        (State.FETCHED, 200, to(f"{H}/p1?ref=1")),
        (State.FETCHED, 200, to(f"{H}/p2")),
        (State.FETCHED, 404, to(f"{H}/p1")),
        (State.FETCHED, 503, None),
        (State.REDIRECTED, None, to(f"{H}/p1", "redirect")),
        (State.REDIRECTED, None, to(f"{H}/elsewhere", "redirect")),
        (State.FAILED, None, None),
        (State.HELD, None, None),
    ],
)
def test_in_any_other_case_its_own_name_is_asked(
    tmp_path: Path, state: State, status: int | None, hop: Hop | None
) -> None:
    store, in_place, in_force = asked_in_place(tmp_path)
    queued = Queued(row_of(store, f"{H}/p1?ref=1"), f"{H}/p1?ref=1", 1, 0, 0)
    outcome = Outcome(
        queued,
        state,
        None if state in {State.FETCHED, State.REDIRECTED} else "robots",
        page=None if status is None else page(status),
        hops=() if hop is None else (hop,),
    )
    with store.transaction() as connection:
        recorded = store.record_in(connection, [outcome], 4.0)
        settled = in_place.settle(connection, recorded, in_force, 4.0)
        assert_counts_are_right(connection)
    assert settled == ([], [], [row_of(store, f"{H}/p1")])
    assert state_of(store, f"{H}/p1") == (State.QUEUED, None)
    store.close()


def test_if_the_name_was_recorded_by_another_worker_its_own_name_is_asked(tmp_path: Path) -> None:
    store, in_place, in_force = asked_in_place(tmp_path)
    queued = Queued(row_of(store, f"{H}/p1?ref=1"), f"{H}/p1?ref=1", 1, 0, 0)
    store.record([Outcome(queued, State.FAILED, "timeout")], 4.0)
    late = Outcome(queued, State.FETCHED, page=page(), hops=(to(f"{H}/p1"),))
    with store.transaction() as connection:
        recorded = store.record_in(connection, [late], 5.0)
        settled = in_place.settle(connection, recorded, in_force, 5.0)
        assert_counts_are_right(connection)
    assert settled == ([], [], [row_of(store, f"{H}/p1")])
    assert state_of(store, f"{H}/p1") == (State.QUEUED, None)
    store.close()


def test_a_page_that_was_asked_meanwhile_is_compared_as_any_other(tmp_path: Path) -> None:
    store, in_place, in_force = asked_in_place(tmp_path)
    own = Outcome(Queued(row_of(store, f"{H}/p1"), f"{H}/p1", 1, 0, 0), State.FETCHED, page=page())
    queued = Queued(row_of(store, f"{H}/p1?ref=1"), f"{H}/p1?ref=1", 1, 0, 0)
    name = Outcome(queued, State.FETCHED, page=page(), hops=(to(f"{H}/p1"),))
    with store.transaction() as connection:
        recorded = store.record_in(connection, [own, name], 4.0)
        assert in_place.settle(connection, recorded, in_force, 4.0) == ([], [], [])
        assert_counts_are_right(connection)
    assert state_of(store, f"{H}/p1") == (State.FETCHED, None)
    store.close()


def test_what_is_forgotten_is_asked_under_both_names(tmp_path: Path) -> None:
    store, in_place, in_force = asked_in_place(tmp_path)
    in_place.clear()
    queued = Queued(row_of(store, f"{H}/p1?ref=1"), f"{H}/p1?ref=1", 1, 0, 0)
    outcome = Outcome(queued, State.FETCHED, page=page(), hops=(to(f"{H}/p1"),))
    with store.transaction() as connection:
        recorded = store.record_in(connection, [outcome], 4.0)
        assert in_place.settle(connection, recorded, in_force, 4.0) == ([], [], [])
    assert state_of(store, f"{H}/p1") == (State.QUEUED, None)
    store.close()
