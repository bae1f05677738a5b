"""Evidence from pages that are never twice the same, and the questions that decide."""

import random
from functools import partial

import pytest
from support.made_pages import WORDS, page
from support.repeated_pages import Site, answered, learn

from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.crawler.learn.news import Answered, Moved

H = "http://h.example"


def counts(one: Learner) -> list[tuple[str, int, int]]:
    return [
        (rule.state, rule.agree, rule.disagree)
        for rule in one.rules("h.example")
        if rule.rewrite.below == "/" and rule.rewrite.old == "ref"
    ]


def test_pages_that_are_never_twice_the_same_are_evidence() -> None:
    rng = random.Random(1)
    ends = ("", "?ref=1")
    site = {f"{H}/p{n}{end}": partial(page, n, rng) for n in range(60) for end in ends}
    [(state, agree, disagree)] = counts(learn(site))
    assert (state, disagree) == ("active", 0)
    assert agree > 30


def test_several_pages_in_doubt_are_asked_twice_at_once() -> None:
    rng = random.Random(1)
    one = Learner(thresholds.load(), registrable)
    for n in range(20):
        for end in ("", "?ref=1"):
            one.observe(answered(f"{H}/p{n}{end}", page(n, rng), float(n)))
    one.decide(20.0)
    asked = one.pages_to_repeat("h.example")
    assert len(set(asked)) == 5
    assert one.pages_to_repeat("h.example") == []


@pytest.mark.parametrize("is_lost", [False, True], ids=["all answer", "one never answers"])
def test_a_large_site_is_judged_anew_when_the_pages_asked_twice_have_answered(
    *, is_lost: bool
) -> None:
    """Else it would be judged for each of them, which takes long."""
    rng = random.Random(1)
    one = Learner(thresholds.load(), registrable)

    def observe(n: int, end: str = "") -> None:
        one.observe(answered(f"{H}/p{n}{end}", page(n, rng), float(n)))
        one.decide(float(n))

    for n in range(150):
        observe(n)
        observe(n, "?ref=1")
    waiting = one.pages_to_repeat("h.example")
    assert len(waiting) == 5
    for url in waiting[:4]:
        news = answered(url, page(int(url.partition("/p")[2].partition("?")[0]), rng))
        one.observe_again(url, news.digest, news.sketch)
        one.decide(150.0)
    before = max((agree for _state, agree, _disagree in counts(one)), default=0)
    if is_lost:
        for n in range(150, 166):
            observe(n)
    else:
        news = answered(waiting[4], page(int(waiting[4].partition("/p")[2].partition("?")[0]), rng))
        one.observe_again(waiting[4], news.digest, news.sketch)
        one.decide(150.0)
    [(_state, agree, disagree)] = counts(one)
    assert (before, disagree) == (0, 0)
    assert agree > 100


@pytest.mark.parametrize("kinds", [("tree", "flat"), ("flat", "flat")], ids=["some", "none"])
@pytest.mark.parametrize("seed", range(4))
def test_a_parameter_that_leaves_a_few_lines_out_of_some_pages_is_no_rule(
    kinds: tuple[str, str], seed: int
) -> None:
    """Fossil: ``nofiles`` does nothing to flat lists, and leaves the files out of trees.

    All that changes by itself is the time that a page took, and it is mostly the same.
    """
    rng = random.Random(seed)

    def listing(number: int, *, has_files: bool) -> bytes:
        own = random.Random(f"files {number}").choices(WORDS, k=12)
        took = f"generated in 0.00{5 if rng.random() < 0.9 else rng.randrange(9)} s"
        return page(number, random.Random(1), more=" ".join(own) * has_files + f" {took}")

    site = {}
    for n in range(150):
        kind = kinds[n % 2]
        names = {f"{H}/p{n}?type={kind}": True, f"{H}/p{n}?ref=1&type={kind}": kind == "flat"}
        for url, has_files in names.items():
            site[url] = partial(listing, n, has_files=has_files)
    urls = list(site)
    rng.shuffle(urls)
    states = {state for state, *_counts in counts(learn({url: site[url] for url in urls}))}
    assert ("active" in states) is ("tree" not in kinds)


