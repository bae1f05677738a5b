"""Learned rules: what each family does, sets that terminate, files that are refused."""

import json
import re
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from support.strategies import tries, urls
from support.tables import each
from support.vectorfiles import cases

import canonry
from canonry.canon import (
    Canonicalizer,
    Evidence,
    InvalidURL,
    LearnedRule,
    Refused,
    RulesError,
    RuleSet,
)
from canonry.canon.learned.families import FAMILIES, act
from canonry.canon.learned.rewrite import Rewrite, site_of, to_fields
from canonry.canon.learned.ruleset import follow, loads
from canonry.canon.learned.validate import WITH_NAMES, fault, find_circle
from canonry.canon.policies import preset
from canonry.canon.syntax.parts import Parts

PLAIN = Canonicalizer("web")
PLAIN_ARCHIVE = Canonicalizer("archive")


def rewrite_of(text: str) -> Rewrite:
    """Read a rewrite as the vectors have it."""
    family, *blanks = text.split(" ")
    given: dict[str, Any] = dict(blank.split("=", 1) for blank in blanks)
    if "subdomains" in given:
        given["subdomains"] = True
    beside = tuple(given.pop("beside", "").split(",")) if "beside" in given else ()
    return Rewrite(given.pop("host", "h.example"), family, beside=beside, **given)


def rule(family: str, host: str = "h.example", **blanks: object) -> LearnedRule:
    return LearnedRule(host=host, family=family, **blanks)  # type: ignore[arg-type]


def with_rules(*rules: LearnedRule, policy: str = "web") -> Canonicalizer:
    return Canonicalizer(policy, RuleSet(rules, preset(policy).label))


@each(("why", "text", "before", "after"), cases("learned.txt", 3))
def test_vectors(why: str, text: str, before: str, after: str) -> None:
    rewrite = rewrite_of(text)
    assert fault(rewrite) is None
    assert str(act(rewrite, Parts.of(before))) == after, why
    if before != after:
        assert FAMILIES[rewrite.family].prefilter(rewrite)(before), f"its mark: {why}"


def test_every_family_has_vectors_that_it_changes_and_some_that_only_look_like_it() -> None:
    rows = cases("learned.txt", 3)
    changed = {row[1].split(" ")[0] for row in rows if row[2] != row[3]}
    unchanged = {row[1].split(" ")[0] for row in rows if row[2] == row[3]}
    assert changed == unchanged == FAMILIES.keys()


@each("name", FAMILIES)
def test_the_example_of_a_family_is_what_it_does(name: str) -> None:
    row = FAMILIES[name]
    assert row.name == f"learned-{name}"
    rewrite = Rewrite("example.com", name, **row.example)
    assert str(act(rewrite, Parts.of(row.before))) == row.after
    parts = Parts.of(row.after)
    assert act(rewrite, parts) is parts


