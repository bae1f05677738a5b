"""Rules in force: which hosts a rule concerns, and what rules make of many URLs at once."""

from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from sqlalchemy import create_engine
from support.stores import MAKE, admit, open_store
from support.strategies import tries

from canonry.canon import Canonicalizer, LearnedRule, RulesError, RuleSet
from canonry.canon.learned import Rewrite, follow, site_in
from canonry.canon.pipeline.rewriting import by_start, rewrite_many
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.storage.learned import rule_rows
from canonry.storage.learned.rule_rows import TrackedRule
from canonry.storage.sql.schema import metadata

ALIAS = LearnedRule(host="b.example", family="host-alias", new="c.example", state="active")
H, W, O = "h.example", "www.h.example", "o.example"  # noqa: E741 - three hosts
RULES = (
    LearnedRule(host=H, family="scheme-upgrade"),
    LearnedRule(host=H, family="path-parameter", old="sid", subdomains=True),
    LearnedRule(host=H, family="double-slash"),
    LearnedRule(host=H, family="path-prefix", old="/old/", new="/A/"),
    LearnedRule(host=H, family="path-prefix", old="/A/", new="/b/"),
    LearnedRule(host=H, family="index-file", old="index.html", below="/b/"),
    LearnedRule(host=H, family="letter-case"),
    LearnedRule(host=H, family="trailing-slash", new="bare"),
    LearnedRule(host=H, family="parameter-irrelevant", old="ref"),
    LearnedRule(host=H, family="parameter-order"),
    LearnedRule(host=H, family="www", new=W),
    LearnedRule(host=W, family="trailing-slash", new="slash"),
    LearnedRule(host=W, family="host-alias", new=O),
    LearnedRule(host=O, family="parameter-irrelevant", old="ref", beside=("a",)),
    LearnedRule(host=f"{H}:8080", family="letter-case"),
)
sites = st.sampled_from([H, W, O, f"a.{H}", f"{H}:8080", f"ref@{H}", "[::1]", "1.2.3.4"])
tokens = [
    "/",
    "//",
    "old/",
    "A/",
    "a",
    "b/",
    "index.html",
    ";sid=1",
    "?",
    "ref=1",
    "&a=2",
    "&",
    "@",
]
paths = st.lists(st.sampled_from(tokens), max_size=6).map("".join)
urls = st.builds("{}://{}/{}".format, st.sampled_from(["http", "https"]), sites, paths)
states = st.sampled_from(["active", "suspended", "revoked"])
rules = st.lists(st.tuples(st.sampled_from(RULES), states), max_size=6, unique_by=lambda x: x[0])


def test_a_rule_that_moves_a_host_concerns_both_and_what_is_joined_to_them(tmp_path: Path) -> None:
    store = open_store(tmp_path)
    admit(store, ["http://x.shop.example:8080/", "http://y.shop.example/", "http://o.example/"])
    in_force = RulesInForce((ALIAS,), MAKE)
    with store.transaction() as connection:

        def hosts_of(rule: Rewrite) -> set[str]:
            return in_force.hosts_of(connection, rule)

        moves = Rewrite(host="a.example:81", family="host-alias", new="b.example:82")
        assert hosts_of(moves) == {"a.example", "b.example"}, "hosts are known without ports"
        moves = Rewrite(host="a.example", family="host-alias", new="b.example")
        assert hosts_of(moves) == {"a.example", "b.example", "c.example"}
        stays = Rewrite(host="a.example", family="trailing-slash", new="slash")
        assert hosts_of(stays) == {"a.example"}
        wide = Rewrite(host="shop.example", family="www", new="www.shop.example", subdomains=True)
        joined = {"shop.example", "www.shop.example", "x.shop.example", "y.shop.example"}
        assert hosts_of(wide) == joined


@given(rules, st.lists(urls, max_size=12))
@example([(RULES[3], "active"), (RULES[6], "active")], [f"http://{H}/old/A", "foo:bar"])
@settings(max_examples=tries(1))
def test_many_urls_become_what_each_does(
    chosen: list[tuple[LearnedRule, str]], some: list[str]
) -> None:
    given = [LearnedRule(**{**as_fields(rule), "state": state}) for rule, state in chosen]
    try:
        in_force = RulesInForce(given, MAKE)
    except RulesError:  # they form a circle
        return
    plain = [MAKE.identity(url) for url in some]
    followed = [follow(in_force.active, one, MAKE.identity) for one in plain]
    expected = [
        (found.identity, MAKE.key_of(found.identity), tuple(rule.id for rule in found.rules), one)
        if found.changes
        else None
        for one, found in zip(plain, followed, strict=True)
    ]
    assert rewrite_many(in_force.active, MAKE, plain) == in_force.change_all(some) == expected
    assert in_force.rewrite_all_held(some) == [in_force.rewrite_held(url) for url in some]
    make = Canonicalizer("web", in_force.active)
    assert list(make.many([*some, "no URL"])) == list(make.many(iter([*some, "no URL"])))