@pytest.mark.parametrize("seed", range(8))
def test_a_ticker_that_changes_once_keeps_no_true_rule_back(seed: int) -> None:
    """Until then, no word of any page that was asked twice has changed."""
    rng = random.Random(seed)
    one = Learner(thresholds.load(), registrable)
    urls = [f"{H}/p{n}{end}" for n in range(200) for end in ("", "?ref=1")]
    rng.shuffle(urls)

    def answer(url: str, at: int) -> Answered:
        number = int(url.partition("/p")[2].partition("?")[0])
        ticker = " ".join(random.Random(at > 300).choices(WORDS, k=15))
        own = " ".join(random.Random(number).choices(WORDS, k=120))
        title = " ".join(random.Random(-number - 1).choices(WORDS, k=3))
        took = f"generated in 0.00{5 if rng.random() < 0.9 else rng.randrange(9)} s"
        body = f"<title>{title}</title><p>{ticker}</p><p>{own}</p><p>{took}</p>"
        return answered(url, body.encode(), float(at))

    for at, url in enumerate(urls):
        one.observe(answer(url, at))
        one.decide(float(at))
        for again in one.pages_to_repeat("h.example"):
            twice = answer(again, at)
            one.observe_again(again, twice.digest, twice.sketch)
    [(state, agree, disagree)] = counts(one)
    assert (state, disagree) == ("active", 0)
    assert agree > 100


@pytest.mark.parametrize("share", [2, 10_000], ids=["half of the pages", "none"])
@pytest.mark.parametrize("seed", range(4))
def test_a_parameter_that_selects_numbers_on_some_pages_is_no_rule(share: int, seed: int) -> None:
    """``ref`` chooses a size, with its code and price. Only the time that a page took changes."""
    rng = random.Random(seed)

    def item(number: int, size: int) -> bytes:
        own = " ".join(random.Random(number).choices(WORDS, k=80))
        took = 5 if rng.random() < 0.95 else rng.randrange(9)
        title = f"<title>{' '.join(random.Random(-number).choices(WORDS, k=3))}</title>"
        sold = f"code {number * 10 + size} price {20 + 3 * size} euros"
        return f"{title}<p>{own}</p><p>{sold}</p><p>generated in 0.00{took} s</p>".encode()

    site = {}
    for n in range(1, 151):
        site[f"{H}/p{n}"] = partial(item, n, 0)
        site[f"{H}/p{n}?ref=1"] = partial(item, n, 0 if n % share else 1)
    urls = list(site)
    rng.shuffle(urls)
    states = {state for state, *_counts in counts(learn({url: site[url] for url in urls}))}
    assert ("active" in states) is (share > len(site))


@pytest.mark.parametrize("how", ["text", "code", "half"])
def test_other_text_and_other_codes_veto(how: str) -> None:
    rng = random.Random(2)
    site = {}
    for n in range(60):
        site[f"{H}/p{n}"] = partial(page, n, rng)
        site[f"{H}/p{n}?ref=1"] = {
            "text": partial(page, n + 1000, rng),
            "code": partial(page, n, rng, code=n + 5000),
            "half": partial(page, n, rng, more=" ".join(rng.choices(WORDS, k=150))),
        }[how]
    found = counts(learn(site))
    assert all(state == "candidate" and agree <= 2 for state, agree, _disagree in found)


def shop_page(number: int, rng: random.Random, price: int) -> bytes:
    """Return a page with a price, and with five of twenty other products, which have numbers."""
    others = rng.sample(range(20), 5)
    related = " ".join(
        f"{WORDS[other * 7]} {WORDS[other * 5 + 1]} {other + 300}" for other in others
    )
    return page(number, rng, more=f"{WORDS[6]} {price} {related}")


@pytest.mark.parametrize("seed", range(4))
def test_related_products_with_numbers_do_not_keep_a_shop_from_learning(seed: int) -> None:
    rng = random.Random(seed)
    ends = ("", "?ref=1")
    site = {f"{H}/p{n}{end}": partial(shop_page, n, rng, n) for n in range(100) for end in ends}
    [(state, _agree, disagree)] = counts(learn(site))
    assert (state, disagree) == ("active", 0)


@pytest.mark.parametrize("seed", range(4))
def test_a_price_that_differs_in_each_pair_is_seen_among_numbers_that_change(seed: int) -> None:
    """It stands behind a word of one of the products: in a bucket that changes by itself."""
    rng = random.Random(seed)
    site = {}
    for n in range(100):
        site[f"{H}/p{n}"] = partial(shop_page, n, rng, n)
        site[f"{H}/p{n}?ref=1"] = partial(shop_page, n, rng, n + 1000)
    assert "active" not in {state for state, _agree, _disagree in counts(learn(site))}


