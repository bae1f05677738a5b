"""The learner: rewrites inferred from pairs, what is not evidence, and the life of a rule."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.strategies import share, tries

from canonry.canon.learned.families import act
from canonry.canon.learned.rewrite import Rewrite
from canonry.canon.learned.validate import fault
from canonry.canon.syntax import Parts
from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.evidence.body_comparison import Answered
from canonry.crawler.learn.evidence.infer import rewrites_between, rewrites_from
from canonry.crawler.learn.learner import Learner, Moved
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.lifecycle import lower_bound, next_state
from canonry.crawler.settings import SettingsError
from canonry.storage.learned.tracked_rule import TrackedRule

LIMITS = thresholds.load()
H = "http://h.example"


def read(source: str, target: str) -> list[str]:
    """Return the rewrites of a pair, abbreviated."""
    return [
        " ".join([rewrite.family, *filter(None, (rewrite.old, rewrite.new)), *rewrite.beside])
        for rewrite in rewrites_from(Parts.of(source), Parts.of(target))
    ]


@pytest.mark.parametrize(
    ("source", "target", "rewrites"),
    [
        (f"{H}/a", "https://h.example/a", ["scheme-upgrade"]),
        (f"{H}/a", "http://www.h.example/a", ["www www.h.example"]),
        ("http://www.h.example/a", f"{H}/a", ["www h.example"]),
        (f"{H}/a", "http://other.example/a", ["host-alias other.example"]),
        ("http://old.shop.com/a", "http://new.shop.com/a", ["host-alias new.shop.com"]),
        ("http://shop.com/a", "http://shop.org/a", ["host-alias shop.org"]),
        (f"{H}/a", f"{H}/a/", ["trailing-slash slash"]),
        (f"{H}/a/", f"{H}/a", ["trailing-slash bare"]),
        (f"{H}/a.html/", f"{H}/a.html", ["trailing-slash file"]),
        (f"{H}/a/index.php", f"{H}/a/", ["index-file index.php"]),
        (f"{H}/a/index.php", f"{H}/a", ["index-file index.php", "trailing-slash bare"]),
        (f"{H}/About", f"{H}/about", ["letter-case"]),
        (f"{H}/a//b", f"{H}/a/b", ["double-slash"]),
        (f"{H}/old/a/b", f"{H}/new/a/b", ["path-prefix /old/ /new/"]),
        (f"{H}/cms/a", f"{H}/a", ["path-prefix /cms/ /"]),
        (f"{H}/a?id=1&ref=2", f"{H}/a?id=1", ["parameter-irrelevant ref id"]),
        (f"{H}/a?x=1&ref=2", f"{H}/a", ["parameter-irrelevant ref x", "parameter-irrelevant x"]),
        (f"{H}/a?b=1&a=2", f"{H}/a?a=2&b=1", ["parameter-order"]),
        (f"{H}:8080/a", f"{H}:8080/a/", ["trailing-slash slash"]),
        ("http://127.0.0.1:8000/a?s=1", "http://127.0.0.1:8000/a", ["parameter-irrelevant s"]),
        ("https://[::1]/A", "https://[::1]/a", ["letter-case"]),
        ("http://localhost/old/a", "http://localhost/new/a", ["path-prefix /old/ /new/"]),
        (
            f"{H}/A//b?s=1",
            "https://www.h.example/a/b/",
            [
                "scheme-upgrade",
                "double-slash",
                "letter-case",
                "trailing-slash slash",
                "parameter-irrelevant s",
                "www www.h.example",
            ],
        ),
    ],
)
def test_rewrites_of_a_pair(source: str, target: str, rewrites: list[str]) -> None:
    assert read(source, target) == rewrites


@pytest.mark.parametrize(
    ("source", "target"),
    [
        (f"{H}/deep/page", f"{H}/"),  # home
        (f"{H}/deep/page", "https://h.example/"),
        (f"{H}/a", f"{H}/b"),
        (f"{H}/a", f"{H}/login?next=%2Fa"),  # walls
        (f"{H}/a/b", f"{H}/login/a/b"),
        (f"{H}/a", "http://consent.example/a"),
        (f"{H}/a", "http://login.h.example/a"),
        (f"{H}/a", f"{H}/en/a"),  # languages and places
        (f"{H}/en/a", f"{H}/de/a"),
        (f"{H}/x/en/a", f"{H}/x/en-gb/a"),
        (f"{H}/a", "http://de.h.example/a"),
        ("http://en.wiki.example/a", "http://de.wiki.example/a"),
        ("http://example.com/a", "http://example.de/a"),
        ("http://example.co.uk/a", "http://example.fr/a"),
        ("http://www.example.com/a", "http://example.fr/a"),
        (f"{H}/docs/x.pdf", "http://other.example/files/77/x.pdf"),  # page by page
        (f"{H}/a?id=1", f"{H}/a?id=2"),
        (f"{H}/a?id=1", f"{H}/a?id=1&session=9"),
        (f"{H}/a?b=1&a=2&c=3", f"{H}/a?c=3&b=1"),
        ("https://h.example/a", f"{H}/a"),  # down again
        (f"{H}:8080/a", f"{H}/a"),  # a port, or an address, is a site of its own
        (f"{H}/a", f"{H}:8080/a"),
        (f"{H}:8080/a", "https://h.example:8443/a"),
        (f"{H}:8080/a", "https://h.example:8080/a"),
        (f"{H}:8080/a", "http://www.h.example:8080/a"),
        ("http://127.0.0.1/a", "https://127.0.0.1/a"),
        ("http://127.0.0.1/a", "http://127.0.0.2/a"),
        ("http://localhost/a", "https://localhost/a"),
        ("http://u@h.example/a", f"{H}/a"),
        ("ftp://h.example/a", f"{H}/a"),
        ("http://127.0.0.1/a", f"{H}/a"),
        (f"{H}/a", f"{H}/a"),
    ],
)
def test_pairs_that_no_rewrite_explains(source: str, target: str) -> None:
    assert read(source, target) == []


def test_equal_bodies_lead_to_rewrites_in_one_direction() -> None:
    one, other = Parts.of(f"{H}/a?id=1&s=x"), Parts.of(f"{H}/a?id=1&s=y")
    assert rewrites_between(one, other) == rewrites_between(other, one)
    assert rewrites_between(one, other)[0] == Rewrite(
        "h.example", "parameter-irrelevant", old="s", beside=("id",)
    )
    one, other = Parts.of(f"{H}/a"), Parts.of(f"{H}/a/")
    assert rewrites_between(one, other) == rewrites_between(other, one)
    assert rewrites_between(Parts.of(f"{H}/a?x=1&y=1"), Parts.of(f"{H}/a?x=2&y=2")) == ()


_PATHS = st.lists(st.sampled_from(["a", "B", "index.html", "x.y", ""]), max_size=4).map(
    lambda segments: "/" + "/".join(segments)
)
_QUERIES = st.sampled_from([None, "a=1", "b=1&a=1", "a=1&b=1", "a=1&b=2&c", "c"])
_PARTS = st.builds(
    lambda scheme, site, path, query: Parts.of(f"{scheme}://{site}{path}")._replace(query=query),
    st.sampled_from(["http", "https"]),
    st.sampled_from(["h.example", "www.h.example", "o.example", "h.example:8080", "127.0.0.1"]),
    _PATHS,
    _QUERIES,
)


def test_many_pairs_have_rewrites() -> None:
    """Otherwise the law below would test nothing."""
    assert share(st.tuples(_PARTS, _PARTS), lambda pair: bool(rewrites_from(*pair))) > 0.08


@given(_PARTS, _PARTS)
@settings(max_examples=tries(3))
def test_rewrites_lead_from_the_source_to_the_target(source: Parts, target: Parts) -> None:
    parts = source
    for rewrite in rewrites_from(source, target):
        assert fault(rewrite) is None
        after = act(rewrite, parts)
        assert after is not parts
        parts = after
    if parts is not source:
        assert parts == target


def test_the_bound_is_wilsons() -> None:
    """The figures that DESIGN and config/learning.toml quote; others computed with scipy."""
    assert [round(lower_bound(n, 0), 2) for n in (5, 16, 35, 52)] == [0.57, 0.81, 0.90, 0.93]
    assert round(lower_bound(8, 2), 4) == 0.4902
    assert round(lower_bound(50, 50), 4) == 0.4038
    assert lower_bound(0, 0) == 0.0
    assert lower_bound(0, 9) == 0.0


def learner() -> Learner:
    return Learner(LIMITS, registrable)


def observe(one: Learner, *news: Moved | Answered) -> list[tuple[str, str]]:
    """Pass news to a learner one by one; return the states that rules entered."""
    entered = []
    for item in news:
        one.observe(item)
        for rule, _before in one.decide(item.at).state_changes:
            entered.append((rule.rewrite.family + rule.rewrite.below, rule.state))
    return entered


def moves(count: int, start: int = 0, at: float = 0.0) -> list[Moved]:
    """Return redirects that add a slash, at the top level of a host."""
    return [Moved(f"{H}/p{n}", f"{H}/p{n}/", at + n) for n in range(start, start + count)]


def test_the_life_of_a_rule() -> None:
    one = learner()
    assert observe(one, *moves(4)) == []
    assert observe(one, *moves(1, 4)) == [("trailing-slash/", "probation")]
    assert observe(one, *moves(29, 5)) == []
    assert observe(one, *moves(1, 34)) == [("trailing-slash/", "active")]
    assert observe(one, Answered(f"{H}/page", b"1", 40.0)) == [("trailing-slash/", "suspended")]
    assert observe(one, *moves(16, 100)) == [], "after evidence against it, a rule needs much more"
    assert observe(one, Answered(f"{H}/other", b"2", 200.0)) == [("trailing-slash/", "revoked")]
    assert observe(one, *moves(500, 200)) == [], "and it is not learned again"


def test_each_path_counts_once() -> None:
    one = learner()
    same = [Moved(f"{H}/p?n={n}", f"{H}/p/?n={n}", float(n)) for n in range(50)]
    assert observe(one, *same) == []
    [rule] = one.rules("h.example")
    assert rule.agree == 1


def test_a_rule_has_to_predict_before_it_is_active() -> None:
    """All evidence together may be enough while that of the probation alone is not."""
    rule = TrackedRule(
        Rewrite("h.example", "trailing-slash", new="slash"), agree=60, state="probation"
    )
    limits = LIMITS.family["trailing-slash"]
    assert next_state(rule, limits) == "probation"
    rule.trial_agree = 15
    assert next_state(rule, limits) == "probation"
    rule.trial_agree = 16
    assert next_state(rule, limits) == "active"
    rule.trial_disagree = rule.disagree = 1
    assert next_state(rule, limits) == "probation"


def test_a_host_alias_takes_longer_than_an_outage() -> None:
    one = learner()
    elsewhere = [Moved(f"{H}/p{n}", f"http://spare.example/p{n}", float(n)) for n in range(100)]
    assert observe(one, *elsewhere) == [("host-alias/", "probation")]
    later = Moved(f"{H}/late", "http://spare.example/late", 3601.0)
    assert observe(one, later) == [("host-alias/", "active")]


def test_a_redirect_to_another_host_is_evidence_for_the_host_alias_only() -> None:
    one = learner()
    observe(one, *(Moved(f"{H}/p{n}", f"https://o.example/p{n}/", float(n)) for n in range(9)))
    assert {rule.rewrite.family for rule in one.rules("h.example")} == {"host-alias"}


def test_redirects_in_both_directions_freeze_a_rule() -> None:
    one = learner()
    observe(one, *moves(20))
    back = [Moved(f"{H}/q{n}/", f"{H}/q{n}", 50.0 + n) for n in range(3)]
    assert ("trailing-slash/", "frozen") in observe(one, *back)
    observe(one, *moves(100, 100))
    whole = [rule for rule in one.rules("h.example") if rule.rewrite.below == "/"]
    states = {rule.rewrite.new: rule.state for rule in whole}
    assert states == {"slash": "frozen", "bare": "frozen"}


def test_a_canonical_link_is_evidence_for_a_rule_and_never_against_one() -> None:
    one = learner()
    observe(one, *moves(10))
    observe(one, Moved(f"{H}/c", f"{H}/c/", 20.0, "canonical"))
    observe(one, Moved(f"{H}/list?page=2", f"{H}/list", 21.0, "canonical"))
    observe(one, Moved(f"{H}/d", f"{H}/somewhere", 22.0, "canonical"))
    [slash] = [c for c in one.rules("h.example") if c.rewrite.family == "trailing-slash"]
    assert (slash.agree, slash.disagree, slash.moved) == (11, 0, 10)


def bodies(kind: str, count: int = 60) -> list[Answered]:
    """Return answers of pages with and without a parameter."""
    found = []
    for n in range(count):
        one = b"%d" % n
        other = {"equal": one, "differ": one + b"x", "some": one + b"x" * (n % 10 == 9)}[kind]
        found.append(Answered(f"{H}/a?id={n}", one, float(n)))
        found.append(Answered(f"{H}/a?id={n}&s=x", other, float(n)))
    return found


def test_equal_bodies_are_evidence_and_others_are_not() -> None:
    assert observe(learner(), *bodies("equal")) == [
        ("parameter-irrelevant/", "probation"),
        ("parameter-irrelevant/", "active"),
    ]
    assert observe(learner(), *bodies("differ")) == []
    assert ("parameter-irrelevant/", "active") not in observe(learner(), *bodies("some", 120))


def test_order_does_not_matter() -> None:
    news = bodies("equal")
    random.Random(1).shuffle(news)
    assert ("parameter-irrelevant/", "active") in observe(learner(), *news)


def test_a_body_that_answers_for_everything_is_no_evidence() -> None:
    one = learner()
    sorry = [Answered(f"{H}/p{n}{end}", b"sorry", float(n)) for n in range(60) for end in ("", "/")]
    assert observe(one, *sorry) == []


def test_the_body_of_a_missing_page_is_no_evidence() -> None:
    one = learner()
    pair = [Answered(f"{H}/p1", b"sorry", 0.0), Answered(f"{H}/p1/", b"sorry", 1.0)]
    observe(one, *pair)
    assert one.wants_probe("h.example")
    assert not one.wants_probe("h.example"), "once"
    assert not one.wants_probe("o.example")
    one.observe_missing("h.example", b"sorry")
    observe(one, Answered(f"{H}/p2", b"sorry", 2.0), Answered(f"{H}/p2/", b"sorry", 3.0))
    assert [rule.agree for rule in one.rules("h.example")] == [1]


def test_hsts_is_strong_evidence() -> None:
    one = learner()
    news: list[Moved | Answered] = [Answered("https://h.example/", b"x", 0.0, hsts=True)]
    news += [Moved(f"{H}/{n}", f"https://h.example/{n}", float(n)) for n in range(6)]
    assert observe(one, *news) == [("scheme-upgrade/", "probation"), ("scheme-upgrade/", "active")]


def test_a_part_of_a_host_can_have_a_rule_that_the_whole_has_not() -> None:
    one = learner()
    news: list[Moved | Answered] = []
    for n in range(60):
        news.append(Moved(f"{H}/docs/{n}", f"{H}/docs/{n}/", float(n)))
        news.append(Answered(f"{H}/api/{n}", b"%d" % n, float(n)))
    assert ("trailing-slash/docs/", "active") in observe(one, *news)
    assert {c.rewrite.below for c in one.rules("h.example") if c.state == "active"} == {"/docs/"}


def test_the_first_predictions_in_a_new_part_are_verified() -> None:
    one = learner()
    observe(one, *moves(60))
    [rule] = [c for c in one.rules("h.example") if c.state == "active"]
    rules = [rule.as_learned()]
    verified = [one.is_verified(rules, f"{H}/new/{n}/", 60.0) for n in range(1000)]
    assert all(verified[: LIMITS.family["trailing-slash"].first])
    share = sum(verified) / len(verified)
    assert 0.03 < share < 0.08
    again = [one.is_verified(rules, f"{H}/new/{n}/", 60.0) for n in range(1000)]
    assert again[10:] == verified[10:], "the share is the same each time"
    late = 60.0 + LIMITS.family["trailing-slash"].verify_again + 1
    assert all(one.is_verified(rules, f"{H}/new/{n}/", late) for n in range(10))


def test_a_domain_learns_a_rule_if_several_of_its_hosts_have_it() -> None:
    one = learner()
    entered = []
    for name in ("a", "b", "c", "d", "e"):
        host = f"http://{name}.shop.example"
        entered += observe(
            one, *(Moved(f"{host}/p{n}", f"{host}/p{n}/", float(n)) for n in range(36))
        )
    wide = [rule for rule in one.rules("shop.example") if rule.rewrite.subdomains]
    assert [rule.state for rule in wide] == ["active"]
    one = learner()
    for name in ("a", "b", "c", "d", "e"):  # different people's
        host = f"http://{name}.github.io"
        observe(one, *(Moved(f"{host}/p{n}", f"{host}/p{n}/", float(n)) for n in range(36)))
    assert not one.rules("github.io")


def test_memory_is_bounded() -> None:
    one = learner()
    for n in range(5000):
        observe(one, Answered(f"{H}/a?k{n}=1&z=1", b"%d" % (n // 2), float(n)))
    assert len(one.rules("h.example")) <= 48
    for n in range(5000):
        one.observe(Answered(f"http://h{n}.example/", b"x", float(n)))
    assert len(one._memory._hosts) <= 4000  # noqa: SLF001 - a bound is what is asked for


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[defalt]\n", r"no section \[defalt\]; allowed are default, gate, family.scheme-upgrade"),
        ("[family.x]\n", r"no section \[x\]"),
        ("[default]\nactive = 2\n", "<= 1.0"),
        ("[default]\nactiv = 1\n", "unknown field `activ`"),
        ("x", "not TOML"),
    ],
)
def test_wrong_thresholds_are_refused(tmp_path: object, text: str, says: str) -> None:
    path = tmp_path / "mine.toml"  # type: ignore[operator]
    path.write_text(text)
    with pytest.raises(SettingsError, match=says):
        thresholds.load(str(path))


def test_thresholds_override_the_defaults(tmp_path: object) -> None:
    path = tmp_path / "mine.toml"  # type: ignore[operator]
    path.write_text("[default]\nfirst = 9\n[family.www]\nspan = 5\n")
    found = thresholds.load(str(path))
    assert {limits.first for limits in found.family.values()} == {9}
    assert found.family["www"].span == 5
    assert found.family["host-alias"].span == LIMITS.family["host-alias"].span
    with pytest.raises(SettingsError, match="give a file that can be read"):
        thresholds.load(str(tmp_path / "none.toml"))  # type: ignore[operator]
