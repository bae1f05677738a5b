"""URLs that rules merge: held, released, grouped anew; nothing is lost."""

from pathlib import Path

import pytest
from sqlalchemy import Connection
from support.databases import url_of
from support.stores import MAKE, assert_counts_are_right, candidate, lease, open_store, visited

from canonry.canon import LearnedRule
from canonry.canon.pipeline import Rewritten
from canonry.crawler.learn.rules import rule_store
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage import Admission, Hop, Outcome, Page, State, Store, StoreError
from canonry.storage.learned import applied_rules, rule_rows
from canonry.storage.reading import report
from canonry.storage.rows import requeueing

pytestmark = pytest.mark.every_database

H = "http://h.example"
SLASH = LearnedRule(host="h.example", family="trailing-slash", new="bare")
UPGRADE = LearnedRule(host="h.example", family="scheme-upgrade")
ALIAS = LearnedRule(host="h.example", family="host-alias", new="o.example")
SESSION = LearnedRule(host="h.example", family="parameter-irrelevant", old="sid")


class GivenRules:
    """Given rules, as the store uses them."""

    def __init__(self, *rules: LearnedRule, verified: bool = False) -> None:
        self.in_force = RulesInForce(rules, MAKE)
        self.verified = verified
        self.gone = False
        self.forgot = 0

    def refresh(self, connection: Connection) -> None:
        """Load nothing: the rules are given."""

    def forget(self) -> None:
        self.forgot += 1

    def rewrite(self, url: str) -> Rewritten | None:
        return self.in_force.rewrite(url)

    def choose_as_test(self, rewritten: Rewritten, now: float) -> bool:
        del rewritten, now
        return self.verified

    def is_gone(self, rewritten: Rewritten) -> bool:
        del rewritten
        return self.gone


def link(store: Store, *urls: str, source: int | None = 1, hops: int = 0) -> list[Admission]:
    """Admit URLs as links of a page."""
    given = [candidate(url)._replace(source=source, hops=hops) for url in urls]
    return store.admit(given, 1.0)


def states(store: Store) -> dict[str, str]:
    """Return the state of each URL, and the reason for which it is held."""
    with store.transaction() as connection:
        assert_counts_are_right(connection)
        found = connection.exec_driver_sql("SELECT url, state, reason FROM urls ORDER BY id")
        return {
            url.removeprefix("http://"): State(state).name.lower() + (f" {why}" if why else "")
            for url, state, why in found
        }


def page(status: int = 200) -> Page:
    return Page(status, 0.1, "text/html", 1, b"d" * 16, None, None, 0)