@pytest.mark.parametrize("seed", range(3))
def test_pages_that_differ_more_than_one_from_itself_make_no_rule(seed: int) -> None:
    """A test of two versions: the page shows one of them by chance, other URLs show each."""
    rng = random.Random(seed)

    def version(number: int, chance: float) -> bytes:
        more = " ".join(random.Random(f"more {number}").choices(WORDS, k=30))
        return page(number, rng, more=more if rng.random() < chance else "")

    site = {}
    for n in range(100):
        site[f"{H}/p{n}"] = partial(version, n, 0.5)
        site[f"{H}/p{n}?ref=1"] = partial(version, n, 1.0)
        site[f"{H}/p{n}?ref=2"] = partial(version, n, 0.0)
    assert {state for state, _agree, _disagree in counts(learn(site))} <= {"candidate", "probation"}


@pytest.mark.parametrize("seed", [3, 12, 13])
def test_pages_that_differ_more_from_each_other_than_one_from_itself_make_no_rule(
    seed: int,
) -> None:
    """The page shows one of two versions by chance: half of the others are like it.

    By that alone, each of these orders of arrival would have made the rule active.
    """
    rng = random.Random(seed)

    def version(number: int, chance: float) -> bytes:
        more = " ".join(random.Random(f"more {number}").choices(WORDS, k=15))
        return page(number, rng, more=more if rng.random() < chance else "")

    chances = {"": 0.5, "?ref=1": 1.0, "?ref=2": 0.0}
    names = [(n, end) for n in range(60) for end in chances]
    rng.shuffle(names)
    site = {f"{H}/p{n}{end}": partial(version, n, chances[end]) for n, end in names}
    assert {state for state, _agree, _disagree in counts(learn(site))} <= {"candidate", "probation"}


@pytest.mark.parametrize(("again", "ends"), [("seldom", []), ("always", ["revoked"])])
def test_what_is_seldom_shown_is_no_other_page_until_it_is_shown_again(
    again: str, ends: list[str]
) -> None:
    """A line with numbers is on six pages at once, when the rule is active. It may be their own.

    The second answers come after others: until then, nothing is decided.
    """
    rng = random.Random(5)
    one = Learner(thresholds.load(), registrable)
    few = range(40, 46)

    def ask(n: int, end: str = "", line: str = "") -> Answered:
        text = " ".join(random.Random(n).choices(WORDS, k=150))
        clock = f"{rng.randrange(24)}:{rng.randrange(60)}"
        body = f"<h1>Page {n}</h1><p>{text}</p><p>rendered at {clock}</p><p>{line}</p>"
        return answered(f"{H}/p{n}{end}", body.encode(), float(n))

    def ask_again(url: str) -> None:
        n, _, query = url.removeprefix(f"{H}/p").partition("?")
        own = line if again == "always" and query and int(n) in few else ""
        twice = ask(int(n), line=own)
        one.observe_again(url, twice.digest, twice.sketch)

    line = "only 17 left of 260"
    states = []
    waiting: list[str] = []
    for n in range(70):
        one.observe(ask(n))
        one.observe(ask(n, "?ref=1", line if n in few else ""))
        if n in few[:-1]:
            continue  # these answers come at once
        one.decide(float(n))
        states += [state for state, *_counts in counts(one)]
        waiting += one.pages_to_repeat("h.example")
        if waiting and (n < few[0] or n > few[-1] + len(few)):
            ask_again(waiting.pop(0))
        if n == few[0] - 1:
            for known in range(few[0]):
                ask_again(f"{H}/p{known}")
    assert list(dict.fromkeys(states)) == ["probation", "active", "suspended", *ends]
    assert states[-1] == (ends or ["active"])[-1]