@each(
    ("broken", "says"),
    [
        (rule("scheme-upgrade", host="com"), "two labels or more"),
        (rule("scheme-upgrade", host="H.example"), "in lower case"),
        (rule("scheme-upgrade", host="h.example:80"), "without port"),
        (rule("scheme-upgrade", host="*.example"), "two labels"),
        (rule("scheme-upgrade", host="é.example"), "in lower case"),
        (rule("scheme-upgrade", host="h.example:8080"), "without port"),
        (rule("scheme-upgrade", host="127.0.0.1"), "two labels or more"),
        (rule("www", host="h.example:8080", new="www.h.example:8080"), "without port"),
        (rule("www", new="www.h.example:8080"), "'www.' before it, or without"),
        (rule("host-alias", host="[::1]", new="h.example"), "two labels or more"),
        (rule("host-alias", new="127.0.0.1"), "another host's name"),
        (rule("letter-case", host="h.example:8080", subdomains=True), "without port"),
        (rule("letter-case", host="0.0.1", subdomains=True), "two labels or more"),
        (rule("letter-case", host="h.example:80"), "no default port"),
        (rule("letter-case", host="h.example:443"), "no default port"),
        (rule("letter-case", host="h.example:08080"), "in lower case"),
        (rule("letter-case", host="h.example:"), "in lower case"),
        (rule("letter-case", host="h.example:99999"), "in lower case"),
        (rule("letter-case", host="LOCALHOST"), "in lower case"),
        (rule("letter-case", host="256.0.0.1"), "in lower case"),
        (rule("letter-case", host="[0::1]"), "in lower case"),
        (rule("letter-case", host="::1"), "in lower case"),
        (rule("letter-case", host="u@h.example"), "in lower case"),
        (rule("letter-case", host="h.example/a"), "in lower case"),
        (rule("scheme-upgrade", new="https"), "neither 'old' nor 'new'"),
        (rule("scheme-upgrade", below="docs"), "begins and ends with a slash"),
        (
            rule("scheme-upgrade", beside=("a",)),
            "for the families parameter-mix, parameter-group, parameter-irr",
        ),
        (rule("scheme-upgrade", but=("a.h.example",)), "for rules with 'subdomains'"),
        (rule("everything"), "no family 'everything'; allowed: scheme-upgrade, path-parameter"),
        (rule("host-alias", new="h.example"), "another host's name"),
        (rule("host-alias", new="h.example/x"), "another host's name"),
        (rule("host-alias", new="other.example", subdomains=True), "cannot cover subdomains"),
        (rule("www", new="other.example"), "with 'www.' before it, or without"),
        (rule("path-prefix", old="/", new="/x/"), "grow forever"),
        (rule("path-prefix", old="/a/", new="/A/b/"), "grow forever"),
        (rule("path-prefix", old="a", new="b"), "begins and ends with a slash"),
        (rule("path-prefix", old="/a//", new="/b/"), "begins and ends with a slash"),
        (rule("path-prefix", old="/a?b/", new="/b/"), "begins and ends with a slash"),
        (rule("index-file", old="page.html"), "such as index.html"),
        (rule("index-file", old=".*"), "such as index.html"),
        (rule("trailing-slash"), "'slash' (it is added)"),
        (rule("path-parameter"), "the name of a parameter in a path"),
        (rule("path-parameter", old=";sid"), "the name of a parameter in a path"),
        (rule("path-parameter", old="sid=1"), "the name of a parameter in a path"),
        (rule("path-parameter", old="sid", new="id"), "and 'new' empty"),
        (
            rule("path-parameter", old="sid", beside=("a",)),
            "for the families parameter-mix, parameter-group, parameter-irr",
        ),
        (rule("parameter-irrelevant"), "a parameter's name"),
        (rule("parameter-irrelevant", old="a=b"), "a parameter's name"),
        (rule("parameter-irrelevant", old="a", beside=("c", "b")), "sorted"),
        (rule("parameter-irrelevant", old="a", beside=("a",)), "other parameters"),
        (rule("parameter-group", old="a"), "the names of two parameters"),
        (rule("parameter-group", old="a&"), "the names of two parameters"),
        (rule("parameter-group", old="a&b=1"), "the names of two parameters"),
        (rule("parameter-group", old="a&b", new="c"), "'new' empty"),
        (rule("parameter-group", old="b&a"), "have to be sorted"),
        (rule("parameter-group", old="a&a"), "each once"),
        (rule("parameter-group", old="a&b", beside=("b",)), "other parameters"),
        (rule("parameter-mix", old="a"), "the names of two parameters"),
        (rule("parameter-mix", old="a&b", beside=("b",)), "other parameters"),
        (rule("parameter-default", old="page"), "as page=1"),
        (rule("parameter-default", old="=1"), "as page=1"),
        (rule("parameter-default", old="a=1&b"), "as page=1"),
        (rule("parameter-default", old="b=1&a=2"), "sorted by name"),
        (rule("parameter-default", old="a=1&a=2"), "each once"),
        (rule("parameter-default", old="a=1&b=2", beside=("b",)), "other parameters"),
        (rule("parameter-default", old="a=1", new="b"), "'new' empty"),
        (rule("parameter-default", old="a=1", beside=("a",)), "other parameters"),
        (rule("parameter-of-page", old="a=1", new="/a"), "a parameter's name"),
        (rule("parameter-of-page", new="/a"), "a parameter's name"),
        (rule("parameter-of-page", old="a"), "'new' has to be a path"),
        (rule("parameter-of-page", old="a", new="a"), "'new' has to be a path"),
        (rule("parameter-of-page", old="a", new="/a#b"), "'new' has to be a path"),
        (rule("parameter-of-page", old="a", new="/a?"), "other parameters"),
        (rule("parameter-of-page", old="a", new="/a?b=1&a=2"), "other parameters"),
        (rule("parameter-of-page", old="a", new="/a", beside=("b",)), "for the families"),
        (rule("path-slug", old="slug"), "one of id/slug, slug/id, id-slug, slug-id"),
        (rule("path-slug", old="id/slug", new="x"), "'new' empty"),
        (rule("session-segment", old="S"), "neither 'old' nor 'new'"),
        (rule("parameter-anywhere"), "'new' empty or 'any-case'"),
        (rule("parameter-anywhere", old="a=b"), "'new' empty or 'any-case'"),
        (rule("parameter-anywhere", old="a", new="b"), "'new' empty or 'any-case'"),
        (rule("parameter-anywhere", old="A", new="any-case"), "'old' has to be in lower case"),
        (rule("parameter-anywhere", old="a", beside=("b",)), "for the families"),
        (rule("query-selection", old="a"), "neither 'old' nor 'new'"),
        (rule("query-selection", beside=("b", "a")), "sorted"),
        (rule("query-selection", beside=("a&b",)), "sorted"),
        (rule("query-selection", beside=("",)), "sorted"),
    ],
)
def test_a_rule_that_its_family_does_not_allow_is_refused(broken: LearnedRule, says: str) -> None:
    with pytest.raises(RulesError) as caught:
        RuleSet([broken], "web/1", "rules.json")
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"rules.json: rule {broken.id} (")


