"""A site: its answers become evidence, the same whatever their order, and evidence decides."""

import itertools
import random
from collections.abc import Callable, Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from canonry.canon.learned import Rewrite
from canonry.crawler.documents.page_scan import blocks_of
from canonry.crawler.learn import site_pages
from canonry.crawler.learn.decision import decide
from canonry.crawler.learn.evidence import ClassTally, JudgedPair, RuleEvidence, pair_of
from canonry.crawler.learn.learned_site import LearnedSite
from canonry.crawler.learn.request_policy import RequestPolicy
from canonry.crawler.learn.standing import standing_of
from canonry.crawler.learn.text.comparison import PageAnswer, PageVerdict

H = "http://h.example"
WAITING = 12  # URLs for which a rule is worth it
REF = Rewrite("h.example", "parameter-anywhere", old="ref")
SLASH = Rewrite("h.example", "trailing-slash", new="slash")
BARE = Rewrite("h.example", "trailing-slash", new="bare")


def answer(text: str) -> PageAnswer:
    body = f"<nav>Home</nav><h1>{text}</h1><p>About {text}.</p>".encode()
    return PageAnswer(text.encode()[:16].ljust(16), blocks_of(body, "text/html"))


class Host:
    """A host that says of each URL which page it is, and a crawl that learns from it."""

    def __init__(self, page_of: Callable[[str], str]) -> None:
        self.page_of = page_of
        self.site = LearnedSite()
        self.policy = RequestPolicy(self.site)
        self.changes: list[tuple[Rewrite, str]] = []

    def visit(self, paths: Iterable[str]) -> None:
        given = list(paths)
        for url_id, path in enumerate(given, 1):
            self.site.found(H + path, url_id)
        for n in range(WAITING):  # others wait, too, and never answer
            for end in ("/", "?ref=1", "?v=1", "?s=1"):
                self.site.found(f"{H}/waits-{n}{end}", 1000 + n)
                self.site.found(f"{H}/news/waits-{n}{end}", 2000 + n)
        for url_id, path in enumerate(given, 1):
            self.site.page(H + path, url_id, answer(self.page_of(path)), None)
            self.settle()

    def settle(self) -> None:
        while True:
            self.site.judge_again()
            self.changes += [(rule.rewrite, rule.state) for rule, _ in decide(self.site)]
            asked = list(self.policy.questions())
            if not asked:
                return
            for identity in asked:
                text = self.page_of(identity.removeprefix(H))
                self.site.page(identity, 0, answer(text), None)

    def tally(self, rewrite: Rewrite) -> ClassTally:
        found = self.site.rules.get(rewrite)
        return ClassTally() if found is None else found.tally


def bare(path: str) -> str:
    return path.partition("?")[0]


PATHS = [f"/page-{n}{end}" for n in range(30) for end in ("", "?ref=1", "?ref=2")]


def test_a_parameter_that_selects_nothing_is_learned() -> None:
    host = Host(bare)
    host.visit(PATHS)
    assert (REF, "active") in host.changes
    assert host.tally(REF).different == 0


def test_a_parameter_that_selects_is_not() -> None:
    host = Host(str)
    host.visit(PATHS)
    assert not host.changes
    assert host.tally(REF).same == 0 < host.tally(REF).different


@pytest.mark.parametrize("pages", [50, 900])
def test_where_nothing_is_the_same_a_site_is_asked_little(pages: int) -> None:
    numbers = itertools.count()
    host = Host(lambda path: f"{path} is seen by {next(numbers)}")
    host.visit(f"/page-{n}{end}" for n in range(pages) for end in ("", "?ref=1"))
    assert host.site.extra <= max(6, 0.01 * host.site.answers)


def test_a_site_may_be_asked_as_often_as_it_has_suppressed_requests() -> None:
    host = Host(bare)
    host.visit(PATHS)
    [rule] = [rule for rule in host.site.rules.values() if rule.state == "active"]
    before = host.policy.budget()
    for n in range(50):  # two further names of each of 25 pages, one of 50 is a test
        name, after = f"{H}/late-{n % 25}?ref={n}", f"{H}/late-{n % 25}"
        host.policy.choose_as_test(name, after, [rule.rewrite])
    assert 15 <= host.policy.budget() - before <= 25


