"""Tests of rules about several parameters, about one value of them, and about sessions in paths."""

import random

import pytest
from support.repeated_pages import decided

from canonry.canon.learned import LearnedRule, RuleSet, follow
from canonry.crawler.admission.scope import registrable
from canonry.crawler.content.sketch import encoded_sketch
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered, Moved

H = "http://h.example"
News = Answered | Moved


def learned(news: list[News]) -> dict[tuple[str, str, tuple[str, ...]], str]:
    """Return the states of the rules for the whole host, after a decision for each answer."""
    rules = [rule for rule in decided(news).rules("h.example") if rule.rewrite.below == "/"]
    return {(r.rewrite.family, r.rewrite.old, r.rewrite.beside): r.state for r in rules}


def active(news: list[News]) -> set[tuple[str, str, tuple[str, ...]]]:
    """Return the rules that are active in the end."""
    return {said for said, state in learned(news).items() if state == "active"}


def pages(form: str, count: int = 60, *, same: bool = True, bare: str = "") -> list[News]:
    """Return answers of pages with parameters and without; ``{n}`` is the page's number."""
    found: list[News] = []
    for n in range(count):
        body = b"%d" % n
        found.append(Answered(f"{H}/p{n}{bare}", body, float(n)))
        name = form.format(n=n, five=n % 5)
        found.append(Answered(f"{H}/p{n}{name}", body if same else body + b"!", float(n)))
    return found


@pytest.mark.parametrize("order", ["pages first", "names first", "shuffled"])
@pytest.mark.parametrize(
    ("form", "bare", "said"),
    [
        ("?from=x&run={n}", "", ("parameter-group", "from&run", ())),
        ("?run={n}&id=7&from=x", "?id=7", ("parameter-group", "from&run", ("id",))),
        ("?a=1&b={n}&c=3&d=4", "", ("parameter-group", "a&b&c&d", ())),
        ("?a=1&b={n}&c=3&id=7", "?id=7", ("parameter-group", "a&b&c", ("id",))),
    ],
)
def test_parameters_that_are_always_together_are_learned(
    form: str, bare: str, said: tuple[str, str, tuple[str, ...]], order: str
) -> None:
    news = pages(form, bare=bare)
    if order == "names first":
        news.reverse()
    elif order == "shuffled":
        random.Random(2).shuffle(news)
    assert active(news) == {said}
    assert not active(pages(form, bare=bare, same=False))


def test_one_of_two_parameters_that_selects_keeps_both() -> None:
    news = pages("?from=x&run={five}", 100)
    other = [
        one._replace(digest=b"other" + one.digest)
        if isinstance(one, Answered) and one.url.endswith("run=3")
        else one
        for one in news
    ]
    assert active(news) == {("parameter-group", "from&run", ())}
    assert not active(other)


@pytest.mark.parametrize("bare", [0, 4], ids=["all others", "some are the list"])
def test_a_parameter_that_selects_alone_is_in_no_group(bare: int) -> None:
    """A shop on django-oscar: ``from&page&run`` held ``?page=2`` as well, which is another page."""
    news: list[News] = []
    for n in range(20):
        news += [
            Answered(f"{H}/p{n}", b"%d" % n, float(n)),
            Answered(f"{H}/p{n}?page=2", b"%d.2" % n, float(n)),
        ]
        if n < bare:
            news.append(Answered(f"{H}/p{n}?page=1", b"%d" % n, float(n)))
    grouped = pages("?from=x&page=1&run={n}")
    assert active(grouped) == {("parameter-group", "from&page&run", ())}, "nothing else speaks"
    assert not active(news + grouped)
    later = decided(grouped[2:] + news + grouped[:2]).rules("h.example")
    groups = [rule for rule in later if rule.rewrite.old == "from&page&run"]
    assert [(one.state, one.held_back) for one in groups] == [("suspended", "selects")]


def test_the_first_page_of_a_list_is_learned_also_where_the_second_ones_come_first() -> None:
    """By then, so much speaks against a rule about ``page`` that it is looked at no more."""
    second = pages("?page=2", same=False)
    first = [one for one in pages("?page=1") if "?" in one.url]  # type: ignore[union-attr]
    said = {("parameter-default", "page=1", ())}
    assert active(second + first) == active(first + second) == said


def filtered(share: int, count: int = 120, mostly: str = "") -> list[News]:
    """Return answers of lists: ``instock=1`` makes another one of one in so many."""
    found: list[News] = []
    for n in range(count):
        other = mostly or ("less" if n % share == 0 else "")
        found += [
            Answered(f"{H}/list?cat={n}", b"%d" % n, float(n)),
            Answered(f"{H}/list?cat={n}&instock=1", f"{n}{other}".encode(), float(n)),
        ]
    return found


