"""The learner: rewrites inferred from pairs, what is not evidence, and the life of a rule."""

import random

import pytest

from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.life.lifecycle import lower_bound
from canonry.crawler.learn.memory.site_memory import SITES
from canonry.crawler.learn.news import Answered, Moved
from canonry.crawler.settings import SettingsError

LIMITS = thresholds.load()
H = "http://h.example"


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
    assert observe(one, *moves(2)) == []
    assert observe(one, *moves(1, 2)) == [("trailing-slash/", "probation")]
    assert observe(one, *moves(6, 3)) == []
    assert observe(one, *moves(1, 9)) == [("trailing-slash/", "active")]
    assert observe(one, Answered(f"{H}/page", b"1", 40.0)) == [("trailing-slash/", "suspended")]
    assert observe(one, *moves(16, 100)) == [], "after evidence against it, a rule needs much more"
    assert observe(one, Answered(f"{H}/other", b"2", 200.0)) == [("trailing-slash/", "revoked")]
    assert observe(one, *moves(500, 200)) == [], "and it is not learned again"


def test_nothing_is_decided_about_a_host_that_went_to_another_worker() -> None:
    one = learner()
    for moved in moves(9):
        one.observe(moved)
    one.forget_hosts({"other.example"})
    assert one.decide(9.0).changed
    one.observe(moves(1, 9)[0])
    one.forget_hosts({"h.example"})
    assert one.decide(10.0).changed == [], "it would overwrite what the other has learned"


def test_each_path_counts_once() -> None:
    one = learner()
    same = [Moved(f"{H}/p?n={n}", f"{H}/p/?n={n}", float(n)) for n in range(50)]
    assert observe(one, *same) == []
    [rule] = one.rules("h.example")
    assert rule.agree == 1


def test_each_query_counts_for_a_rule_about_queries() -> None:
    one = learner()
    sorts = [Moved(f"{H}/s?b={n}&a=1", f"{H}/s?a=1&b={n}", float(n)) for n in range(2)]
    drops = [Moved(f"{H}/d?id={n}&ref=1", f"{H}/d?id={n}", float(n)) for n in range(2)]
    observe(one, *sorts, *drops)
    agree = {rule.rewrite.family: rule.agree for rule in one.rules("h.example")}
    assert (agree["parameter-order"], agree["parameter-irrelevant"]) == (2, 2)


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
    observe(one, Answered(f"{H}/c", b"c", 20.0), Moved(f"{H}/c", f"{H}/c/", 20.0, "canonical"))
    observe(one, Moved(f"{H}/list?page=2", f"{H}/list", 21.0, "canonical"))
    observe(one, Moved(f"{H}/d", f"{H}/somewhere", 22.0, "canonical"))
    [slash] = [c for c in one.rules("h.example") if c.rewrite.family == "trailing-slash"]
    assert (slash.agree, slash.disagree, slash.moved) == (11, 0, 11)


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
    assert ("trailing-slash/", "active") not in observe(one, *sorry)
    assert not one.rules("h.example"), "what was counted before it was known is taken back"


def test_the_body_of_a_missing_page_is_no_evidence() -> None:
    one = learner()
    pair = [Answered(f"{H}/p1", b"sorry", 0.0), Answered(f"{H}/p1/", b"sorry", 1.0)]
    observe(one, *pair)
    assert one.wants_missing("h.example")
    assert not one.wants_missing("h.example"), "once"
    assert not one.wants_missing("o.example")
    one.observe_missing("h.example", b"sorry")
    observe(one, Answered(f"{H}/p2", b"sorry", 2.0), Answered(f"{H}/p2/", b"sorry", 3.0))
    assert not one.rules("h.example"), "nor what came before"


@pytest.mark.parametrize("at_once", [1, 2, 5, 9])
def test_what_does_not_exist_is_asked_for_however_many_answers_come_at_once(at_once: int) -> None:
    one = learner()
    pages = [[Answered(f"{H}/p{n}{end}", b"%d" % n, n) for end in ("", "/")] for n in range(9)]
    wanted = []
    for first in range(0, 9, at_once):
        for pair in pages[first : first + at_once]:
            for page in pair:
                one.observe(page)
        one.decide(9.0)
        wanted.append(one.wants_missing("h.example"))
    assert wanted == [True] + [False] * (len(wanted) - 1)


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


@pytest.mark.parametrize(("clean", "opens"), [(4, set()), (5, {"/docs/"})])
def test_a_part_of_a_host_needs_five_clean_paths(clean: int, opens: set[str]) -> None:
    one = learner()
    for n in range(clean):
        one.observe(Moved(f"{H}/docs/{n}", f"{H}/docs/{n}/", float(n)))
    for n in range(3):
        one.observe(Answered(f"{H}/api/{n}", b"%d" % n, float(n)))
    one.decide(10.0)
    assert {c.rewrite.below for c in one.rules("h.example")} - {"/"} == opens


def test_two_names_that_redirect_to_one_place_agree() -> None:
    one = learner()
    for n in range(4):
        for name in (f"{H}/p{n}", f"{H}/p{n}/"):
            one.observe(Moved(name, f"http://o.example/new/{n if n < 3 else name}", float(n)))
    one.observe(Moved(f"{H}/q", f"{H}/q/", 9.0))
    one.decide(10.0)
    [slash] = [c for c in one.rules("h.example") if c.rewrite.new == "slash"]
    assert (slash.agree, slash.disagree) == (4, 1), "the fourth pair leads to two places"


