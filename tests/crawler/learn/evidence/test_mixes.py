"""Tests of rules about parameters that select nothing, whichever of them a link has."""

import random
from collections.abc import Callable, Iterable

import pytest
from msgspec.structs import replace
from support.repeated_pages import decided, learn

from canonry.canon.learned import LearnedRule, Rewrite, RuleSet, follow
from canonry.crawler.learn.evidence.mixes import is_within
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.news import Answered, Moved

H = "http://h.example"
NAMES = ("cur", "from", "pos", "ref", "view")
ALL = "&".join(NAMES)
Body = Callable[[int, dict[str, str]], str]  # of a page, by its number and parameters


def mixed(
    count: int, body: Body = lambda n, _given: str(n), names: Iterable[str] = NAMES, seed: int = 1
) -> list[Answered]:
    """Return the answers of so many links to forty pages, each with some of the parameters."""
    rng = random.Random(seed)
    found: dict[str, Answered] = {}
    for at in range(count):
        n = rng.randrange(40)
        given = {name: rng.choice("xyz") for name in names if rng.random() < 0.4}
        url = f"{H}/item?" + "&".join([f"id={n}", *(f"{k}={v}" for k, v in given.items())])
        digest = body(n, given).encode()
        found.setdefault(url, Answered(url, digest, float(at)))
    return list(found.values())


def active(one: Learner, family: str = "parameter-mix") -> set[tuple[str, tuple[str, ...]]]:
    """Return the active rules of a family: what they drop, and beside what."""
    found = [r for r in one.rules("h.example") if r.rewrite.family == family]
    return {(r.rewrite.old, r.rewrite.beside) for r in found if r.state == "active"}


@pytest.mark.parametrize("seed", range(4))
def test_one_rule_takes_the_place_of_one_for_each_set(seed: int) -> None:
    one = decided(mixed(400, seed=seed))
    assert (ALL, ("id",)) in active(one)
    undecided = [r for r in one.rules("h.example") if r.state in {"candidate", "probation"}]
    mix = Rewrite("h.example", "parameter-mix", old=ALL, beside=("id",))
    assert not [rule for rule in undecided if is_within(mix, rule.rewrite)], "they are let go"


def test_a_mix_is_found_where_no_link_is_without_them() -> None:
    """Then all rules are about one of them beside others: beside each other, and the identifier."""
    news = [one for one in mixed(900) if one.url.count("&") > 1]
    assert (ALL, ("id",)) in active(decided(news))


def test_mixes_beside_different_parameters_are_different_rules() -> None:
    lists = [one._replace(url=one.url.replace("item?id", "list?cat")) for one in mixed(400, seed=5)]
    both = sorted([*mixed(400), *lists], key=lambda one: one.at)
    assert active(decided(both)) >= {(ALL, ("id",)), (ALL, ("cat",))}


@pytest.mark.parametrize("seed", range(4))
def test_a_parameter_that_selects_is_in_no_mix(seed: int) -> None:
    def body(n: int, given: dict[str, str]) -> str:
        return f"{n} {given.get('cur')}"

    one = decided(mixed(700, body, seed=seed))
    assert all("cur" not in old.split("&") for old, _beside in active(one))
    assert (ALL.removeprefix("cur&"), ("id",)) in active(one)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("count", [150, 300, 700])
def test_two_parameters_that_select_only_together_are_in_no_mix(seed: int, count: int) -> None:
    """As ``search=1`` and ``q=x``: each alone shows the page, and both show something else."""

    def body(n: int, given: dict[str, str]) -> str:
        return f"{n} {given['from']}" if {"from", "view"} <= given.keys() else str(n)

    one = decided(mixed(count, body, seed=seed))
    assert not [old for old, _beside in active(one) if {"from", "view"} <= set(old.split("&"))]


def fours(count: int, seed: int = 1) -> list[Answered]:
    """Return the answers of links that each have four of eight parameters: none has all of another.

    They are to forty pages.
    """
    rng, found = random.Random(seed), dict[str, Answered]()
    for at in range(count):
        n, given = rng.randrange(40), sorted(rng.sample("abcdefgh", 4))
        url = f"{H}/item?" + "&".join([f"id={n}", *(f"{name}=x" for name in given)])
        found.setdefault(url, Answered(url, b"%d" % n, float(at)))
    return list(found.values())


@pytest.mark.parametrize("seed", range(4))
def test_pages_of_which_each_has_what_the_other_lacks_show_a_mix(seed: int) -> None:
    """There is no rule about one set of names: no page has just these more than another."""
    assert ("a&b&c&d&e&f&g&h", ("id",)) in active(decided(fours(400, seed)))


@pytest.mark.parametrize("seed", range(6))
def test_a_parameter_that_selects_now_and_then_is_in_no_mix(seed: int) -> None:
    """On one page of twenty: the mix of all names is contradicted, and shows which one it is."""

    def body(n: int, given: dict[str, str]) -> str:
        return f"{n} {n % 20 == 3 and 'cur' in given}"

    found = active(decided(mixed(900, body, seed=seed)))
    assert all("cur" not in old.split("&") for old, _beside in found)
    assert {beside for _old, beside in found} >= {("id",), ("cur", "id")}