def test_one_page_in_five_that_differs_is_enough_to_know() -> None:
    host = Host(lambda path: path if "0" in bare(path) or "5" in bare(path) else bare(path))
    host.visit(PATHS)
    assert host.site.rules[REF].state != "active"


def test_a_default_is_learned_where_other_values_select() -> None:
    host = Host(lambda path: path.removesuffix("?ref=1"))
    host.visit(PATHS)
    default = Rewrite("h.example", "parameter-default", old="ref=1")
    assert host.changes == [(default, "active")]


def test_a_section_in_which_a_parameter_selects_nothing() -> None:
    host = Host(lambda path: bare(path) if path.startswith("/news/") else path)
    host.visit(f"/{place}{path}" for path in PATHS for place in ("news", "shop"))
    news = Rewrite("h.example", "parameter-anywhere", below="/news/", old="ref")
    assert host.changes == [(news, "active")]


def test_an_action_with_which_a_parameter_selects_nothing() -> None:
    """One path has all pages of the site: what tells its parts apart is a parameter."""

    def page_of(path: str) -> str:
        return path if "a=log" in path else path.partition("&h=")[0]

    host = Host(page_of)
    waiting = [f"/?a=blob&f=late-{n}&h=1" for n in range(WAITING)]
    for n, path in enumerate(waiting):
        host.site.found(H + path, 3_000 + n)
    ends = ["", "&h=1", "&h=2"]
    host.visit(f"/?a={a}&f={n}{end}" for n in range(40) for end in ends for a in ("log", "blob"))
    blob = Rewrite("h.example", "parameter-irrelevant", old="h", beside=("a=blob", "f"))
    assert host.changes == [(blob, "active")]


def test_a_site_that_writes_semicolons_between_parameters() -> None:
    host = Host(lambda path: path.partition(";s=")[0])
    for n in range(WAITING):
        host.site.found(f"{H}/?p=late-{n};s=1", 3_000 + n)
    host.visit(f"/?p={n}{end}" for n in range(30) for end in ("", *(f";s={s}" for s in "123456")))
    separator = Rewrite("h.example", "parameter-separator")
    dropped = Rewrite("h.example", "parameter-anywhere", old="s")
    assert dict(host.changes) == {separator: "active", dropped: "active"}


def test_where_both_separators_are_other_pages_neither_is_the_other() -> None:
    host = Host(str)
    host.visit(f"/?p={n}{mark}s=1" for n in range(30) for mark in ";&")
    separator = Rewrite("h.example", "parameter-separator")
    assert not host.changes
    assert host.tally(separator).different > 0


def test_two_values_that_are_one_say_nothing_of_others() -> None:
    """As in a viewer of repositories, where ``master`` is ``HEAD``, and older revisions are not."""
    host = Host(lambda path: path.replace("v=master", "v=HEAD"))
    for n in range(WAITING):
        host.site.found(f"{H}/late-{n}?v={n}", 3_000 + n)
    host.visit(f"/page-{n}?v={v}" for n in range(30) for v in ("HEAD", "master"))
    assert not host.changes
    rule = host.site.rules[Rewrite("h.example", "parameter-anywhere", old="v")]
    assert rule.tally.same >= 25
    assert standing_of(rule).sentence.endswith("no other value of its parameter (or 5 are known)")


def test_one_page_under_fifty_names() -> None:
    host = Host(lambda path: bare(path) if path.startswith("/login") else path)
    host.visit(["/", "/a", "/b", *(f"/login?next=/{n}" for n in range(60))])
    login = Rewrite("h.example", "parameter-of-page", old="next", new="/login")
    assert host.changes == [(login, "active")]


def test_a_small_site_with_fresh_session_ids_is_learned_from_its_names() -> None:
    host = Host(bare)
    host.visit(f"/page-{n % 11}?sid={n:032x}" for n in range(110))
    sid = Rewrite("h.example", "parameter-anywhere", old="sid")
    assert host.changes == [(sid, "active")]


