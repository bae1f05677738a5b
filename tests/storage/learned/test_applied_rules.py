"""Laws of applying rules: it needs only the URLs that rules change, and can be undone."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import Connection, update
from support.stores import MAKE, candidate, open_store, visited
from support.strategies import tries

from canonry.canon import LearnedRule
from canonry.canon.pipeline import Rewritten
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage import Page, State, Store
from canonry.storage.learned import applied_rules
from canonry.storage.records import ALIAS, TARGET
from canonry.storage.sql.schema import url_rows
from canonry.storage.steering import walled

H, O = "h.example", "o.example"  # noqa: E741 - two hosts
RULES = (
    LearnedRule(host=H, family="trailing-slash", new="bare"),
    LearnedRule(host=H, family="parameter-irrelevant", old="ref"),
    LearnedRule(host=H, family="path-prefix", old="/old/", new="/new/"),
    LearnedRule(host=H, family="letter-case"),
    LearnedRule(host=H, family="scheme-upgrade"),
    LearnedRule(host=H, family="host-alias", new=O),
)
PATHS = ("a", "a/", "A/", "a?ref=1", "a?ref=2", "old/a", "new/a", "new/a/?ref=1", "b", "c?x=1")
URLS = (
    *(f"http://{H}/{path}" for path in PATHS),
    *(f"https://{H}/{path}" for path in PATHS[:3]),
    *(f"https://{O}/{path}" for path in PATHS[:4]),
)
SETTLED = (State.QUEUED, State.FETCHED, State.REDIRECTED, State.FAILED)

set_rules = st.lists(st.sampled_from(("active", "suspended", "")), min_size=6, max_size=6)
outcomes = st.dictionaries(st.integers(2, len(URLS) + 1), st.sampled_from(SETTLED), max_size=8)
steps = st.lists(st.tuples(set_rules, outcomes), min_size=1, max_size=3)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """A store that knows all URLs; what a test does in it is rolled back."""
    found = open_store(tmp_path_factory.mktemp("applied_rules"))
    found.admit([candidate(f"http://{H}/")], 1.0)
    found.admit([candidate(url)._replace(source=1, depth=1) for url in URLS], 1.0)
    yield found
    found.close()


def known(connection: Connection) -> tuple[tuple[tuple[Any, ...], ...], ...]:
    """Return all that this may change."""
    queries = (
        "SELECT id, state, reason, priority FROM url_rows ORDER BY id",
        "SELECT from_id, to_id, target_url FROM aliases WHERE kind = 'rule' ORDER BY from_id",
        "SELECT key, url_id FROM classes ORDER BY key",
    )
    return tuple(tuple(map(tuple, connection.exec_driver_sql(query))) for query in queries)


def applied(connection: Connection, rules: RulesInForce, *, only_changed: bool) -> tuple[int, ...]:
    """Apply rules; return how many URLs were held, released and deferred."""

    def rewrite_each(urls: list[str]) -> list[Rewritten | None]:
        return [rules.rewrite(url) for url in urls]

    rewrite = rules.change_all if only_changed else rewrite_each
    done = applied_rules.apply_rules(connection, [H, O], rewrite, rules.rewrite_all_held, 3.0)
    return len(done.held), len(done.released), len(done.deferred)


@given(
    steps=steps,
    sooner=st.sets(st.integers(2, len(URLS) + 1), max_size=4),
)
@settings(max_examples=tries(0.2), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_applying_needs_only_what_rules_change_and_is_undone_without_them(
    store: Store, steps: list[tuple[list[str], dict[int, State]]], sooner: set[int]
) -> None:
    with store.transaction() as connection:
        connection.exec_driver_sql("SAVEPOINT example")
        url_id = url_rows.c.id
        connection.execute(update(url_rows).where(url_id.in_(sooner)).values(priority=TARGET))
        for states, settled in steps:
            for one, state in settled.items():  # what is held is not fetched
                here = (url_id == one) & (url_rows.c.state != State.HELD)
                connection.execute(update(url_rows).where(here).values(state=state))
            given = zip(RULES, states, strict=True)
            rules = RulesInForce([replace(r, state=s) for r, s in given if s], MAKE)
            connection.exec_driver_sql("SAVEPOINT before")
            done = applied(connection, rules, only_changed=False)
            expected = known(connection)
            connection.exec_driver_sql("ROLLBACK TO before")
            assert applied(connection, rules, only_changed=True) == done
            assert known(connection) == expected
        applied(connection, RulesInForce((), MAKE), only_changed=True)
        rows, edges, classes = known(connection)
        connection.exec_driver_sql("ROLLBACK TO example")
    assert not edges
    assert not classes
    assert all(state != State.HELD for _url_id, state, *_rest in rows)
    assert not [row for row in rows if row[1] == State.QUEUED and row[3] == ALIAS]


def test_a_page_is_not_held_for_a_name_that_shows_a_wall(tmp_path: Path) -> None:
    rules = RulesInForce([replace(RULES[1], state="active")], MAKE)
    with closing(open_store(tmp_path)) as store:
        store.admit([candidate(f"http://{H}/")], 1.0)
        linked = [f"http://{H}/{path}" for path in ("a?ref=1", "a", "b?ref=1", "b")]
        store.admit([candidate(url)._replace(source=1, depth=1) for url in linked], 1.0)
        found = Page(200, 0.1, "text/html", 9, bytes(16), None, None, 0)
        store.record([visited(n, State.FETCHED, page=found) for n in range(2, 6)], 2.0)
        with store.transaction() as connection:
            walled.keep(connection, 3)
            assert applied_rules.hold_fetched(connection, [H], rules.change_all, 3.0) == [4]