def paged(count: int = 60) -> list[News]:
    """Return answers of the second parts of lists, that are the same with ``instock=1``."""
    return [
        Answered(f"{H}/list?cat={n}&page=2{more}", b"%d.2" % n, float(n))
        for n in range(count)
        for more in ("", "&instock=1")
    ]


def test_a_parameter_that_selects_now_and_then_does_so_beside_others() -> None:
    """A shop with a filter and a pager: the lists that the filter changes have few second parts."""
    said = ("parameter-irrelevant", "instock", ("cat", "page"))
    assert said in active(paged())
    assert not active([*filtered(20), *paged()])
    assert not active([*paged(), *filtered(20)]), "also where that is found out later"
    assert said in active([*filtered(200)[2:], *paged()]), "without exceptions, both are learned"


def test_a_parameter_that_mostly_selects_elsewhere_may_select_nothing_here() -> None:
    """``page`` selects part of a list, and nothing of an article that was reached from it."""
    said = ("parameter-irrelevant", "instock", ("cat", "page"))
    assert said in active([*filtered(1, mostly="less"), *paged()])


def test_a_redirect_that_drops_two_parameters_says_nothing_about_each() -> None:
    moved: list[News] = [Moved(f"{H}/p{n}?a=1&b={n}", f"{H}/p{n}", float(n)) for n in range(40)]
    assert active(moved) == {("parameter-group", "a&b", ())}
    alone = pages("?b=1")
    assert active(moved + alone) == {
        ("parameter-group", "a&b", ()),
        ("parameter-irrelevant", "b", ()),
    }
    beside = pages("?a=1&b=1", bare="?b=1")  # and what each says itself is not contradicted
    assert ("parameter-irrelevant", "a", ("b",)) in active(moved + beside)


def lists(share: int, others: int = 3, count: int = 120) -> list[News]:
    """Return answers of pages with ``page=1``; one of so many has further parts."""
    found = pages("?page=1", count)
    for n in range(0, count, share):
        for part in range(2, others + 1):
            found.append(Answered(f"{H}/p{n}?page={part}", b"%d.%d" % (n, part), float(n)))
    return sorted(found, key=lambda one: one.at)


def orders(default: str, count: int = 80) -> list[News]:
    """Return answers of lists in four orders, one of which is that of the list without them."""
    found: list[News] = []
    for n in range(count):
        found.append(Answered(f"{H}/list{n}", b"%d" % n, float(n)))
        for order in ("order=up&sort=name", "sort=name&order=down", "order=up&sort=size"):
            body = b"%d" % n if order == default else b"%d %s" % (n, order.encode())
            found.append(Answered(f"{H}/list{n}?{order}", body, float(n)))
    return found


@pytest.mark.parametrize("seed", range(3))
def test_the_order_that_a_list_has_anyway_is_no_other_page(seed: int) -> None:
    news = orders("order=up&sort=name")
    random.Random(seed).shuffle(news)
    assert active(news) == {("parameter-default", "order=up&sort=name", ())}
    assert not active(orders("none of them"))


def test_the_first_part_of_a_list_is_the_list() -> None:
    states = learned(lists(8))
    assert states["parameter-default", "page=1", ()] == "active"
    assert states["parameter-irrelevant", "page", ()] in {"probation", "candidate"}
    assert not {said for said in states if said[0] == "parameter-default"} - {
        ("parameter-default", "page=1", ())
    }
    assert active(pages("?page=1")) == {("parameter-irrelevant", "page", ())}, "nothing else speaks"


def test_a_value_that_meets_no_exception_by_chance_is_no_default() -> None:
    """Exceptions that do not depend on the value: of enough values, some meet none."""
    rng = random.Random(4)
    news: list[News] = []
    for n in range(400):
        body = b"%d" % n
        other = body + b"!" * (rng.random() < 0.07)
        news.append(Answered(f"{H}/p{n}", body, float(n)))
        news.append(Answered(f"{H}/p{n}?ref={rng.choice('abcdefgh')}", other, float(n)))
    assert not active(news)


def test_a_default_that_is_contradicted_ends() -> None:
    news = [*lists(8), *(Answered(f"{H}/q{n}{end}", b"%d%s" % (n, end.encode()), 200.0 + n)
                         for n in range(2) for end in ("", "?page=1"))]  # fmt: skip
    assert learned(news)["parameter-default", "page=1", ()] == "revoked"


@pytest.mark.parametrize("speaks", ["redirect", "content"])
def test_sessions_in_segments_are_learned(speaks: str) -> None:
    rng, news = random.Random(3), list[News]()
    for n in range(60):
        session = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz012345", k=24))
        named, page = f"{H}/(S({session}))/docs/p{n}", f"{H}/docs/p{n}"
        news.append(Answered(page, b"%d" % n, float(n)))
        if speaks == "redirect":
            news.append(Moved(named, page, float(n)))
        else:
            news.append(Answered(named, b"%d" % n, float(n)))
    assert active(news) == {("session-segment", "", ())}


