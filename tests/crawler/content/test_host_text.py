"""Comparing the pages of a host: template, noise, what is missing; in any order."""

import random

import pytest

from canonry.crawler.content.differences import Differences
from canonry.crawler.content.host_text import HostText
from canonry.crawler.content.sketch import Sketch, sketch

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]
FRAME = " ".join(random.Random("frame").choices(WORDS, k=60))


def page(name: str, words: int = 120, note: str = "", title: str | None = None) -> Sketch:
    """Return the sketch of a page with the site's frame and a text of its own."""
    text = " ".join(random.Random(name).choices(WORDS, k=words))
    head = f"<title>{name if title is None else title}</title>"
    made = sketch(f"{head}<nav>{FRAME}</nav><p>{text}</p><p>{note}".encode(), "text/html")
    assert made is not None
    return made


def name_of(number: int) -> str:
    """Return a name without digits."""
    return " ".join("abcdefghij"[int(digit)] * 3 for digit in str(number))


def host(pages: int = 40, *again: tuple[Sketch, Sketch]) -> HostText:
    """Return a host with some pages, and with answers to the same URL."""
    made = HostText()
    for number in range(pages):
        made.add(page(name_of(number)).encode())
    for pair in again:
        made.twice(f"{H}/again", *pair)
    return made


def clock(at: str) -> Sketch:
    """Return a page with a clock."""
    return page("again", note=f"it is {at} now")


H = "https://h.example"
TICKS = [(clock(f"10.0{n}"), clock(f"10.1{n}")) for n in range(4)]


def test_a_page_says_the_same_as_its_copy_and_not_as_another() -> None:
    known = host()
    assert known.compare(page("one"), page("one")).same is True
    assert known.compare(page("one"), page("two")).same is False
    assert known.compare(page("one", title=""), page("two", title="")).same is False


def test_a_clock_differs_and_another_number_is_another_page() -> None:
    known = host(40, *TICKS)
    assert known.compare(clock("11.30"), clock("11.45")).same is True
    assert (
        known.compare(clock("11.30 price 3 code 4"), clock("11.45 price 5 code 6")).same is not True
    )
    one, other = (page("shirt", note=f"size {s} price {p} euros") for s, p in ((1, 2), (3, 4)))
    assert known.compare(one, other).same is False
    assert host().compare(one, other).same is None, "nobody knows what changes by itself"


def test_few_pages_tell_nothing() -> None:
    assert host(2).compare(page("one"), page("one")).same is None


def test_a_page_without_a_text_of_its_own_cannot_be_compared() -> None:
    assert (
        host().compare(page("one", words=0, title=""), page("two", words=0, title="")).same is None
    )


def test_what_is_like_the_missing_page_is_no_content() -> None:
    known = host()
    sorry = page("sorry, nothing here", note="request 17")
    assert known.compare(sorry, sorry).same is True
    before = known.generation
    known.missing(page("sorry, nothing here", note="request 4"))
    assert known.generation > before
    assert known.compare(sorry, sorry).same is None


def teased(name: str, number: int, words: int = 120, note: str = "") -> Sketch:
    """Return a page with one of seven teasers, as each answer has another one."""
    return page(name, words=words, note=f"{note} {TEASERS[number % 7]}")


TEASERS = [" ".join(random.Random(f"teaser {n}").choices(WORDS, k=16)) for n in range(7)]
TEASED = [(teased(f"tale {n}", n), teased(f"tale {n}", n + 1)) for n in range(6)]


@pytest.mark.parametrize("words", [8, 14, 20, 40, 80])
def test_a_teaser_makes_no_other_page_of_a_short_one(words: int) -> None:
    known = host(40, *TEASED)
    for number in range(20):
        name = f"short {name_of(number)}"
        answers = teased(name, number, words), teased(name, number + 3, words)
        assert known.compare(*answers).same is not False
        assert not known.are_others(*answers)
        other = teased(f"other {name_of(number)}", number + 3, words)
        assert known.compare(answers[0], other).same is False, "another heading"


def test_another_text_below_the_same_heading_is_another_page() -> None:
    known = host(40, *TEASED)
    parts = [page(f"part {n}", words=200, note=TEASERS[n], title="one") for n in range(2)]
    assert known.compare(*parts).same is False
    assert known.are_others(*parts)


