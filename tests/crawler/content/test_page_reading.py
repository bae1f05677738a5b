"""What pages say when they are asked again: what stays in each answer keeps two of them apart."""

import random
from functools import reduce

import pytest

from canonry.crawler.content.page_reading import MOST, PageReading
from canonry.crawler.content.sketch import hashes_of

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdfgklmnprst"]
TEXT = " ".join(random.Random("text").choices(WORDS, k=300))
TEASERS = [" ".join(random.Random(f"teaser {n}").choices(WORDS, k=12)) for n in range(9)]


def read(*bodies: str) -> PageReading:
    """Return the reading of the answers of a page."""
    each = [hashes_of(body.encode(), "text/html") for body in bodies]
    return reduce(
        PageReading.and_then, [PageReading.of(hashes) for hashes in each if hashes is not None]
    )


def shown(own: str, teaser: int) -> str:
    """Return an answer in which a teaser stands under the same tags as what the page says."""
    return f"<h1>Thing</h1><p>{TEXT}</p><p>{own}</p><p>{TEASERS[teaser]}</p><i>{teaser * 31} ms</i>"


def two(own: str, first: int = 0) -> PageReading:
    """Return the reading of two answers."""
    return read(shown(own, first), shown(own, first + 1))


def test_what_changes_by_itself_keeps_no_pages_apart() -> None:
    assert not two("in stock").differences(two("in stock", 2))


@pytest.mark.parametrize(
    "other",
    [
        "sold out",
        "out of stock in",
        "in stock now",
        "in stock for 3 euros",
        '<a href="/thing.epub">in stock</a>',
        '<img src="/red.png"> in stock',
    ],
)
def test_one_word_one_number_one_link_or_another_order_do(other: str) -> None:
    for plain in ("in stock", "out in stock of"):
        assert two(plain).differences(two(other, 2))
        assert two(other, 2).differences(two(plain))


def test_the_value_of_a_number_and_where_a_link_leads_do() -> None:
    assert two("costs 5 euros").differences(two("costs 6 euros", 2))
    epub, plain = ('<a href="/f/1.epub?x=1">get</a>', '<a href="/f/1.txt">get</a>')
    assert two(epub).differences(two(plain, 2))
    assert not two(epub).differences(two('<a href="/f/1.epub?x=2">get</a>', 2)), "nor its query"


def test_what_only_one_answer_has_does_not() -> None:
    answers = [shown("in stock", 0), shown("in stock and reduced", 1)]
    assert not read(*answers).differences(two("in stock", 2))
    assert read(*answers, shown("in stock", 5)).answers == 3


def test_of_a_large_page_a_part_is_compared_that_both_have() -> None:
    long = [" ".join(random.Random(n).choices(WORDS, k=20_000)) for n in range(2)]
    one, other = read(long[0], long[0]), read(long[1], long[1])
    assert len(one.stays) == len(one.shown) == 4 * MOST
    assert one.differences(other)
    cut = PageReading(
        2, one.stays[: 4 * 99], one.shown[: 4 * 99], memoryview(one.stays).cast("I")[98]
    )
    assert not cut.differences(one)
    assert not one.differences(cut)


def test_what_is_settled_is_forgotten_and_how_often_it_was_asked_is_not() -> None:
    assert two("in stock").forgotten == PageReading(2, b"", b"", two("in stock").end)


def test_what_is_not_text_is_not_read() -> None:
    assert hashes_of(b"\0\1", "image/png") is None
    assert hashes_of(b"", "text/html") == b""