@pytest.mark.parametrize(
    "circle",
    [
        [rule("host-alias", new="b.example"), rule("host-alias", "b.example", new="h.example")],
        [
            rule("www", new="www.h.example"),
            rule("host-alias", "www.h.example", new="c.example"),
            rule("host-alias", "c.example", new="h.example"),
        ],
        [rule("path-prefix", old="/a/", new="/b/"), rule("path-prefix", old="/b/", new="/a/")],
        [rule("path-prefix", old="/a/", new="/b/c/"), rule("path-prefix", old="/b/", new="/a/d/")],
        [rule("path-prefix", old="/a/", new="/B/"), rule("path-prefix", old="/b/", new="/a/")],
        [rule("path-prefix", old="/a/", new="/b/"), rule("path-prefix", old="/B/", new="/a/")],
    ],
)
def test_rules_that_form_a_circle_are_refused(circle: list[LearnedRule]) -> None:
    with pytest.raises(RulesError, match="leads back to itself through other rules; revoke one"):
        RuleSet(circle, "web/1")
    quiet = [*circle[:-1], rule(circle[-1].family, circle[-1].host, state="revoked",
                                old=circle[-1].old, new=circle[-1].new)]  # fmt: skip
    RuleSet(quiet, "web/1")


def test_rules_apply_together_and_explain_shows_their_evidence() -> None:
    make = with_rules(
        rule("scheme-upgrade"),
        rule("www", new="www.h.example"),
        rule("trailing-slash", "www.h.example", new="slash", evidence=Evidence(agree=57)),
        rule("parameter-irrelevant", "www.h.example", old="ref", beside=("id",)),
    )
    url = "http://H.example/a?ref=1&id=2#x"
    found = make(url)
    assert found.url == "http://h.example/a?ref=1&id=2", "no rule changes the request URL"
    assert found.identity == "https://www.h.example/a/?id=2"
    assert found.key == canonry.key("https://www.h.example/a/?id=2")
    trace = make.explain(url)
    assert trace.identity == found.identity
    assert trace.key == found.key
    learned = [step for step in trace.steps if step.name.startswith("learned-")]
    assert [step.name for step in learned] == [
        "learned-scheme-upgrade",
        "learned-www",
        "learned-trailing-slash",
        "learned-parameter-irrelevant",
    ]
    assert "57 pages agree, 0 disagree" in learned[2].why
    assert "RFC 3986 section 6.2.4; rule " in learned[2].cites
    assert all(one.after == two.before for one, two in zip(trace.steps, trace.steps[1:]))  # noqa: B905


def test_what_a_rule_makes_is_normalized_before_the_next_one() -> None:
    make = with_rules(
        rule("path-prefix", old="/a/", new="/B/"),
        rule("index-file", old="home.php", below="/b/"),
        policy="archive",
    )
    found = make.follow(PLAIN_ARCHIVE.identity("http://h.example/a/home.php"))
    assert found.identity == make.identity("http://h.example/a/home.php") == "http://h.example/b"
    assert [rule.family for rule in found.rules] == ["path-prefix", "index-file"]
    assert [after for _rule, _before, after in found.changes] == [
        "http://h.example/b/home.php",
        "http://h.example/b",
    ]