def test_the_first_number_after_a_teaser_is_no_other_number() -> None:
    def numbered(teaser: int, number: int) -> Sketch:
        return page("numbered", note=f"{TEASERS[teaser]} {number} of them, price {number + 1}")

    known = host(40, *TEASED)
    assert known.compare(numbered(2, 17), numbered(3, 17)).same is not False
    assert known.compare(numbered(2, 17), numbered(2, 18)).same is False


def test_numbers_that_change_seldom_are_others_that_are_seldom_shown() -> None:
    """Each of four was seen to change in two answers. There may be more of them."""

    def related(*shown: int) -> Sketch:
        return page("shop", note=" ".join(f"{WORDS[7 * n]} {n}" for n in shown))

    seen = [(related(0, 1), related(1)), (related(1, 2), related(2)), (related(2, 3), related(3))]
    seen += [(related(3, 4), related(4)), (related(0), related(2)), (related(1), related(3))]
    known = host(40, *seen)
    assert known.compare(related(0, 7), related(0, 8)).same is not False
    often = host(40, *TICKS)
    assert often.compare(related(0, 7), related(0, 8)).same is False


def test_a_sentence_that_makes_no_other_page_shows_in_many_pairs() -> None:
    known = host(40, *TEASED)

    def differ(words: int) -> bool:
        more = [" ".join(random.Random(f"more {n}").choices(WORDS, k=words)) for n in range(60)]
        found = [
            known.compare(teased(name_of(n), n), teased(name_of(n), n + 1, note=more[n]))
            for n in range(60)
        ]
        differences = Differences()
        for n, one in enumerate(found):
            differences.set(str(n), one.difference)
        return known.differ_more(differences)

    assert differ(60)
    assert not differ(0)


def test_pairs_with_one_page_in_all_of_them_show_little_more_than_that_page() -> None:
    """A form is one page under many names. The answer that the others are compared with has the
    longest of its teasers, so each differs more from it than the answers of one URL do."""
    known = host(40, *((teased(f"tale {n}", n), teased(f"tale {n}", n + 1)) for n in range(30)))
    longest = " ".join(random.Random("z").choices(WORDS, k=40))
    first, differences = page("form", 60, longest), Differences()
    for n in range(60):
        differences.set(str(n), known.compare(teased("form", n, 60), first).difference)
    assert known.differ_more(differences)
    assert not known.differ_more(differences, with_one=True)


def test_where_no_word_ever_changes_a_line_more_is_another_page() -> None:
    """A list of files with the time that it took, and the same without its files (Fossil)."""
    times = [
        (page("again", note=f"in 0.00{n} s"), page("again", note="in 0.005 s")) for n in range(9)
    ]
    less, more = page("tree", note="in 0.004 s"), page("tree", note="main file and more in 0.004 s")
    assert host(40, *times).compare(less, more).same is not True
    times.append((page("other", note="in 0.001 s"), page("other", note="in 0.002 s")))
    assert host(40, *times).compare(less, more).same is False
    assert host(40, *times).compare(less, page("tree", note="in 0.009 s")).same is True
    short = [page("words", 0, f"in 0.004 s {more}") for more in ("", "sort")]
    assert host(40, *times).compare(*short).same is False, "also if nothing else can be compared"
    times.append((page("other", note="one teaser"), page("other", note="a second one")))
    assert host(40, *times).compare(less, more).same is not False, "a word has changed by itself"


@pytest.mark.parametrize(("pairs", "differ"), [(1, False), (8, True)])
def test_where_no_word_has_changed_many_pairs_show_that_pages_differ(
    pairs: int, *, differ: bool
) -> None:
    """Of few answers of one URL, one pair says nothing; forty that all differ do."""
    again = [(page(name_of(n)), page(name_of(n))) for n in range(pairs)]
    known, differences = host(40, *again), Differences()
    for n in range(40):
        two = page(name_of(n)), page(name_of(n), note=f"{FRAME[::-1]} and a few words")
        differences.set(str(n), known.compare(*two).difference)
    assert known.differ_more(differences) is differ