@pytest.mark.parametrize(("teasers", "ends"), [(4, []), (1, ["revoked"])])
def test_where_pages_were_equal_by_chance_others_are_asked_again_before_a_rule_is_revoked(
    teasers: int, ends: list[str]
) -> None:
    """Forty pages are the same to the byte under both names; then six at once are not.

    Either all that changes is the teaser, or they are other pages, and stay as they are.
    """
    rng = random.Random(5)
    one = Learner(thresholds.load(), registrable)
    waiting: list[str] = []

    def other(n: int) -> bytes:
        return teased(n, random.Random(1), 1000)

    for n in range(70):
        one.observe(answered(f"{H}/p{n}", teased(n, rng, 1), float(n)))
        body = teased(n, rng, 1 if n < 40 else teasers)
        one.observe(answered(f"{H}/p{n}?ref=1", other(n) if 40 <= n < 46 else body, float(n)))
        if 40 <= n < 45:
            continue  # these answers come at once
        one.decide(float(n))
        if n == 45:
            assert [state for state, *_counts in counts(one)] == ["suspended"]
        waiting += one.pages_to_repeat("h.example")
        if n > 48 and waiting:
            url = waiting.pop(0)
            number = int(url.removeprefix(f"{H}/p").partition("?")[0])
            news = answered(url, other(number) if teasers == 1 else teased(number, rng, teasers))
            one.observe_again(url, news.digest, news.sketch)
    found = [state for state, *_counts in counts(one)]
    assert found == (ends or ["active"])


def test_a_canonical_link_is_not_refuted_by_what_changes_by_itself() -> None:
    rng = random.Random(3)
    one = Learner(thresholds.load(), registrable)
    for n in range(60):
        for end in ("", "?ref=1"):
            one.observe(answered(f"{H}/p{n}{end}", page(n, rng), float(n)))
        one.observe(Moved(f"{H}/p{n}?ref=1", f"{H}/p{n}", float(n), "canonical"))
        one.decide(float(n))
    [(state, agree, disagree)] = counts(one)
    assert (state, agree, disagree) == ("active", 60, 0)


def test_a_canonical_link_to_other_text_is_refuted() -> None:
    rng = random.Random(4)
    one = Learner(thresholds.load(), registrable)
    for n in range(60):
        one.observe(answered(f"{H}/p{n}", page(n, rng), float(n)))
        one.observe(answered(f"{H}/p{n}?ref=1", page(n + 1000, rng), float(n)))
        one.observe(Moved(f"{H}/p{n}?ref=1", f"{H}/p{n}", float(n), "canonical"))
        one.decide(float(n))
    assert all(disagree > 40 for _state, _agree, disagree in counts(one))


def teased(number: int, rng: random.Random, teasers: int) -> bytes:
    """Return a page that changes by itself in one thing: it has one of a few teasers, or none."""
    own = " ".join(random.Random(number).choices(WORDS, k=150))
    teaser = " ".join(random.Random(rng.randrange(teasers)).choices(WORDS, k=12))
    return f"<h1>Page {number}</h1><p>{own}</p><p>{teaser}</p>".encode()


@pytest.mark.parametrize("teasers", [2, 7])
def test_where_only_a_teaser_changes_equal_pages_do_not_make_the_others_other_pages(
    teasers: int,
) -> None:
    """One page in two, or in seven, is the same to the byte under both names, by chance."""
    rng = random.Random(1)
    ends = ("", "?ref=1")
    site = {f"{H}/p{n}{end}": partial(teased, n, rng, teasers) for n in range(100) for end in ends}
    [(state, _agree, disagree)] = counts(learn(site))
    assert (state, disagree) == ("active", 0)


@pytest.mark.parametrize(("every", "edited", "most"), [(2, 0, 8), (15, 0, 8), (15, 1, 10)])
def test_where_nothing_changes_a_few_pages_are_asked_twice_and_others_stay_others(
    every: int, edited: int, most: int
) -> None:
    """Under its other name, one page of some is another one. One may be edited meanwhile."""
    one = Learner(thresholds.load(), registrable)
    bodies: dict[str, bytes] = {}
    asked = []
    for n in range(150):
        body = teased(n, random.Random(n), 4)
        more = " ".join(random.Random(f"more {n}").choices(WORDS, k=12))
        other = body + f"<p>{more}</p>".encode() if n % every == 1 else body
        bodies |= {f"{H}/p{n}": body, f"{H}/p{n}?ref=1": other}
        for url in (f"{H}/p{n}", f"{H}/p{n}?ref=1"):
            one.observe(answered(url, bodies[url], float(n)))
        one.decide(float(n))
        for again in one.pages_to_repeat("h.example"):
            asked.append(again)
            edit = b"<p>it was edited meanwhile" if len(asked) <= edited else b""
            news = answered(again, bodies[again] + edit)
            one.observe_again(again, news.digest, news.sketch)
    assert len(asked) == most
    [(state, _agree, disagree)] = counts(one)
    assert state in {"candidate", "probation"}
    assert disagree == len(range(1, 150, every))