def test_where_an_active_rule_fails_the_others_of_the_site_are_verified_at_once() -> None:
    one = learner()
    observe(one, *moves(40))
    pages = [(f"{H}/q{n}/{query}", b"%d" % n) for n in range(40) for query in ("", "?ref=1")]
    observe(one, *(Answered(url, body, 50.0) for url, body in pages))
    rules = {c.rewrite.family: c for c in one.rules("h.example") if c.state == "active"}
    failing, other = rules.pop("parameter-irrelevant"), rules.pop("trailing-slash")
    assert other.verified_at > 0, "a rule that becomes active asks nothing of the others"
    observe(one, Answered(f"{H}/page/", b"1", 60.0), Answered(f"{H}/page/?ref=1", b"x", 60.0))
    assert failing.state == "suspended"
    assert one.is_verified([other.as_learned()], f"{H}/p1000/", 61.0, f"{H}/p1000")


SECTIONS = ("docs", "news", "shop", "help")


def sections(count: int, exceptions: set[int], start: int = 0) -> list[Moved | Answered]:
    """Return redirects in several parts of a host, but for some names that are pages."""
    found: list[Moved | Answered] = []
    for n in range(start, start + count):
        name = f"{H}/{SECTIONS[n % len(SECTIONS)]}/{n}"
        page = Answered(name, b"own %d" % n, float(n))
        found.append(page if n in exceptions else Moved(name, f"{name}/", float(n)))
    return found


def active_parts(one: Learner) -> set[str]:
    return {rule.rewrite.below for rule in one.rules("h.example") if rule.state == "active"}


@pytest.mark.parametrize("order", range(4))
def test_exceptions_in_one_part_are_to_be_expected_in_the_others(order: int) -> None:
    news = sections(160, {5, 61})  # both in the news
    if order:
        random.Random(order).shuffle(news)
    one = learner()
    observe(one, *news)
    assert not active_parts(one)


def test_a_part_that_is_no_part_of_the_rule_explains_what_contradicts_it() -> None:
    one = learner()
    observe(one, *sections(160, set(range(1, 160, len(SECTIONS)))))
    assert active_parts(one) == {"/docs/", "/shop/", "/help/"}


@pytest.mark.parametrize(
    ("holds", "each", "active"),
    [
        (("docs",), 51, set()),
        (("docs",), 52, {"/docs/"}),
        (("docs", "shop", "help"), 16, set()),
        (("docs", "shop", "help"), 18, {"/docs/", "/shop/", "/help/"}),
    ],
)
def test_the_parts_in_which_a_rule_holds_prove_it_together(
    holds: tuple[str, ...], each: int, active: set[str]
) -> None:
    """Of a family that often fails, 52 clean paths are needed, in one part or several."""
    one = learner()
    for n in range(each):
        for part in SECTIONS:
            page, name = f"{H}/{part}/{n}", f"{H}/{part}/{n}?ref=1"
            own = Answered(name, f"own {part} {n}".encode(), float(n))
            led = Moved(name, page, float(n)) if part in holds else own
            observe(one, Answered(page, f"{part} {n}".encode(), float(n)), led)
    assert active_parts(one) == active


def test_rules_for_parts_are_suspended_when_another_part_shows_exceptions() -> None:
    one = learner()
    news = sections(160, set(range(1, 160, len(SECTIONS))))
    observe(one, *news)
    entered = observe(one, *sections(40, {166}, start=160))
    suspended = {name for name, state in entered if state == "suspended"}
    assert suspended == {f"trailing-slash/{part}/" for part in ("docs", "shop", "help")}
    clean = [r for r in one.rules("h.example") if r.state == "suspended" and not r.disagree]
    assert [rule.held_back for rule in clean] == ["exceptions", "exceptions"]
    assert not active_parts(one)


def test_predictions_are_verified_within_a_share_of_the_requests() -> None:
    one = learner()
    observe(one, *moves(400))
    [rule] = [c for c in one.rules("h.example") if c.state == "active"]
    rules = [rule.as_learned()]
    urls = [f"{H}/new/{n}" for n in range(1000)]
    verified = [one.is_verified(rules, f"{url}/", 400.0, url) for url in urls]
    assert all(verified[: LIMITS.family["trailing-slash"].first])
    assert 10 < sum(verified) <= 20 + 400 * LIMITS.verification.share
    again = [one.is_verified(rules, f"{url}/", 400.0, url) for url in urls]
    assert not [url for url, was, now in zip(urls, verified, again, strict=True) if was > now]


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
    for n in range(SITES + 100):
        one.observe(Answered(f"http://h{n}.example/", b"x", float(n)))
    assert len(one._memory._sites) == SITES  # noqa: SLF001 - a bound is what is asked for


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[defalt]\n", r"no section \[defalt\]; allowed are default, verification, gate, family"),
        ("[family.x]\n", r"no section \[family.x\]"),
        ("[default]\nactive = 2\n", "active: 2 was given; allowed is a number from 0 to 1"),
        ("[default]\nactiv = 1\n", "no key 'activ' in .default.; allowed are probation_floor"),
        ("[family.www]\ntrial = 0.8\n", "no key 'trial' in .family.www.; its successors are 'tri"),
        ("[gate]\nfrom_ = 1\n", "no key 'from_' in .gate.; allowed are share, from, class_size"),
        ("default = 1\n", "'default' has to be a section, .default."),
        ("family = 1\n", "'family' has to be a section for each family"),
        ("[default]\nstrength = 1000\n", "allowed is a number from 0.5 to 40"),
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
