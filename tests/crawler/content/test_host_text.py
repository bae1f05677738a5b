"""Comparing the pages of a host: template, noise, what is missing; in any order."""

import random

import pytest

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
        made.add(page(name_of(number)))
    for pair in again:
        made.twice(*pair)
    return made


def clock(at: str) -> Sketch:
    """Return a page with a clock."""
    return page("again", note=f"it is {at} now")


TICKS = [(clock(f"10.0{n}"), clock(f"10.1{n}")) for n in range(4)]


def test_a_page_says_the_same_as_its_copy_and_not_as_another() -> None:
    known = host()
    assert known.same(page("one"), page("one")) is True
    assert known.same(page("one"), page("two")) is False
    assert known.same(page("one", title=""), page("two", title="")) is False


def test_a_clock_differs_and_another_number_is_another_page() -> None:
    known = host(40, *TICKS)
    assert known.same(clock("11.30"), clock("11.45")) is True
    assert known.same(clock("11.30 price 3 code 4"), clock("11.45 price 5 code 6")) is not True
    one, other = (page("shirt", note=f"size {s} price {p} euros") for s, p in ((1, 2), (3, 4)))
    assert known.same(one, other) is False
    assert host().same(one, other) is None, "nobody knows what changes by itself"


def test_few_pages_tell_nothing() -> None:
    assert host(2).same(page("one"), page("one")) is None


def test_a_page_without_a_text_of_its_own_cannot_be_compared() -> None:
    assert host().same(page("one", words=0, title=""), page("two", words=0, title="")) is None


def test_what_is_like_the_missing_page_is_no_content() -> None:
    known = host()
    sorry = page("sorry, nothing here", note="request 17")
    assert known.same(sorry, sorry) is True
    before = known.generation
    known.missing(page("sorry, nothing here", note="request 4"))
    assert known.generation > before
    assert known.same(sorry, sorry) is None


def test_a_heading_that_changes_by_itself_counts_no_more() -> None:
    one, other = page("x", title="news"), page("x", title="more news")
    assert host().same(one, other) is False
    assert host(40, (one, other)).same(one, other) is not False


def test_the_generation_grows_with_pages_and_noise() -> None:
    known = HostText()
    seen = []
    for number in range(40):
        known.add(page(name_of(number)))
        seen.append(known.generation)
    assert seen == sorted(seen)
    assert 10 < seen[-1] < 40
    known.twice(*TICKS[0])
    assert known.generation > seen[-1]


@pytest.mark.parametrize("seed", range(5))
def test_answers_do_not_depend_on_the_order(seed: int) -> None:
    sketches = [page(name_of(number), words=30) for number in range(400)]
    calls = [("add", (one,)) for one in sketches]
    calls += [("twice", (clock(f"{n}"), clock(f"{n + 1}"))) for n in range(100)]
    calls += [("missing", (page("sorry", note=f"{n}"),)) for n in range(30)]
    answers = []
    for order in (calls, random.Random(seed).sample(calls, len(calls))):
        known = HostText()
        for name, given in order:
            getattr(known, name)(*given)
        rng = random.Random(seed)
        pairs = [rng.choices(sketches, k=2) for _ in range(300)]
        pairs += [[clock("1"), clock("2")], [page("sorry"), page("sorry")]]
        answers.append([known.same(*pair) for pair in pairs])
    assert answers[0] == answers[1]