def test_the_first_url_represents_the_others(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.rules = GivenRules(SLASH)
    link(store, f"{H}/a/")
    link(store, f"{H}/a", f"{H}/b", f"{H}/b/", f"{H}/other")
    assert states(store) == {
        "h.example/a/": "queued",
        "h.example/a": "held learned",
        "h.example/b": "queued",
        "h.example/b/": "held learned",
        "h.example/other": "queued",
    }
    assert [answer.new for answer in link(store, f"{H}/a", f"{H}/b/")] == [False, False]
    store.close()
    with report.reading(url_of(tmp_path)) as connection:
        edges = [
            (row["url"], row["same_as"], row["kind"]) for row in report.rows(connection, "aliases")
        ]
    assert edges == [(f"{H}/a", f"{H}/a/", "rule"), (f"{H}/b/", f"{H}/b", "rule")]


def test_seeds_redirect_targets_and_verified_urls_are_never_held(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rules = store.rules = GivenRules(SLASH)
    link(store, f"{H}/a")
    link(store, f"{H}/a/", source=None)
    link(store, f"{H}/b")
    link(store, f"{H}/b/", hops=1)
    link(store, f"{H}/c")
    rules.verified = True
    link(store, f"{H}/c/")
    assert set(states(store).values()) == {"queued"}
    store.close()


def test_a_held_url_that_turns_out_to_be_the_page_is_fetched(tmp_path: Path) -> None:
    """The representative of a class redirects to the very URL that is held for it."""
    store = open_store(tmp_path)
    store.rules = GivenRules(SLASH)
    [first] = link(store, f"{H}/a/")
    link(store, f"{H}/a")
    hop = Hop("redirect", 301, candidate(f"{H}/a")._replace(source=first.url_id, hops=1))
    store.record([visited(first.url_id, State.REDIRECTED, hops=(hop,))], 2.0)
    assert states(store) == {"h.example/a/": "redirected", "h.example/a": "queued"}
    link(store, f"{H}/b/")  # and if it was not known before
    hop = Hop("redirect", 301, candidate(f"{H}/b")._replace(source=3, hops=1))
    store.record([visited(3, State.REDIRECTED, hops=(hop,))], 2.0)
    assert states(store)["h.example/b"] == "queued"
    store.close()


def redirected(store: Store, url_id: int, url: str, status: int = 302) -> None:
    """Record that a URL, found two links from a seed, redirects to another."""
    hop = Hop("redirect", status, candidate(url)._replace(source=url_id, hops=1, depth=2))
    one = visited(url_id, State.REDIRECTED, hops=(hop,))
    store.record([one._replace(queued=one.queued._replace(depth=2))], 2.0)


@pytest.mark.parametrize("status", [302, 303, 307])
def test_the_target_of_a_temporary_redirect_is_held_for_a_page_that_was_fetched(
    tmp_path: Path, status: int
) -> None:
    """Each page for members leads to the form to log in, which says where to return to."""
    store = open_store(tmp_path)
    store.rules = GivenRules(SESSION)
    link(store, f"{H}/login?sid=1", f"{H}/members/a", f"{H}/members/b")
    redirected(store, 2, f"{H}/login?sid=2", status)
    assert states(store)["h.example/login?sid=2"] == "queued", "no form was fetched yet"
    store.record([visited(4, State.FETCHED, page=page())], 3.0)
    redirected(store, 3, f"{H}/login?sid=3", status)
    assert states(store)["h.example/login?sid=3"] == "held learned"
    store.close()


def test_such_a_target_is_held_for_a_page_alone(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.rules = GivenRules(SESSION)
    link(store, *(f"{H}/{name}?sid=1" for name in "abc"), *(f"{H}/from/{n}" for n in range(4)))
    redirected(store, 1, f"{H}/x", 301)
    store.record([visited(2, State.FETCHED, page=page(404))], 3.0)
    store.record([visited(3, State.FETCHED, page=page())], 3.0)
    for url_id, target in enumerate(("a?sid=2", "b?sid=2", "c"), 4):
        redirected(store, url_id, f"{H}/{target}")
    redirected(store, 7, f"{H}/c?sid=3", 301)
    found = states(store)
    assert found["h.example/a?sid=2"] == "queued", "the other one redirects"
    assert found["h.example/b?sid=2"] == "queued", "the other one is not there"
    assert found["h.example/c"] == "queued", "no rule changes it"
    assert found["h.example/c?sid=3"] == "queued", "for good, it is the page"
    store.close()


def test_a_page_that_redirects_for_now_to_what_it_represents_releases_it(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    store.rules = GivenRules(SESSION)
    link(store, f"{H}/login?sid=1", f"{H}/members", source=1)
    store.record([visited(1, State.FETCHED, page=page())], 3.0)
    redirected(store, 2, f"{H}/login?sid=2")
    assert states(store)["h.example/login?sid=2"] == "held learned"
    with store.transaction() as connection:
        requeueing.requeue(connection, 9.0)
    redirected(store, 1, f"{H}/login?sid=2")
    assert states(store)["h.example/login?sid=2"] == "queued"
    store.close()


@pytest.mark.parametrize(
    "outcome",
    [
        visited(1, State.FAILED, "timeout"),
        visited(1, State.HELD, "robots"),
        visited(1, State.FETCHED, page=page(404)),
    ],
)
def test_urls_held_for_a_page_that_does_not_exist_are_released(
    tmp_path: Path, outcome: Outcome
) -> None:
    store = open_store(tmp_path)
    store.rules = GivenRules(SLASH)
    link(store, f"{H}/a/", f"{H}/a")
    store.record([outcome], 2.0)
    assert states(store)["h.example/a"] == "queued"
    assert [answer.new for answer in link(store, f"{H}/a/?x")] == [True]
    store.close()


def test_a_dead_page_represents_no_other(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    rules = store.rules = GivenRules(SLASH)
    link(store, f"{H}/a", f"{H}/b")
    gone = page(410)
    store.record([visited(n, State.FETCHED, page=gone) for n in (1, 2)], 2.0)
    link(store, f"{H}/a/")
    assert states(store)["h.example/a/"] == "queued"
    rules.gone = True  # but if several were gone, so are the others
    link(store, f"{H}/b/")
    assert states(store)["h.example/b/"] == "held learned"
    store.close()


@pytest.mark.parametrize("late", ["gone", "failed", "redirect"])
def test_what_is_recorded_late_releases_nothing(tmp_path: Path, late: str) -> None:
    """Another worker has fetched the page meanwhile: its names stay held, and so does a target."""
    store = open_store(tmp_path)
    store.rules = GivenRules(SLASH)
    [kept, *_] = link(store, f"{H}/a", f"{H}/a/", f"{H}/b", f"{H}/b/")
    store.record([visited(kept.url_id, State.FETCHED, page=page())], 1.0)
    before = states(store)
    outcome = {
        "gone": visited(kept.url_id, State.FETCHED, page=page(404)),
        "failed": visited(kept.url_id, State.FAILED, "timeout"),
        "redirect": visited(
            kept.url_id, State.REDIRECTED, hops=(Hop("redirect", 301, candidate(f"{H}/b/")),)
        ),
    }[late]
    with store.transaction() as connection:
        [recorded] = store.record_in(connection, [outcome], 2.0)
    assert recorded.late
    assert states(store) == before
    store.close()


@pytest.mark.parametrize(("status", "tried"), [(404, 3), (410, 3), (500, 6)])
def test_of_a_page_that_is_gone_a_few_other_names_are_tried(
    tmp_path: Path, status: int, tried: int
) -> None:
    store = open_store(tmp_path)
    store.rules = GivenRules(SESSION)
    link(store, *(f"{H}/a?sid={n}" for n in range(7)))
    assert list(states(store).values()) == ["queued"] + 6 * ["held learned"]
    store.record([visited(1, State.FETCHED, page=page(status))], 2.0)
    assert list(states(store).values())[1:] == tried * ["queued"] + (6 - tried) * ["held learned"]
    store.close()


def publish(store: Store, *rules: LearnedRule, **more: str) -> applied_rules.AppliedRules:
    """Import rules into a store, and apply them."""
    with store.transaction() as connection:
        done = rule_store.import_rules(connection, rules, MAKE, 3.0, **more)  # type: ignore[arg-type]
        store.rules = GivenRules(*rule_store.rules_in(connection))
        return done


def test_activation_holds_known_urls_and_revocation_releases_them(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    link(store, f"{H}/a", f"{H}/a/", f"{H}/b/", f"{H}/c", f"{H}/d/", "http://o.example/a/")
    store.record([visited(5, State.FETCHED, page=page())], 2.0)
    done = publish(store, SLASH)
    assert (done.held, done.released) == ([2], [])
    assert states(store) == {
        "h.example/a": "queued",
        "h.example/a/": "held learned",
        "h.example/b/": "queued",
        "h.example/c": "queued",
        "h.example/d/": "fetched",
        "o.example/a/": "queued",
    }
    link(store, f"{H}/b", f"{H}/c/", f"{H}/d")  # against known URLs in each state
    for name in ("b/", "c/", "d"):  # b/ was only queued, and b is the page's own name
        assert states(store)[f"h.example/{name}"] == "held learned"
    with store.transaction() as connection:
        rule = rule_store.find(connection, SLASH.id)
        assert rule.suppressed == 4
        done = rule_store.revoke(connection, rule, MAKE, 4.0)
        store.rules = GivenRules(*rule_store.rules_in(connection))
        assert rule_store.find(connection, SLASH.id).suppressed == 0
    assert len(done.released) == 4
    assert set(states(store).values()) == {"queued", "fetched"}
    assert sum(len(host.urls) for host in lease(store)) == 8
    link(store, f"{H}/e", f"{H}/e/")
    assert states(store)["h.example/e/"] == "queued", "a revoked rule holds nothing"
    store.close()


def test_a_rule_suppresses_each_url_once_however_often_it_comes_back(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    link(store, f"{H}/a", f"{H}/a/", f"{H}/b/", f"{H}/b")
    publish(store, SLASH)
    for _ in range(3):
        with store.transaction() as connection:
            rule = rule_store.find(connection, SLASH.id)
            assert rule.suppressed == 2
            rule_store.revoke(connection, rule, MAKE, 4.0)
            rule_store.reinstate(connection, rule, MAKE, 5.0)
    store.close()


def test_a_page_that_was_fetched_under_another_name_is_not_fetched_under_its_own(
    tmp_path: Path,
) -> None:
    store = open_store(tmp_path)
    link(store, f"{H}/a/", f"{H}/a", f"{H}/gone/", f"{H}/gone", f"{H}/moved/", f"{H}/moved")
    link(store, f"{H}/seed/")
    link(store, f"{H}/seed", source=None)
    for url_id in (1, 7):
        store.record([visited(url_id, State.FETCHED, page=page())], 2.0)
    store.record([visited(3, State.FETCHED, page=page(404))], 2.0)
    store.record([visited(5, State.REDIRECTED)], 2.0)
    done = publish(store, SLASH)
    assert (done.held, done.released) == ([2], [])
    queued = {name for name, state in states(store).items() if state == "queued"}
    assert queued == {f"h.example/{name}" for name in ("gone", "moved", "seed")}
    with store.transaction() as connection:
        assert rule_store.find(connection, SLASH.id).suppressed == 1
    with store.transaction() as connection:
        rule = rule_store.find(connection, SLASH.id)
        done = rule_store.revoke(connection, rule, MAKE, 4.0)
    assert 2 in done.released
    assert states(store)["h.example/a"] == "queued"
    store.close()


def test_a_url_held_by_two_rules_waits_for_both(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    publish(store, SLASH, UPGRADE)
    link(store, "https://h.example/a", f"{H}/a/", "https://h.example/a/", f"{H}/a")
    assert [state for state in states(store).values() if state == "queued"] == ["queued"]
    with store.transaction() as connection:
        done = rule_store.revoke(connection, rule_store.find(connection, UPGRADE.id), MAKE, 4.0)
        store.rules = GivenRules(*rule_store.rules_in(connection))
    assert len(done.released) == 1, "one of the two with http"
    left = states(store)
    assert left["https://h.example/a/"] == "held learned"
    assert sorted([left["h.example/a/"], left["h.example/a"]]) == ["held learned", "queued"]
    with store.transaction() as connection:
        rule_store.revoke(connection, rule_store.find(connection, SLASH.id), MAKE, 5.0)
    assert set(states(store).values()) == {"queued"}
    store.close()


def test_a_suspended_rule_keeps_what_it_holds_and_holds_no_more(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    publish(store, SLASH)
    link(store, f"{H}/a", f"{H}/a/")
    with store.transaction() as connection:
        rule = rule_store.find(connection, SLASH.id)
        rule.enter("suspended", 4.0)
        rule_rows.put(connection, [rule])
        in_force, done = rule_store.publish(connection, [rule.rewrite], MAKE, 4.0)
        store.rules = GivenRules(*rule_store.rules_in(connection))
    assert not in_force.active.active
    assert not done.released
    link(store, f"{H}/b", f"{H}/b/")
    assert states(store)["h.example/a/"] == "held learned"
    assert states(store)["h.example/b/"] == "queued"
    store.close()


@pytest.mark.parametrize(
    ("given", "fetched", "stands"),
    [
        (["http://h.example/a", "https://h.example/a/x"], (), "https://h.example/a/x"),
        (["http://h.example/a?y=1", "http://h.example/a?y=2&y=3"], (), "http://h.example/a?y=1"),
        (["http://h.example/b", "http://h.example/a"], (), "http://h.example/b"),
        (["https://h.example/a", "http://h.example/a/x"], (2,), "http://h.example/a/x"),
    ],
    ids=["https before http", "shorter", "first", "a fetched one first"],
)
def test_which_url_represents_a_class(
    tmp_path: Path, given: list[str], fetched: tuple[int, ...], stands: str
) -> None:
    store = open_store(tmp_path)
    link(store, *given)
    for url_id in fetched:
        store.record([visited(url_id, State.FETCHED, page=page())], 2.0)

    def rewrite(urls: list[str]) -> list[Rewritten]:  # all are one, and no URL has that identity
        return [Rewritten("https://h.example/", b"k" * 16, ("rule",))] * len(urls)

    with store.transaction() as connection:
        applied_rules.apply_rules(connection, ["h.example"], rewrite, rewrite, 3.0)
        query = "SELECT urls.url FROM classes JOIN urls ON urls.id = classes.url_id"
        assert connection.exec_driver_sql(query).scalar() == stands
    store.close()


def test_a_host_alias_concerns_both_hosts(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    link(store, f"{H}/a", "http://o.example/b")
    publish(store, ALIAS)
    link(store, "http://o.example/a", f"{H}/b")
    assert states(store) == {
        "h.example/a": "queued",
        "o.example/b": "queued",
        "o.example/a": "held learned",
        "h.example/b": "held learned",
    }
    store.close()


def test_a_url_that_a_rule_holds_while_it_is_fetched_is_settled(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    link(store, f"{H}/a", f"{H}/a/")
    lease(store)
    publish(store, SLASH)
    store.record([visited(2, State.FETCHED, page=page())], 4.0)
    assert states(store) == {"h.example/a": "queued", "h.example/a/": "fetched"}
    assert [len(host.urls) for host in lease(store, now=999.0)] == [1]
    store.close()


def test_importing_a_circle_changes_nothing(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    publish(store, ALIAS)
    back = LearnedRule(host="o.example", family="host-alias", new="h.example")
    with pytest.raises(ValueError, match="leads back to itself"):
        publish(store, back)
    with store.transaction() as connection:
        assert [rule.rewrite for rule in rule_store.rules_in(connection)] == [ALIAS.rewrite]
        with pytest.raises(StoreError, match="there is no such rule; 'canonry rules list'"):
            rule_store.find(connection, back.id)
    store.close()


def test_rules_are_stored_and_loaded_unchanged(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    wide = LearnedRule(
        host="h.example",
        family="parameter-irrelevant",
        below="/é/",
        old="réf",
        beside=("a", "b"),
        subdomains=True,
        but=("x.h.example",),
        state="candidate",
    )
    publish(store, wide, SLASH)
    with store.transaction() as connection:
        assert {r.rewrite: r.state for r in rule_store.rules_in(connection)} == {
            wide.rewrite: "candidate",
            SLASH.rewrite: "active",
        }
        one = rule_store.find(connection, wide.id[:6])
        assert one == rule_store.find(connection, wide.id)
    store.close()