@pytest.mark.parametrize(("others", "differ"), [(3, False), (30, True)])
def test_where_one_number_has_changed_once_many_pairs_show_that_numbers_select(
    others: int, *, differ: bool
) -> None:
    """A page says how long it took, which is nearly always the same; others may change, too."""

    def shown(name: str, price: int = 7, took: int = 5) -> Sketch:
        return page(name, note=f"price {price} euros code {price + 100} in 0.00{took} s")

    again = [(shown(name_of(n)), shown(name_of(n), took=6 if n == 3 else 5)) for n in range(28)]
    known, differences = host(40, *again), Differences()
    for n in range(60):
        found = known.compare(shown(name_of(n)), shown(name_of(n), price=8 if n < others else 7))
        assert found.same is (None if n < others else True), "one pair does not tell"
        differences.set(str(n), found.difference)
    assert known.differ_more(differences) is differ


def offered(name: str, number: int, stock: str = "in stock", words: int = 300) -> Sketch:
    """Return the page of a thing to buy, with a teaser under a tag of its own."""
    text = " ".join(random.Random(name).choices(WORDS, k=words))
    made = sketch(
        f"<title>{name}</title><nav>{FRAME}</nav><main><p>{text}</p><p>costs 12 euros, {stock}</p>"
        f"</main><aside class='teaser'>{TEASERS[number % 7]}</aside>".encode(),
        "text/html",
    )
    assert made is not None
    return made


OFFERED = [(offered(f"thing {n}", n), offered(f"thing {n}", n + 1)) for n in range(12)]


def test_two_words_beside_a_teaser_are_in_doubt() -> None:
    """No shingle of the sketch may tell; the passage does, which no teaser stands in."""
    known = host(40, *OFFERED)
    for name in map(name_of, range(20)):
        one, other = offered(name, 1), offered(name, 2, "sold out")
        assert known.compare(one, offered(name, 2)).same is True
        found = known.compare(one, other)
        assert (found.same, found.in_doubt) == (None, True)
        assert found.steady > 0


def test_sketches_of_an_earlier_version_are_compared_without_passages() -> None:
    known = host(40, *OFFERED)
    new = [offered("thing", 1), offered("thing", 2), offered("thing", 2, "sold out")]
    old = (page._replace(passages="", links=b"") for page in new)
    one, other, gone = (Sketch.decode(page.encode()) for page in old)
    assert one.passages == other.passages == ""
    for pair in ((one, other), (one, new[1]), (new[0], other), (one, gone), (new[0], gone)):
        assert known.compare(*pair).same is True


def test_numbers_are_no_objection_to_a_canonical_link() -> None:
    known = host(40, *TICKS)
    one, other = (page("shirt", note=f"size {s} price {p} euros") for s, p in ((1, 2), (3, 4)))
    assert known.compare(one, other).same is False
    assert not known.are_others(one, other)
    assert known.are_others(one, page("hat"))


def test_a_heading_that_changes_by_itself_counts_no_more() -> None:
    one, other = page("x", title="news"), page("x", title="more news")
    assert host().compare(one, other).same is False
    assert host(40, (one, other)).compare(one, other).same is not False


def test_the_generation_grows_with_pages_and_noise() -> None:
    known = HostText()
    seen = []
    for number in range(40):
        known.add(page(name_of(number)).encode())
        seen.append(known.generation)
    assert seen == sorted(seen)
    assert 10 < seen[-1] < 40
    known.twice(f"{H}/a", *TICKS[0])
    assert known.generation > seen[-1]


@pytest.mark.parametrize("seed", range(5))
def test_answers_do_not_depend_on_the_order(seed: int) -> None:
    sketches = [page(name_of(number), words=30) for number in range(400)]
    calls = [("add", (one.encode(),)) for one in sketches]
    calls += [("twice", (f"{H}/{n}", clock(f"{n}"), clock(f"{n + 1}"))) for n in range(100)]
    calls += [("twice", (f"{H}/lists/{n}", sketches[n], sketches[n])) for n in range(8)]
    calls += [("missing", (page("sorry", note=f"{n}"),)) for n in range(30)]
    answers = []
    for order in (calls, random.Random(seed).sample(calls, len(calls))):
        known = HostText()
        for name, given in order:
            getattr(known, name)(*given)
        rng = random.Random(seed)
        pairs = [rng.choices(sketches, k=2) for _ in range(300)]
        pairs += [[clock("1"), clock("2")], [page("sorry"), page("sorry")]]
        answers.append([known.compare(*pair).same for pair in pairs])
        answers[-1] += [known.compare(*pair, (f"{H}/lists/a",)).same for pair in pairs]
    assert answers[0] == answers[1]