def test_sessions_in_segments_are_a_question_at_once() -> None:
    one, rng = Learner(thresholds.load(), registrable), random.Random(5)
    made = ["".join(rng.choices("abcdefghijklmnop012345", k=24)) for _ in range(16)]
    for n in range(8):
        one.observe(Answered(f"{H}/(S({made[n]}))/p{n}", b"%d" % n, 1.0))
    queued = [f"{H}/(S({made[8 + n]}))/p{n}" for n in range(8)]
    assert one.questions("h.example", queued, 6) == queued[:6]


def test_a_group_comes_before_its_parameters_which_would_break_it_up() -> None:
    """Values that repeat show what each parameter selects beside the other, as well."""
    given = [("parameter-irrelevant", "from", ("run",)), ("parameter-irrelevant", "run", ("from",))]
    rules = [
        LearnedRule(host="h.example", family=family, old=old, beside=beside, state="active")
        for family, old, beside in (*given, ("parameter-group", "from&run", ()))
    ]
    found = follow(RuleSet(rules, "web/1"), f"{H}/a?from=x&run=7", str)
    assert found.identity == f"{H}/a"
    assert [rule.family for rule in found.rules] == ["parameter-group"]


def verified(one: Learner, rules: list[LearnedRule], urls: list[str]) -> list[str]:
    """Return which predictions are fetched all the same, of several that come in a row."""
    return [url for url in urls if one.is_verified(rules, f"{H}/p", 100.0, url)]


@pytest.mark.parametrize(
    ("rule", "name", "known", "new"),
    [
        (("parameter-irrelevant", "page"), "?page={}", "1", "2"),
        (("parameter-group", "from&run"), "?from={}&run=7", "x", "y"),
        (("path-parameter", "v"), ";v={}", "1", "2"),
    ],
)
def test_values_that_have_no_evidence_are_verified_first(
    rule: tuple[str, str], name: str, known: str, new: str
) -> None:
    one = Learner(thresholds.load(), registrable)
    for n in range(40):
        for end in ("", name.format(known)):
            one.observe(Answered(f"{H}/p{n}{end}", b"%d" % n, float(n)))
        one.decide(float(n))
    rules = [LearnedRule(host="h.example", family=rule[0], old=rule[1], state="active")]
    usual = [f"{H}/q{n}{name.format(known)}" for n in range(2000)]
    chosen = verified(one, rules, usual)
    assert 10 < len(chosen) < 20
    rare = [f"{H}/r{n}{name.format(new)}" for n in range(20)]
    assert verified(one, rules, rare) == rare[:1], "also if the share is used up"


def test_fresh_values_are_not_verified_one_by_one() -> None:
    one, rng = Learner(thresholds.load(), registrable), random.Random(5)
    made = ["".join(rng.choices("0123456789abcdef", k=16)) for _ in range(500)]
    for n in range(40):
        for end in ("", f"?sid={made[n]}"):
            one.observe(Answered(f"{H}/p{n}{end}", b"%d" % n, float(n)))
        one.decide(float(n))
    rules = [
        LearnedRule(host="h.example", family="parameter-irrelevant", old="sid", state="active")
    ]
    first = [f"{H}/q{n}?sid={made[40 + n]}" for n in range(60)]
    assert len(verified(one, rules, first)) < 16


def test_numbers_alone_tell_pages_apart_where_nothing_changes() -> None:
    """Tables, such as those of rates or departures, have hardly a word of their own."""
    one = Learner(thresholds.load(), registrable)
    rng = random.Random(8)

    def table(url: str, seed: int, at: float) -> Answered:
        numbers = random.Random(seed).choices(range(1000, 9999), k=80)
        cells = "".join(f"<td>{number}</td>" for number in numbers)
        body = f"<title>Rates</title><h1>Rates</h1><table><tr>{cells}</table>".encode()
        return Answered(url, body[-16:], at, sketch=encoded_sketch(body, "text/html"))

    for n in range(60):
        one.observe(table(f"{H}/p{n}", n, float(n)))
        part = rng.choice([1, 1, 1, 2])
        one.observe(table(f"{H}/p{n}?part={part}", n if part == 1 else n + 1000, float(n)))
        one.decide(float(n))
    active_now = [rule.rewrite for rule in one.rules("h.example") if rule.state == "active"]
    assert [(rewrite.family, rewrite.old) for rewrite in active_now] == [
        ("parameter-default", "part=1")
    ]