def test_an_active_rule_ends_with_the_pages_that_it_would_lose() -> None:
    late = False
    host = Host(lambda path: path if late else bare(path))
    host.visit(PATHS)
    late = True
    host.visit(f"/late-{n}{end}" for n in range(4) for end in ("", "?ref=1"))
    assert host.changes == [(REF, "active"), (REF, "suspended"), (REF, "revoked")]


def test_a_rule_that_goes_on_after_one_wrong_page_is_tested_beside_it() -> None:
    """One in a hundred may be chance: a page that changed between two requests."""
    host = Host(lambda path: path if path.startswith("/page-120") else bare(path))
    host.visit(f"/page-{n}{end}" for n in range(121) for end in ("", "?ref=1"))
    assert host.tally(REF)[:3] == (120, 1, 1)
    assert host.site.rules[REF].state == "active"
    assert list(host.policy.found_wrong()) == [(242, REF)]
    assert not list(host.policy.found_wrong())


def test_a_doubt_that_turns_out_to_be_none_lets_a_rule_act_again() -> None:
    """Two answers of each say that a page differs, four say that it changes by itself."""
    turn = 0

    def page_of(path: str) -> str:
        nonlocal turn
        turn += path == "/late?ref=1"
        return f"{bare(path)} {turn // 3}" if path.startswith("/late") else bare(path)

    host = Host(page_of)
    host.visit([*PATHS, "/late?ref=1", "/late"])
    states = [state for _, state in host.changes]
    assert states[0] == "active"
    assert "revoked" not in states
    assert host.site.rules[REF].state == states[-1] == "active"


def test_redirects_of_one_direction_do_not_hide_a_page_that_differs() -> None:
    host = Host(str)
    for n in range(10):
        host.site.moved(f"{H}/{n}", n + 1, f"{H}/{n}/")
        host.visit([f"/{n}/"])
    host.visit(["/late/", "/late"])
    assert host.tally(SLASH).different == 1
    assert host.site.rules[SLASH].state != "active"


@pytest.mark.parametrize("late", [["/docs/z", "/old/docs/z"], ["/old/docs/z", "/docs/z"]])
def test_a_moved_page_is_compared_whichever_of_its_names_answers_first(late: list[str]) -> None:
    host = Host(str)
    for n in range(20):
        host.site.moved(f"{H}/old/docs/{n}", n + 1, f"{H}/docs/{n}")
        host.visit([f"/docs/{n}"])
    moved, _state = host.changes[0]
    assert moved.family == "path-prefix"
    host.visit(late)
    assert host.tally(moved).different == 1


def test_pages_of_one_script_are_told_apart_by_their_titles() -> None:
    """What is a page's own is not what few paths have: here is one path."""
    host = Host(lambda path: path.partition("&")[0])
    host.visit(f"/view?id={n}{end}" for n in range(30) for end in ("", "&ref=1"))
    assert host.changes == [(REF, "active")]


def test_what_is_closest_to_act_is_asked_first() -> None:
    site = LearnedSite()
    near, far = site.rule(REF), site.rule(SLASH)
    for rule, same in ((far, 2), (near, 9)):
        for n in range(same):
            urls = pair_of(f"{H}/{n}", f"{H}/{n}?ref=1")
            rule.put(urls, JudgedPair(urls[0], PageVerdict.SAME))
    doubted = site.rule(Rewrite("h.example", "letter-case"))
    doubted.state = "suspended"
    acting = site.rule(Rewrite("h.example", "double-slash"))
    acting.state = "active"
    policy = RequestPolicy(site)
    assert sorted(site.rules.values(), key=policy.urgency) == [doubted, near, far, acting]


def test_a_url_is_chosen_as_a_test_for_good_and_asked_first() -> None:
    host = Host(bare)
    host.visit(PATHS)
    names = [f"{H}/more-{n}?ref=1" for n in range(200)]
    for url_id, name in enumerate(names, 5000):
        host.site.found(name, url_id)
    chosen = [name for name in names if host.policy.choose_as_test(name, bare(name), [REF])]
    assert 4 <= len(chosen) <= 30
    assert chosen == [name for name in names if host.policy.choose_as_test(name, bare(name), [REF])]
    url_ids = {5000 + names.index(name) for name in chosen}
    first = url_ids & set(host.policy.to_ask_first())
    assert first < url_ids, "the others in their turn"