def as_fields(rule: LearnedRule) -> dict[str, object]:
    """Return the fields of a rule."""
    return {name: getattr(rule, name) for name in rule.__struct_fields__}


def test_what_the_rules_make_of_a_url_may_be_changed_by_a_rule_that_ran_before() -> None:
    chained = RuleSet(RULES[3:5], MAKE.policy.label)
    found, *_same = rewrite_many(chained, MAKE, [f"http://{H}/old/x"] * 3)  # one is followed
    assert found is not None
    assert found.identity == f"http://{H}/b/x"
    lower = RuleSet([RULES[10], RULES[11]], MAKE.policy.label)
    found, *_same = rewrite_many(lower, MAKE, [f"http://{H}/x"] * 3)
    assert found is not None
    assert (found.identity, found.rules) == (f"http://{W}/x/", (RULES[10].id, RULES[11].id))


def test_many_rules_about_parameters_act_in_turn_on_one_url() -> None:
    drops = [("camp", ("id", "ref")), ("ref", ("id",)), ("src", ("id",)), ("a", ()), ("b", ())]
    about = [
        LearnedRule(host=H, family="parameter-irrelevant", old=old, beside=beside)
        for old, beside in drops
    ]
    many = RuleSet([RULES[7], *about], MAKE.policy.label)
    made = [
        ("/x/?id=1&ref=2&camp=3", "/x?id=1", [about[0], about[1]]),
        ("/x/?id=1&ref=2", "/x?id=1", [about[1]]),
        ("/x/?id=1&src=2", "/x?id=1", [about[2]]),
        ("/x/?b=1", "/x", [about[4]]),
        ("/x/?id=1&src=2&ref=3", "/x?id=1&src=2&ref=3", []),
        ("/x/", "/x", []),
    ]
    some = [f"http://{H}{before}" for before, _after, _rules in made]
    found = [one for one in rewrite_many(many, MAKE, some) if one is not None]
    assert [one.identity for one in found] == [f"http://{H}{after}" for _, after, _ in made]
    for one, (_before, _after, rules) in zip(found, made, strict=True):
        assert set(one.rules) == {RULES[7].id, *(rule.id for rule in rules)}
        assert one.identity == follow(many, one.source, MAKE.identity).identity


@given(st.lists(urls, max_size=6))
def test_the_start_of_an_identity_tells_its_site(some: list[str]) -> None:
    plain = [MAKE.identity(url) for url in some]
    places = by_start(plain)
    assert sorted(place for found in places.values() for place in found) == [*range(len(plain))]
    for start, found in places.items():
        for place in found:
            assert plain[place].startswith(start)
            assert site_in(start) == site_in(plain[place])


@given(st.lists(rules, max_size=3), urls)
@settings(max_examples=tries(0.05), deadline=None)
@example(
    [[(RULES[1], "active")], [(replace(RULES[1], but=(f"a.{H}",)), "active")]],
    f"http://a.{H}/;sid=1",
)
def test_what_is_refreshed_is_what_is_loaded(
    given_rules: list[list[tuple[LearnedRule, str]]], url: str
) -> None:
    """Somebody else changes rules; what has not changed is not read."""
    one = RulesInForce((), MAKE)
    engine = create_engine("sqlite://")
    metadata.create_all(engine)
    for part in given_rules:
        with engine.begin() as connection:
            rule_rows.put(connection, [TrackedRule(r.rewrite, state=state) for r, state in part])
            try:
                loaded = RulesInForce.load(connection, MAKE)
            except RulesError:
                break
            states = rule_rows.states_by_host(connection, ("active", "suspended", "revoked"))
            one = one.refreshed(connection, states)
        assert sorted(one.known) == sorted(loaded.known)
        assert one.rewrite(url) == loaded.rewrite(url)
        assert one.rewrite_held(url) == loaded.rewrite_held(url)
        assert one.concern(url) == loaded.concern(url)
        for site in (H, W, O, f"a.{H}"):
            assert set(one.about(site)) == set(loaded.about(site))
