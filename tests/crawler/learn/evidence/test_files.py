"""Pages that are not text: each answer may be another one, as where a PDF holds its date."""

import random
from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count

import pytest
from support.made_pages import WORDS, page
from support.repeated_pages import Site, answer_again, answered

from canonry.crawler.admission.scope import registrable
from canonry.crawler.learn.learner import Learner
from canonry.crawler.learn.life import thresholds
from canonry.storage.learned.tracked_rule import TrackedRule

H = "http://h.example"
TEXTS = 60
clock = count()
Body = Callable[[int, str], bytes]


def text(number: int) -> bytes:
    """Return a page of text, whatever its parameter."""
    words = " ".join(random.Random(number).choices(WORDS, k=80))
    return f"<h1>Item {number}</h1><p>{words}</p>".encode()


def dated(number: int, _end: str) -> bytes:
    """Return a PDF that holds when it was made, whatever its parameter."""
    return b"%%PDF %d made at %d" % (number, next(clock))


def steady(number: int, _end: str) -> bytes:
    """Return a PDF, whatever its parameter."""
    return b"%%PDF %d" % number


def selected(number: int, end: str) -> bytes:
    """Return a PDF that its parameter selects."""
    return b"%%PDF %d %s" % (number, end.encode())


def dated_and_selected(number: int, end: str) -> bytes:
    """Return a PDF that its parameter selects, and that holds when it was made."""
    return dated(number, end) + end.encode()


def site(files: Iterable[tuple[str, Body]]) -> Site:
    """Return pages of text that two names lead to, and files of which two names may be others.

    Args:
        files: the URL of each, and what it answers.
    """
    pages: Site = {}
    for n in range(TEXTS):
        for end in ("", "?print=1"):
            pages[f"{H}/text/{n}{end}"] = partial(text, n)
    for n, (url, body) in enumerate(files):
        for end in ("", "?print=1"):
            pages[f"{H}{url}{end}"] = partial(body, n, end)
    urls = list(pages)
    random.Random(len(urls)).shuffle(urls)
    return {url: pages[url] for url in urls}


def about_print(one: Learner, below: str = "/") -> TrackedRule:
    """Return the rule that the parameter selects nothing, on the whole site or in a part of it."""
    rules = [rule for rule in one.rules("h.example") if rule.rewrite.old == "print"]
    [found] = [rule for rule in rules if rule.rewrite.below == below]
    return found


def crawled(pages: Site) -> tuple[Learner, Counter[str]]:
    """Return a learner that was given pages, and how often it asked for each again."""
    one, asked = Learner(thresholds.load(), registrable), Counter[str]()
    for at, (url, body) in enumerate(pages.items()):
        one.observe(answered(url, body(), float(at)))
        one.decide(float(at))
        for again in one.pages_to_repeat("h.example"):
            asked[again] += 1
            answer_again(one, again, pages[again]())
    one.settle("h.example")
    one.decide(float(len(pages)))
    return one, asked


def learned(pages: Site) -> tuple[TrackedRule, Counter[str]]:
    """Return what was learned of the parameter, and how often each page was asked again."""
    one, asked = crawled(pages)
    return about_print(one), asked


def pdfs(number: int, body: Body, folder: str = "/pdf") -> list[tuple[str, Body]]:
    """Return some PDFs in a folder."""
    return [(f"{folder}/{n}.pdf", body) for n in range(number)]


@pytest.mark.parametrize("number", [1, 2, 5])
def test_a_few_files_that_change_by_themselves_do_not_speak_against_a_rule(number: int) -> None:
    rule, asked = learned(site(pdfs(number, dated)))
    assert (rule.state, rule.disagree) == ("active", 0)
    assert sum(asked.values()) <= 2, "one tells enough, and is asked once"


@pytest.mark.parametrize("number", [2, 5, 30, 60])
def test_files_that_a_parameter_selects_speak_against_its_rule(number: int) -> None:
    rule, asked = learned(site(pdfs(number, selected)))
    assert rule.state != "active"
    assert rule.disagree == number
    assert asked.total() <= 10
    assert set(asked.values()) <= {1}


@pytest.mark.parametrize("body", [dated, dated_and_selected])
@pytest.mark.parametrize("number", [30, 60])
def test_a_folder_of_files_of_which_nothing_can_be_known_keeps_a_rule_back(
    number: int, body: Body
) -> None:
    one, _asked = crawled(site(pdfs(number, body)))
    assert (about_print(one).state, about_print(one).disagree) == ("probation", 0)
    assert about_print(one, "/text/").state == "active"


def test_files_are_not_read_where_pages_of_text_are() -> None:
    rng = random.Random(1)
    pages: Site = {}
    for n, url in enumerate(site(pdfs(12, dated, "/text"))):
        name = url.partition("?")[0]
        number = TEXTS + n if name.endswith(".pdf") else int(name.rpartition("/")[2])
        body = partial(dated, number, "") if name.endswith(".pdf") else partial(page, number, rng)
        pages[url] = body
    rule, asked = learned(pages)
    assert (rule.state, rule.disagree) == ("active", 0)
    files = {url: times for url, times in asked.items() if ".pdf" in url}
    assert set(files.values()) == {1}
    assert asked.keys() - files, "what changes by itself is looked for"


def test_files_in_a_folder_with_text_do_not_keep_a_rule_back_if_they_are_few() -> None:
    assert learned(site(pdfs(20, dated, "/text")))[0].state == "active"
    assert learned(site(pdfs(60, dated, "/text")))[0].state == "probation"


def test_files_that_stay_are_the_same() -> None:
    rule, _asked = learned(site(pdfs(60, steady)))
    assert (rule.state, rule.agree, rule.disagree) == ("active", 2 * TEXTS, 0)


def test_files_with_another_ending_say_nothing_of_whether_files_change() -> None:
    images = [(f"/image/{n}.png", selected) for n in range(5)]
    rule, _asked = learned(site([*images, *pdfs(5, dated)]))
    assert rule.state != "active"
    assert rule.disagree == len(images)


@pytest.mark.parametrize("early", [True, False])
def test_what_files_say_does_not_depend_on_when_one_was_seen_to_change(*, early: bool) -> None:
    pages = site(pdfs(5, dated))
    one, again = Learner(thresholds.load(), registrable), f"{H}/pdf/0.pdf"
    urls = [again, *(url for url in pages if url != again)]
    for at, url in enumerate(urls):
        one.observe(answered(url, pages[url](), float(at)))
        if early and url == again:
            answer_again(one, again, pages[again]())
    if not early:
        answer_again(one, again, pages[again]())
    rule = about_print(one)
    assert (rule.agree, rule.disagree) == (TEXTS, 0)


def test_a_text_that_answers_in_place_of_a_file_says_nothing() -> None:
    pages = site(pdfs(5, selected))
    one = Learner(thresholds.load(), registrable)
    for at, (url, body) in enumerate(pages.items()):
        one.observe(answered(url, body(), float(at)))
    answer_again(one, f"{H}/pdf/0.pdf", b"<h1>Log in</h1>")
    rule = about_print(one)
    assert (rule.agree, rule.disagree) == (TEXTS, 5)