def test_all_methods_give_the_same_identity() -> None:
    make = with_rules(rule("scheme-upgrade"))
    given_urls = ["http://h.example/a", b"http://h.example/b", "http://o.example/", "nothing"]
    found = list(make.many(given_urls))
    assert [type(one) for one in found[:3]] == [canonry.Canonical] * 3
    assert isinstance(found[3], Refused)
    assert found[:3] == [make(url) for url in given_urls[:3]]
    assert found[:3] == [make.plain(url) for url in given_urls[:3]]
    assert [one.identity for one in found[:3]] == [make.identity(url) for url in given_urls[:3]]  # type: ignore[union-attr]
    assert make("a", "http://h.example/").identity == "https://h.example/a"
    assert make.surt("http://h.example/a") == "example,h)/a"


def test_a_rule_for_subdomains_has_exceptions() -> None:
    make = with_rules(rule("scheme-upgrade", subdomains=True, but=("old.h.example",)))
    assert make.identity("http://a.b.h.example/") == "https://a.b.h.example/"
    assert make.identity("http://h.example/") == "https://h.example/"
    assert make.identity("http://old.h.example/") == "http://old.h.example/"
    assert make.identity("http://oh.example/") == "http://oh.example/"


SITES = ["h.example", "h.example:8080", "localhost", "127.0.0.1", "127.0.0.1:8000", "[::1]:8000"]


@pytest.mark.parametrize("site", SITES)
def test_a_rule_is_about_one_site_and_never_about_a_wider_one(site: str) -> None:
    make = with_rules(rule("trailing-slash", site, new="bare"))
    for scheme in ("http", "https"):
        for other in [*SITES, "a.h.example", "a.localhost", "[::1]", "127.0.0.1:8001"]:
            bare = f"{scheme}://{other}/a"
            assert make.identity(f"{bare}/") == (bare if other == site else f"{bare}/")
            assert make.identity(f"{scheme}://u@{other}/a/") == f"{scheme}://u@{other}/a/"


def test_only_active_rules_count() -> None:
    rules = [rule("letter-case"), rule("double-slash", state="candidate")]
    assert len(RuleSet(rules, "web/1")) == 1
    assert len(RuleSet(rules[1:], "web/1")) == 0


def test_rules_of_another_policy_are_refused() -> None:
    rules = RuleSet([rule("scheme-upgrade")], "web/1", "r.json")
    with pytest.raises(RulesError, match=r"r\.json: learned under policy web@1, not search@1"):
        Canonicalizer("search", rules)


def test_a_written_file_can_be_read_again() -> None:
    rules = RuleSet(
        [
            rule("trailing-slash", new="bare", state="suspended"),
            rule(
                "parameter-irrelevant",
                old="ref",
                beside=("id",),
                evidence=Evidence(agree=5, samples=(("http://a", "http://b"),)),
            ),
        ],
        "web/1",
    )
    text = rules.dumps()
    again = loads(text)
    assert again.dumps() == text
    assert set(again.rules) == set(rules.rules)
    assert again.policy == "web/1"
    make = Canonicalizer("web", text)
    assert make.identity("http://h.example/a?id=1&ref=2") == "http://h.example/a?id=1"
    assert make.identity("http://h.example/a/") == "http://h.example/a/", "it is suspended"


@each(
    ("change", "says"),
    [
        (lambda f: f.update(format="x"), "'format' has to be 'canonry-rules'"),
        (lambda f: f.update(version=2), "'version': this program reads version 1"),
        (lambda f: f.update(more=1), "no key 'more'; allowed: format, version, policy, rules"),
        (lambda f: f.update(policy=None), "'policy' has to be a text"),
        (lambda f: f.update(rules={}), "'rules' a list"),
        (lambda f: f["rules"].append(7), "rule 2: it has to be an object with the keys host"),
        (lambda f: f["rules"][0].pop("host"), "): key 'host': it is missing; allowed are host"),
        (
            lambda f: f["rules"][0].update(pattern=".*"),
            "no key is called pattern; allowed are",
        ),
        (
            lambda f: f["rules"][0].update(state="eager"),
            '"eager" was given; allowed is ',
        ),
        (lambda f: f["rules"][0].update(family="x"), "rule 1: there is no family 'x'"),
        (lambda f: f["rules"][0].update(new="slash"), "leave 'id' out when you change a rule"),
    ],
)
def test_an_invalid_file_is_refused(change: object, says: str) -> None:
    content = json.loads(RuleSet([rule("trailing-slash", new="bare")], "web/1").dumps())
    change(content)  # type: ignore[operator]
    with pytest.raises(RulesError) as caught:
        loads(json.dumps(content), "my.json")
    assert says in str(caught.value)
    assert str(caught.value).startswith("my.json: ")