def test_a_page_without_a_sketch_is_not_compared_with_one_that_has_one() -> None:
    """As of a store that an earlier version has filled."""
    rng = random.Random(7)
    one = Learner(thresholds.load(), registrable)
    for n in range(30):
        one.observe(answered(f"{H}/p{n}", page(n, rng))._replace(sketch=None))
        one.observe(answered(f"{H}/p{n}?ref=1", page(n, rng)))
        one.observe(Moved(f"{H}/p{n}?ref=1", f"{H}/p{n}", float(n), "canonical"))
    one.decide(1.0)
    [(_state, agree, disagree)] = counts(one)
    assert (agree, disagree) == (30, 0)


@pytest.mark.parametrize("frame", [300, 2500])
def test_pages_of_a_list_differ_however_little_of_them_a_sketch_sees(frame: int) -> None:
    """The first page of each list has two names; the others are most of what is linked.

    With a menu of the whole site, hardly a word of a page's own is among those that are kept.
    """
    menu = " ".join(random.Random(0).choices(WORDS, k=frame))

    def part(number: int, start: int) -> bytes:
        own = " ".join(random.Random(f"{number} {start}").choices(WORDS, k=60))
        return f"<h1>List {number}</h1><p>{menu}</p><p>{own}</p>".encode()

    site = {}
    for n in range(60):
        for end, start in (("", 0), ("?ref=0", 0), ("?ref=20", 20)):
            site[f"{H}/p{n}{end}"] = partial(part, n, start)
    [(state, _agree, disagree)] = counts(learn(site))
    assert state != "active"
    assert disagree > 40


def test_exports_that_are_steady_do_not_make_pages_that_change_others() -> None:
    """Each page shows how long it took; its export is the same to the byte at each name."""
    rng = random.Random(8)

    def export(number: int) -> bytes:
        return " ".join(random.Random(number).choices(WORDS, k=40)).encode()

    site: Site = {}
    for n in range(60):
        for end in ("", "?sort=1"):
            site[f"{H}/p{n}.json{end}"] = partial(export, n)
        for end in ("", "?ref=1"):
            site[f"{H}/p{n}{end}"] = partial(page, n, rng)
    [(state, agree, disagree)] = counts(learn(site))
    assert (state, disagree) == ("active", 0)
    assert agree > 30


@pytest.mark.parametrize("bare_first", [True, False])
@pytest.mark.parametrize(
    ("bare", "name", "said"),
    [
        ("", "?from=x&run=7", ("from&run", ())),
        ("?id=1", "?run=7&id=1&from=x", ("from&run", ("id",))),
    ],
)
def test_parameters_that_are_always_together_are_learned_on_pages_that_change(
    bare: str, name: str, said: tuple[str, tuple[str, ...]], *, bare_first: bool
) -> None:
    rng = random.Random(1)
    ends = (bare, name) if bare_first else (name, bare)
    site = {f"{H}/p{n}{end}": partial(page, n, rng) for n in range(60) for end in ends}
    found = [rule.rewrite for rule in learn(site).rules("h.example") if rule.state == "active"]
    assert [(rewrite.old, rewrite.beside) for rewrite in found] == [said]


@pytest.mark.parametrize("old_first", [True, False])
def test_a_moved_directory_is_learned_on_pages_that_change(*, old_first: bool) -> None:
    rng = random.Random(1)
    folders = ("/print", "") if old_first else ("", "/print")
    site = {f"{H}{folder}/p{n}": partial(page, n, rng) for n in range(70) for folder in folders}
    found = [rule.rewrite for rule in learn(site).rules("h.example") if rule.state == "active"]
    assert [(rewrite.old, rewrite.new) for rewrite in found] == [("/print/", "/")]


def named(url: str, body: bytes, to: str) -> list[Answered | Moved]:
    """Return the answer of a page, and the link that its canonical link is, confirmed."""
    answer = answered(url, body, 1.0)
    if to == url:
        return [answer._replace(names=url)]
    return [answer, Moved(url, to, 1.0, "canonical")]


def learned_from(news: list[Answered | Moved], order: random.Random) -> list[tuple[str, int, int]]:
    order.shuffle(news)
    one = Learner(thresholds.load(), registrable)
    for item in news:
        one.observe(item)
        one.decide(1.0)
    one.settle("h.example")
    for _ in range(3):
        one.decide(2.0)
    return counts(one)