def viewed(times: int) -> Sketch:
    """Return a page that says how often it was viewed, and by how many people."""
    return page("again", note=f"viewed {2 * times} times by {times} people")


def shop() -> HostText:
    """Return a host whose goods count their views, and whose lists always stay as they are."""
    known = host(40, *((viewed(n), viewed(n + 20)) for n in range(4)))
    for n in range(6):
        listed = page(name_of(n), note=f"{n} articles")
        known.twice(f"{H}/goods/list/{n}", listed, listed)
    return known


def test_what_stays_in_one_section_says_nothing_of_another() -> None:
    known = shop()
    ten, eleven = viewed(30), viewed(45)
    goods, lists = (f"{H}/a", f"{H}/a?ref=x"), (f"{H}/goods/list/a", f"{H}/goods/list/a?sort=x")
    assert known.compare(ten, eleven, goods).same is True
    assert known.compare(ten, eleven, lists).same is False, "there no number ever changed"
    assert known.compare(ten, eleven, (goods[0], lists[1])).same is True
    notes = (f"{H}/notes/a/b/c", f"{H}/notes/a/b/c?ref=x")
    found = known.compare(ten, eleven, notes)
    assert (found.same, found.in_doubt) == (None, True), "nothing was seen to change there"
    assert known.compare(ten, ten, notes).same is True
    assert [known.is_still(urls[0]) for urls in (goods, lists)] == [False, True]
    assert known.changes
    assert known.is_measured


def test_of_a_site_that_only_seems_to_stay_all_sections_are_alike() -> None:
    known = HostText()
    for number in range(40):
        known.add(page(name_of(number)).encode())
    for n in range(6):
        listed = page(name_of(n))
        known.twice(f"{H}/goods/list/{n}", listed, listed)
    one, other = page("one", note="price 1 code 2"), page("one", note="price 3 code 4")
    assert known.compare(one, other, (f"{H}/a", f"{H}/b")).same is False
    assert not known.changes


def test_pages_differ_more_than_those_of_their_own_section() -> None:
    """Lists that never change dilute what is measured, and would make goods differ too much."""
    known = HostText()
    for number in range(60):
        known.add(page(name_of(number)).encode())
    again = [said(n, n + 100) for n in range(12)]
    for n, (one, other) in enumerate(again):
        known.twice(f"{H}/goods/{n}", one, other)
    for n in range(40):
        listed = page(name_of(n))
        known.twice(f"{H}/goods/list/{n}", listed, listed)
    found = Differences()
    for n in range(12, 60):
        found.set(f"{H}/goods/{n}", known.compare(*said(n, n + 100)).difference)
    assert not known.differ_more(found)
    for n in range(60):
        found.set(f"{H}/goods/list/{n}", known.compare(*said(n, n + 100)).difference)
    assert known.differ_more(found), "on lists nothing else differs"


def said(number: int, teaser: int) -> tuple[Sketch, Sketch]:
    """Return a page with two teasers."""
    notes = (" ".join(random.Random(n).choices(WORDS, k=12)) for n in (teaser, teaser + 1000))
    one, other = (page(name_of(number), note=note) for note in notes)
    return one, other


@pytest.mark.parametrize(
    ("one", "other", "are_alike"),
    [("a", "a", True), ("a", "b", False), ("a", "a size 7 and other words", True)],
)
def test_pages_are_alike_that_share_half_of_what_is_their_own(
    one: str, other: str, are_alike: bool
) -> None:
    first, second = (page(text[0], note=text[1:], title="") for text in (one, other))
    assert host().are_alike(first, second) is are_alike