def test_two_parameters_that_were_never_seen_together_are_in_no_mix() -> None:
    """Nobody knows what they do together."""
    news = [one for one in mixed(900) if not ("from=" in one.url and "view=" in one.url)]
    one = decided(news)
    found = active(one)
    assert found, "the others are"
    assert not [old for old, _beside in found if {"from", "view"} <= set(old.split("&"))]
    assert [r.held_back for r in one.rules("h.example") if r.rewrite.old == ALL] == ["unproven"]


def test_a_parameter_that_is_seldom_there_is_left_out() -> None:
    seldom = [
        one._replace(url=f"{one.url}&x={n}", at=one.at + 0.5)
        for n, one in enumerate(mixed(200, seed=8)[::10])
    ]
    found = active(decided(sorted([*mixed(400), *seldom], key=lambda one: one.at)))
    assert (ALL, ("id",)) in found
    assert not [old for old, _beside in found if "x" in old.split("&")]


def test_what_is_the_same_in_both_pages_proves_nothing() -> None:
    """All links have ``pos=1``, so nothing tells whether ``pos=2`` is another page."""
    news = mixed(500, names=("cur", "from", "ref", "view"))
    always = [one._replace(url=f"{one.url}&pos=1") for one in news]
    assert active(decided(always)) == {("cur&from&ref&view", ("id", "pos"))}


def test_redirects_to_the_page_without_them_prove_a_mix() -> None:
    moved: list[Answered | Moved] = []
    for one in mixed(400):
        bare = one.url.partition("&")[0]
        moved.append(one if one.url == bare else Moved(one.url, bare, one.at))
    assert active(decided(moved)) == {(ALL, ("id",))}


def test_a_canonical_link_that_keeps_one_of_them_contradicts_a_mix() -> None:
    news: list[Answered | Moved] = []
    for one in mixed(500):
        fields = one.url.partition("?")[2].split("&")
        kept = [field for field in fields if field.startswith(("id=", "view="))]
        news += [one, Moved(one.url, f"{H}/item?{'&'.join(kept)}", one.at, "canonical")]
    found = active(decided(news))
    assert not [old for old, _beside in found if "view" in old.split("&")]


def test_an_active_mix_is_suspended_by_what_contradicts_it() -> None:
    news = mixed(400)
    one = decided(news)
    assert (ALL, ("id",)) in active(one)
    at = 1e4
    for n in range(3):
        one.observe(Answered(f"{H}/item?id={n}&view=other", b"another %d" % n, at + n))
        one.decide(at + n)
    assert not active(one)
    names = {
        r.rewrite.old for r in one.rules("h.example") if r.agree and r.rewrite.beside == ("id",)
    }
    assert {*NAMES} <= names, "the rules that it took the place of are looked at again"


def test_pages_that_are_never_twice_the_same_are_asked_twice_where_each_set_has_few() -> None:
    """No rule about one set has many pages in doubt; all of them together do."""
    words = [f"{a}{b}{c}" for a in "klmn" for b in "aeiou" for c in "rstv"]
    tokens = random.Random(3)

    def page(url: str) -> bytes:
        n = int(url.partition("id=")[2].partition("&")[0])
        text = " ".join(random.Random(n).choices(words, k=80))
        return f"<title>Item {n}</title><p>{text}<p>token {tokens.getrandbits(48):x}0".encode()

    urls = [one.url for one in mixed(400)]
    one = learn({url: lambda url=url: page(url) for url in urls})  # type: ignore[misc]
    assert (ALL, ("id",)) in active(one)


def test_what_a_mix_changes() -> None:
    mix = Rewrite("h.example", "parameter-mix", old="a&b&c", beside=("id",))

    def single(family: str, old: str, *beside: str) -> Rewrite:
        return Rewrite("h.example", family, old=old, beside=beside)

    assert is_within(mix, single("parameter-irrelevant", "a", "id"))
    assert is_within(mix, single("parameter-irrelevant", "a", "b", "id"))
    assert is_within(mix, single("parameter-group", "a&b", "id"))
    assert is_within(mix, single("parameter-mix", "a&b", "id"))
    assert not is_within(mix, mix)
    assert not is_within(mix, single("parameter-irrelevant", "a"))
    assert not is_within(mix, single("parameter-irrelevant", "a", "id", "x"))
    assert not is_within(mix, single("parameter-group", "a&x", "id"))
    assert not is_within(mix, single("parameter-default", "a=1", "id"))
    wide = replace(single("parameter-irrelevant", "a", "id"), subdomains=True)
    assert not is_within(mix, wide), "it is about other hosts, too"
    assert not is_within(mix, Rewrite("o.example", "parameter-irrelevant", old="a", beside=("id",)))


def test_a_mix_runs_before_rules_about_single_parameters() -> None:
    rules = [
        LearnedRule("h.example", family, old=old, beside=beside, state="active")
        for family, old, beside in (
            ("parameter-irrelevant", "a", ("b", "id")),
            ("parameter-mix", "a&b", ("id",)),
        )
    ]
    end, changes = follow(RuleSet(rules, "web/1"), f"{H}/p?a=1&b=2&id=3", lambda url: url)
    assert end == f"{H}/p?id=3"
    assert [rule.family for rule, _before, _after in changes] == ["parameter-mix"]