@pytest.mark.parametrize("keeps", ["itself", "a name with more", "nothing"])
@pytest.mark.parametrize("seed", range(3))
def test_a_page_whose_link_keeps_what_others_drop_is_another_page(seed: int, keeps: str) -> None:
    """As with the pages of comments: `?cpage=1` is mostly the page, and its link says where not."""
    rng = random.Random(seed)
    news: list[Answered | Moved] = []
    for n in range(60):
        main = f"{H}/p{n}"
        news += [answered(main, page(n, rng)), *named(f"{main}?ref=1", page(n, rng), main)]
    if keeps == "itself":
        news += named(f"{H}/q?ref=1", page(99, rng), f"{H}/q?ref=1")
    elif keeps == "a name with more":
        news += named(f"{H}/q?ref=1&x=2", page(99, rng), f"{H}/q?ref=1")
        news += named(f"{H}/q?ref=1", page(99, rng), f"{H}/q?ref=1")
    [(state, agree, disagree)] = [c for c in learned_from(news, rng) if c[1] > 30]
    assert (agree, disagree) == (60, keeps != "nothing")
    assert (state == "active") == (keeps == "nothing")


def commented(number: int, to: str = "") -> bytes:
    """Return a post of a blog, with a form to write a comment, or to answer one."""
    words = " ".join(random.Random(number).choices(WORDS, k=150))
    form = f"Leave a reply to {to}. Cancel reply" if to else "Leave a comment"
    return f"<h1>Post {number}</h1><p>{words}</p><h2>{form}</h2>".encode()


def replies(number: int) -> list[Answered]:
    """Return the answers of a post's forms to reply to its three comments; they name the post."""
    main = f"{H}/?p={number}"
    each = [(f"{main}&reply={number}{n}", f"{WORDS[number * 3 + n]}") for n in range(3)]
    return [answered(url, commented(number, to), 1.0)._replace(names=main) for url, to in each]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("is_asked", [True, False])
def test_pages_that_name_one_that_nobody_has_asked_yet_speak_against_no_rule(
    seed: int, *, is_asked: bool
) -> None:
    """As in WordPress: they differ from each other by the name of the one who is answered."""
    rng, news = random.Random(seed), list[Answered | Moved]()
    for n in range(60):
        news += replies(n)
    mains = [answered(f"{H}/?p={n}", commented(n), 1.0) for n in range(60)]
    first = mains if is_asked else mains[:30]
    rng.shuffle(news)
    one = Learner(thresholds.load(), registrable)
    for item in (*news[:90], *first, *news[90:]):
        one.observe(item)
        one.decide(1.0)
        [rule] = [r for r in one.rules("h.example") if r.rewrite.old == "reply"] or [None]
        assert rule is None or not rule.disagree
        assert rule is None or not rule.against
    assert rule is not None
    assert (rule.state, rule.agree >= 30) == ("active", True)


def test_what_a_page_says_of_one_that_is_gone_is_no_word() -> None:
    """Pages that name what is not there, or what names another page, are not the same for that."""
    news: list[Answered | Moved] = []
    for n in range(40):
        main = f"{H}/?p={n}"
        news += replies(n)
        gone = Answered(main, b"", 1.0, missing=True)
        news.append(answered(main, commented(n), 1.0)._replace(names=f"{H}/x") if n % 2 else gone)
    assert not [agree for _state, agree, _disagree in learned_from(news, random.Random(1)) if agree]


def test_a_parameter_that_all_links_keep_selects_where_they_drop_others() -> None:
    """So it is with the pages of comments of a blog, most of which have one page of them."""
    rng = random.Random(3)
    news: list[Answered | Moved] = []
    for n in range(60):
        main, other = f"{H}/p{n}", f"{H}/p{n}?reply=1"
        news += [*named(main, page(n, rng), main), *named(other, page(n, rng), main)]
        news += named(f"{main}?ref=1", page(n, rng), f"{main}?ref=1")
    assert all(agree == 0 for _state, agree, _disagree in learned_from(news, rng))


def test_links_that_name_each_url_itself_do_not_keep_content_from_speaking() -> None:
    rng = random.Random(4)
    news: list[Answered | Moved] = []
    for n in range(60):
        for url in (f"{H}/p{n}", f"{H}/p{n}?ref=1"):
            news += named(url, b"<p>%d</p>" % n, url)
    assert learned_from(news, rng) == [("active", 60, 0)]