def test_the_site_s_own_word_needs_fewer_pages_and_has_a_direction() -> None:
    host = Host(str)
    for n in range(8):
        host.site.moved(f"{H}/{n}", n + 1, f"{H}/{n}/")
        host.visit([f"/{n}/"])
    assert host.changes == [(SLASH, "active")]
    assert host.tally(SLASH) == ClassTally(same=8, own_word=8)
    assert host.site.rules.get(BARE) is None or host.tally(BARE).same == 0


def test_redirects_in_both_directions_make_no_rule() -> None:
    host = Host(str)
    for n in range(20):
        source, target = (f"/{n}", f"/{n}/") if n % 2 else (f"/{n}/", f"/{n}")
        host.site.moved(H + source, 2 * n + 1, H + target)
        host.visit([target])
    assert not [state for _, state in host.changes if state == "active"]


def test_a_redirect_elsewhere_contradicts_a_rule() -> None:
    """As a wall or a sink does: what a rule calls the same page leads to another."""
    host = Host(bare)
    host.visit(PATHS[: 3 * 10])
    for n in range(10, 20):
        host.visit([f"/page-{n}"])
        host.site.moved(f"{H}/page-{n}?ref=1", 99, f"{H}/login")
    host.settle()
    assert host.tally(REF).different == 10


@pytest.mark.parametrize("is_first", [False, True])
def test_a_renamed_page_contradicts_no_rule_as_all_of_its_names_lead_to_the_new_one(
    *, is_first: bool
) -> None:
    host = Host(bare)
    host.visit(PATHS)
    for n in range(100, 120):
        names = [f"{H}/page-{n}", f"{H}/page-{n}?ref=1"]
        for url_id, name in enumerate(names, 10 * n):
            host.site.found(name, url_id)
        for url_id, name in enumerate(names if is_first else names[::-1], 10 * n):
            host.site.moved(name, url_id, f"{H}/new-{n}")
            host.settle()
    assert host.tally(REF).different == 0
    assert host.site.rules[REF].state == "active"


@pytest.mark.parametrize("is_first", [False, True])
def test_a_redirect_that_another_rule_explains_contradicts_none(*, is_first: bool) -> None:
    """Here to https: the page without the parameter may be there under http as well."""
    host = Host(bare)
    host.visit(PATHS)
    name, page = f"{H}/page-100?ref=1", f"{H}/page-100"
    for url in (name, page) if is_first else (page, name):
        if url == name:
            host.site.moved(url, 100, url.replace("http:", "https:"))
        else:
            host.site.page(url, 101, answer("page 100"), None)
    assert host.tally(REF).different == 0


@pytest.mark.parametrize("is_first", [False, True])
def test_names_that_lead_to_two_places_contradict_a_rule(*, is_first: bool) -> None:
    host = Host(bare)
    host.visit(PATHS)
    names = [f"{H}/page-100", f"{H}/page-100?ref=1"]
    for url_id, name in enumerate(names if is_first else names[::-1], 100):
        host.site.moved(name, url_id, f"{H}/{name[-1]}")
    assert host.tally(REF).different == 1


def test_a_missing_page_and_a_redirect_to_it_say_nothing_of_its_other_names() -> None:
    site = LearnedSite()
    for n in range(3):
        site.page(f"http://h.example/{n}", n, answer(f"{n}"), None)
        site.page(f"https://h.example/{n}", n, answer(f"{n}"), None)
    site.gone("https://h.example/missing", 7)
    site.moved("https://www.h.example/missing", 8, "https://h.example/missing")
    site.gone("http://h.example/missing", 9)
    assert site.rules[Rewrite("h.example", "scheme-upgrade")].tally.same == 3
    assert not any(rule.tally.different for rule in site.rules.values())


