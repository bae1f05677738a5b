"""URLs that rules change are asked later, and give way to the names that rules prefer."""

from pathlib import Path

import msgspec
import pytest
from sqlalchemy import Connection
from support.stores import MAKE, assert_counts_are_right, candidate, lease, open_store, visited

from canonry.canon import LearnedRule
from canonry.canon.pipeline import Rewritten
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage import Admission, Hop, Outcome, Page, State, Store
from canonry.storage.records import ALIAS, FIRST, ORDINARY, TARGET, Budget
from canonry.storage.rows import urls

pytestmark = pytest.mark.every_database

H = "http://h.example"
SLASH = LearnedRule(host="h.example", family="trailing-slash", new="bare")
UPGRADE = LearnedRule(host="h.example", family="scheme-upgrade")
PAGE = Page(200, 0.1, "text/html", 1, b"d" * 16, None, None, 0)


class Rules:
    """Given rules; they verify some URLs."""

    def __init__(self, *rules: LearnedRule, verified: tuple[str, ...] = ()) -> None:
        self.in_force = RulesInForce(rules, MAKE)
        self.verified = verified

    def refresh(self, connection: Connection) -> None:
        """Load nothing."""

    def forget(self) -> None:
        """Forget nothing."""

    def rewrite(self, url: str) -> Rewritten | None:
        return self.in_force.rewrite(url)

    def choose_as_test(self, rewritten: Rewritten, now: float) -> bool:
        del now
        return rewritten.source in self.verified

    def is_gone(self, rewritten: Rewritten) -> bool:
        del rewritten
        return False


def opened(folder: Path, *rules: LearnedRule, verified: tuple[str, ...] = ()) -> Store:
    """Open a store whose first URL is the home page."""
    store = open_store(folder)
    store.admit([candidate(f"{H}/")], 1.0)
    store.rules = Rules(*rules, verified=verified)
    return store


def link(store: Store, *names: str, priority: int = ORDINARY, hops: int = 0) -> list[Admission]:
    """Admit URLs as links of the home page."""
    found = [
        candidate(url, depth=1)._replace(source=1, priority=priority, hops=hops) for url in names
    ]
    return store.admit(found, 1.0)


def queue(store: Store) -> dict[str, int]:
    """Return the priorities of the queued URLs, but for the home page."""
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        query = "SELECT url, priority FROM urls WHERE state = 0 AND id > 1 ORDER BY id"
        found = connection.exec_driver_sql(query)
        return {str(url).removeprefix(H): int(priority) for url, priority in found}


def edges(store: Store) -> set[tuple[str, str]]:
    """Return which URLs rules hold, and what represents them."""
    query = (
        "SELECT a.url, b.url FROM aliases JOIN urls a ON a.id = from_id "
        "JOIN urls b ON b.id = to_id WHERE kind = 'rule'"
    )
    with store.transaction() as connection:
        found = connection.exec_driver_sql(query)
        return {(one.removeprefix(H), other.removeprefix(H)) for one, other in found}


def publish(store: Store, state: str) -> list[int]:
    """Bring the rule into a state; return the ids of the URLs that are deferred by that."""
    with store.transaction() as connection:
        rule = msgspec.structs.replace(SLASH, state=state)
        done = rule_store.import_rules(connection, [rule], MAKE, 3.0)
        store.rules = Rules(*rule_store.rules_in(connection))
        return done.deferred


def test_an_alias_is_deferred_until_the_name_that_the_rules_prefer_takes_its_place(
    tmp_path: Path,
) -> None:
    store = opened(tmp_path, SLASH)
    [alias] = link(store, f"{H}/a/")
    link(store, f"{H}/b", f"{H}/c/")
    assert queue(store) == {"/a/": ALIAS, "/b": ORDINARY, "/c/": ALIAS}
    [plain, again] = link(store, f"{H}/a", f"{H}/a")
    assert plain == Admission(plain.url_id, new=True, replaces=alias.url_id)
    assert again == Admission(plain.url_id, new=False)
    assert queue(store) == {"/b": ORDINARY, "/c/": ALIAS, "/a": ORDINARY}
    assert edges(store) == {("/a/", "/a")}
    [also] = link(store, f"{H}/a/?")
    assert not also.new or "/a/?" not in queue(store), "another alias is held as before"
    store.close()


@pytest.mark.parametrize("name", ["seed", "target", "first", "sample"])
def test_seeds_targets_samples_and_what_comes_first_are_not_deferred(
    tmp_path: Path, name: str
) -> None:
    store = opened(tmp_path, SLASH, verified=(f"{H}/sample/",))
    url = f"{H}/{name}/"
    if name == "seed":
        store.admit([candidate(url)], 1.0)
    else:
        priority = {"target": TARGET, "first": FIRST}.get(name, ORDINARY)
        link(store, url, priority=priority, hops=int(name == "target"))
    [(_, priority)] = queue(store).items()
    assert priority != ALIAS
    link(store, f"{H}/{name}")
    assert f"/{name}/" in queue(store), "so nothing takes their place"
    store.close()