@pytest.mark.parametrize("text", ["", "[]", "{", b"\xff\xfe", "null"])
def test_text_that_is_no_file_of_rules_is_refused(text: str | bytes) -> None:
    with pytest.raises(RulesError, match="rules: no"):
        loads(text)


HOSTS = ["h.example", "www.h.example", "o.example", "a.h.example", "h.example:8080", "127.0.0.1"]
PREFIXES = ["/", "/a/", "/b/", "/a/b/", "/A/", "/c/"]
BITS = ["/", "/a", "/b", "/A", "/c", "/index.html", "/x.y", "//", ";a=1", ";b", "/..;a", "/(S(a))"]
OLD = {  # what families replace; that is nothing if they are not named here
    "index-file": ["index.html"],
    "path-prefix": PREFIXES,
    "path-parameter": ["a", "b"],
    "parameter-irrelevant": ["a", "b"],
    "parameter-anywhere": ["a", "b"],
    "parameter-group": ["a&b", "a&c"],
    "parameter-mix": ["a&b", "a&b&c"],
    "parameter-default": ["a=1", "b=2", "a=1&b=2"],
    "parameter-of-page": ["a", "b"],
}
NEW = {  # what they put there
    "path-prefix": PREFIXES,
    "trailing-slash": ["slash", "bare", "file"],
    "parameter-anywhere": ["", "any-case"],
    "parameter-of-page": ["/", "/a", "/a?b=1", "/a/b?c=2&a"],
    "www": HOSTS,
    "host-alias": HOSTS,
}
BESIDE = [(), ("b",), ("a", "c")]
rewrites = st.one_of(
    st.builds(
        Rewrite,
        host=st.sampled_from(HOSTS),
        family=st.just(family),
        below=st.sampled_from(["/", "/a/"]),
        old=st.sampled_from(OLD.get(family, [""])),
        new=st.sampled_from(NEW.get(family, [""])),
        beside=st.sampled_from(BESIDE if family in WITH_NAMES else [()]),
        subdomains=st.booleans(),
    )
    for family in sorted(FAMILIES)
).filter(lambda rewrite: fault(rewrite) is None)
rule_sets = st.lists(rewrites, max_size=8, unique=True).filter(lambda s: find_circle(s) is None)
their_urls = st.builds(
    lambda scheme, host, path, query: f"{scheme}://{host}{path}{query}",
    st.sampled_from(["http", "https"]),
    st.sampled_from(HOSTS),
    st.lists(st.sampled_from(BITS), max_size=5).map("".join),
    st.sampled_from(["", "?a=1", "?b=1&a=2", "?a=1&c=2&a", "?b", "?", "?a=1#x"]),
)


@given(rule_sets, st.one_of(their_urls, urls), st.sampled_from(["web", "search", "archive"]))
@settings(max_examples=tries(1.5))
@example(
    [
        Rewrite("h.example", "path-prefix", old="/A/", new="/c/"),
        Rewrite("h.example", "letter-case"),
    ],
    "http://h.example/A/x",
    "web",
)
def test_sets_that_pass_the_checks_terminate(
    given_rewrites: list[Rewrite], url: str, policy: str
) -> None:
    rules = [LearnedRule(**to_fields(rewrite)) for rewrite in given_rewrites]
    make = with_rules(*rules, policy=policy)
    try:
        identity = make.identity(url)
    except InvalidURL:
        return
    assert make.identity(identity) == identity, "learned rules are idempotent"
    trace = make.explain(url)
    assert trace.identity == identity
    assert make(url).identity == identity
    assert Canonicalizer(policy)(url).url == make(url).url


changes = st.lists(
    st.tuples(rewrites, st.sampled_from(["active", "suspended", "revoked"])), max_size=12
)