def test_canonical_links_to_one_page_are_no_evidence() -> None:
    host = Host(str)
    host.site.page(f"{H}/", 1, answer("home"), None)
    for n in range(30):
        host.site.page(f"{H}/{n}/", n + 2, answer(str(n)), f"{H}/")
    host.settle()
    assert not host.changes


def test_many_pages_that_are_not_there_say_nothing() -> None:
    host = Host(lambda _path: "Nothing was found")
    host.visit(PATHS)
    assert not host.changes


def test_requests_for_learning_alone_have_a_budget() -> None:
    turn = 0

    def never_the_same(path: str) -> str:
        nonlocal turn
        turn += 1
        return f"{bare(path)} {turn}"

    host = Host(never_the_same)
    host.visit(PATHS)
    assert host.site.extra <= 40 + 0.06 * host.site.answers


def test_what_waits_in_the_queue_is_not_asked_by_learning() -> None:
    """A recrawl asks it anyway."""
    site = LearnedSite()
    for url_id, path in enumerate(PATHS[:12]):
        name, seen = bare(path), f"seen by {url_id}"
        html = f"<h1>{name}</h1><p>About {name}.</p><p>{seen}</p>".encode()
        found = PageAnswer(seen.ljust(16).encode(), blocks_of(html, "text/html"))
        site.page(H + path, url_id, found, None)
    assert not set(RequestPolicy(site).questions()), "no answer could spare a request"
    for n in range(WAITING):
        site.found(f"{H}/waits-{n}?ref=1", 100 + n)
    asked = set(RequestPolicy(site).questions())
    assert asked
    for identity in asked:
        site.pages[identity].is_awaited = False
        site.pages.waits(identity)
    others = set(RequestPolicy(site).questions())
    assert others, "their turn goes to other pages"
    assert asked.isdisjoint(others)


def test_answers_of_two_earlier_nights_differ_by_time_perhaps() -> None:
    site, one, other = LearnedSite(), f"{H}/p", f"{H}/p?ref=1"
    site.pages.add_answer(one, site.pages.answered(one, 1), answer("Spring"))
    site.pages.add_answer(other, site.pages.answered(other, 2), answer("Summer, and all else"))
    for identity in (one, other):
        site.pages[identity].is_page = True
    pair = pair_of(one, other)
    evidence = RuleEvidence(REF, pairs={pair: JudgedPair(one, PageVerdict.UNKNOWN, answers=1)})
    site.restore([evidence])
    assert site.rules[REF].pairs[pair].verdict is PageVerdict.UNKNOWN
    assert site.rules[REF].open[pair].ask_first


@pytest.mark.parametrize("page_of", [bare, str, lambda path: path.removesuffix("?ref=1")])
@settings(max_examples=100, deadline=None)
@given(order=st.permutations(PATHS[:12]))
def test_the_same_answers_in_any_order_are_the_same_evidence(
    page_of: Callable[[str], str], order: list[str]
) -> None:
    host, other = Host(page_of), Host(page_of)
    host.visit(PATHS[:12])
    other.visit(order)
    one, two = host.tally(REF), other.tally(REF)
    assert (one.same, one.different > 0) == (two.same, two.different > 0)


@pytest.mark.parametrize("seed", range(4))
def test_pages_that_were_forgotten_are_asked_no_more(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(site_pages, "_MOST", 24)
    chance, site = random.Random(seed), LearnedSite()
    policy = RequestPolicy(site)
    for n in range(1500):
        url = f"{H}/{chance.choice(('', 'old/'))}p{n // 12 - chance.randrange(9)}"
        url += chance.choice(("", "/", "?ref=1", "?ref=2&v=1", "?v=2"))
        match chance.randrange(12):
            case 0:
                site.gone(url, n + 1)
            case 1:
                site.moved(url, n + 1, f"{url}x")
            case 2 | 3 | 4:
                site.found(url, n + 1)
            case _:
                site.page(url, n + 1, answer(bare(url) + chance.choice("ab")), None)
        site.judge_again()
        assert all(rule.rewrite in site.rules for rule, _before in decide(site))
        url_ids = set(policy.to_ask_first())
        assert all(identity in site.pages for identity in policy.questions())
        assert 0 not in url_ids
    assert len(site.pages) < 500