def test_a_name_that_fewer_rules_change_takes_the_place_and_waits_itself(tmp_path: Path) -> None:
    store = opened(tmp_path, SLASH, UPGRADE)
    link(store, f"{H}/a/")
    link(store, f"{H}/a")
    assert queue(store) == {"/a": ALIAS}
    link(store, "https://h.example/a")
    assert queue(store) == {"https://h.example/a": ORDINARY}
    own = "https://h.example/a"
    assert edges(store) == {("/a/", own), ("/a", own)}, "all are represented by the last"
    store.close()


@pytest.mark.parametrize(
    "outcome",
    [
        visited(3, State.FAILED, "timeout"),
        visited(3, State.HELD, "robots"),
        visited(3, State.FETCHED, page=PAGE._replace(status=404)),
    ],
)
def test_what_gave_way_comes_back_if_the_other_is_not_there(
    tmp_path: Path, outcome: Outcome
) -> None:
    store = opened(tmp_path, SLASH)
    link(store, f"{H}/a/")
    link(store, f"{H}/a")
    store.record([outcome], 2.0)
    assert queue(store) == {"/a/": ORDINARY}
    store.close()


def test_the_outcome_of_an_alias_that_gave_way_while_it_was_fetched_counts(tmp_path: Path) -> None:
    store = opened(tmp_path, SLASH)
    link(store, f"{H}/a/")
    lease(store)
    link(store, f"{H}/a")
    hop = Hop("redirect", 301, candidate(f"{H}/a", depth=1)._replace(source=2, hops=1))
    store.record([visited(2, State.REDIRECTED, hops=(hop,))], 2.0)
    assert queue(store) == {"/a": TARGET}
    assert edges(store) == set()
    store.close()


def test_an_alias_that_redirects_to_the_new_name_does_not_give_way_to_it(tmp_path: Path) -> None:
    """It was fetched: no fetch was suppressed."""
    store = opened(tmp_path, SLASH)
    link(store, f"{H}/a/")
    hop = Hop("redirect", 301, candidate(f"{H}/a", depth=1)._replace(source=2, hops=1))
    [[to]] = store.record([visited(2, State.REDIRECTED, hops=(hop,))], 2.0)
    assert to == Admission(3, new=True)
    assert queue(store) == {"/a": ORDINARY + TARGET}
    store.close()


def test_a_rule_that_becomes_active_defers_what_is_queued_until_it_is_revoked(
    tmp_path: Path,
) -> None:
    store = opened(tmp_path)
    link(store, f"{H}/a/", f"{H}/b", f"{H}/c/", f"{H}/c", f"{H}/d/")
    link(store, f"{H}/first/", priority=FIRST)
    with store.transaction() as connection:
        urls.promote(connection, [6], TARGET)
    assert publish(store, "active") == [2]
    want = {"/a/": ALIAS, "/b": ORDINARY, "/c": ORDINARY, "/d/": TARGET, "/first/": FIRST}
    assert queue(store) == want
    assert publish(store, "active") == [], "it is deferred already"
    link(store, f"{H}/a", f"{H}/e/")
    assert queue(store).keys() & {"/a/", "/a", "/e/"} == {"/a", "/e/"}
    publish(store, "revoked")
    after = queue(store)
    assert {after.pop("/d/"), after.pop("/first/")} == {TARGET, FIRST}
    assert set(after.values()) == {ORDINARY}
    assert len(after) == 6
    store.close()


def test_a_url_keeps_the_budget_of_the_one_whose_place_it_takes(tmp_path: Path) -> None:
    store = opened(tmp_path, SLASH)
    store.budgets_of = lambda _url: (Budget(b"b" * 16, "*", 1, "too many"),)
    link(store, f"{H}/a/")
    link(store, f"{H}/a", f"{H}/b")
    assert queue(store) == {"/a": ORDINARY}
    store.close()


def test_deferred_urls_are_leased_when_nothing_else_is_left_and_a_few_at_a_time(
    tmp_path: Path,
) -> None:
    store = opened(tmp_path, SLASH)
    link(store, *(f"{H}/{n}/" for n in range(9)), f"{H}/x")
    [host] = lease(store)
    assert [one.url for one in host.urls] == [f"{H}/", f"{H}/x"]
    assert not host.has_more, "until these are recorded"
    [host] = lease(store, loaded={"h.example": {1, 11}})
    assert not host.urls
    assert not host.has_more
    store.record([visited(url_id, State.FETCHED, page=PAGE) for url_id in (1, 11)], 2.0)
    [host] = lease(store)
    first = {one.url_id for one in host.urls}
    assert 1 <= len(first) < 9
    assert not host.has_more, "until it is recorded"
    assert not lease(store, loaded={"h.example": first})[0].urls
    store.record([visited(min(first), State.FETCHED, page=PAGE)], 3.0)
    left = first - {min(first)}
    [host] = lease(store, loaded={"h.example": left})
    assert len(host.urls) == 1
    everything = set(range(2, 11)) - {min(first)}
    store.record([visited(url_id, State.FETCHED, page=PAGE) for url_id in everything], 3.0)
    assert not lease(store)
    assert not queue(store)
    store.close()