@given(changes, st.integers(0, 12), st.integers(0, 12))
@settings(max_examples=tries(0.2))
@example(  # the exceptions of a rule for subdomains change, not its id
    [
        (Rewrite("h.example", "letter-case", subdomains=True), "active"),
        (Rewrite("h.example", "letter-case", subdomains=True, but=("a.h.example",)), "active"),
    ],
    1,
    2,
)
def test_a_set_with_changes_does_what_one_does_that_is_made_anew(
    given_changes: list[tuple[Rewrite, str]], one: int, two: int
) -> None:
    """Three times some rules change; what was looked up before has no effect."""
    rules = [LearnedRule(**to_fields(said), state=state) for said, state in given_changes]
    changed = RuleSet([], "web/1")
    final: dict[str, LearnedRule] = {}
    for part in (rules[:one], rules[one : one + two], rules[one + two :]):
        final |= {rule.id: rule for rule in part}
        try:
            made = RuleSet(final.values(), "web/1")
        except RulesError as error:
            with pytest.raises(RulesError, match=re.escape(str(error).rpartition(":")[2])):
                changed.with_changes(part)
            return
        before, earlier = changed, [changed.steps_on(site) for site in HOSTS]
        changed = changed.with_changes(part)
        assert set(changed.rules) == set(made.rules)
        assert set(changed.active) == set(made.active)
        assert changed.wide == made.wide
        assert changed.dumps() == made.dumps()
        for site in HOSTS:
            assert changed.on(site) == made.on(site)
            assert changed.covers(site) == bool(made.on(site))
            assert [s.rule for s in changed.steps_on(site)] == list(made.on(site))
        assert [s.rule for steps in earlier for s in steps] == [
            s.rule for site in HOSTS for s in before.steps_on(site)
        ], "a set is immutable"


def test_a_change_that_its_family_does_not_allow_is_refused() -> None:
    with pytest.raises(RulesError, match="there is no family 'x'"):
        RuleSet([], "web/1").with_changes([LearnedRule(host="h.example", family="x")])


class Unmarked(RuleSet):
    """Rules that try every URL: the oracle for prefilters."""

    def steps_on(self, site: str) -> tuple[Any, ...]:
        """Return the steps with a prefilter that every URL passes."""
        return tuple(step._replace(prefilter=bool) for step in super().steps_on(site))


@given(rule_sets, st.one_of(their_urls, urls), st.sampled_from(["web", "search", "archive"]))
@settings(max_examples=tries(1.5))
def test_a_url_without_the_mark_of_any_rule_is_changed_by_none(
    given_rewrites: list[Rewrite], url: str, policy: str
) -> None:
    rules = [LearnedRule(**to_fields(rewrite)) for rewrite in given_rewrites]
    plain = Canonicalizer(policy)
    try:
        identity = plain.identity(url)
    except InvalidURL:
        return
    label = preset(policy).label
    found = follow(RuleSet(rules, label), identity, plain.identity)
    assert found == follow(Unmarked(rules, label), identity, plain.identity)
    for rewrite in given_rewrites:
        for parts in (Parts.of(url), Parts.of(identity)):
            family = FAMILIES[rewrite.family]
            # Only sites have rules
            if site_of(parts) and family.apply(parts, rewrite) is not parts:
                assert family.prefilter(rewrite)(str(parts))


def test_most_urls_lack_the_marks_of_rules() -> None:
    """Else they would be split for nothing."""
    slash, sid = rule("trailing-slash", new="file"), rule("path-parameter", old="sid")
    rules = RuleSet([slash, sid], "web/1")
    prefilters = [step.prefilter for step in rules.steps_on("h.example")]
    assert any(may_change("http://h.example/a.html/") for may_change in prefilters)
    assert not any(may_change("http://h.example/a.html?b=/x") for may_change in prefilters)


def test_a_set_that_never_terminates_leaves_the_url_alone() -> None:
    """The check reads only the fields of rules; if it misses a circle, the URL stays as it is."""
    rules = RuleSet([rule("host-alias", new="b.example")], "web/1")
    back = RuleSet([rule("host-alias", "b.example", new="h.example")], "web/1")
    rules._own.update(back._own)  # noqa: SLF001 - the fault is planted
    assert follow(rules, "http://h.example/a", PLAIN.identity).identity == "http://h.example/a"
    assert follow(rules, "http://b.example/a", PLAIN.identity).identity == "http://b.example/a"
