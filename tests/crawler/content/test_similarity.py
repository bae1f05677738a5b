"""Whether a URL has answered with another page."""

import random

import pytest
from support.made_pages import WORDS, page

from canonry.crawler.content.similarity import is_another_page
from canonry.crawler.content.sketch import Sketch, sketch


def _sketch(body: bytes) -> Sketch:
    found = sketch(body, "text/html")
    assert found is not None
    return found


def _wall(heading: str, words: int = 60) -> bytes:
    text = " ".join(random.Random("wall").choices(WORDS, k=words))
    return f"<title>{heading}</title><p>{text}</p>".encode()


@pytest.mark.parametrize("seed", range(5))
def test_a_form_to_log_in_is_another_page_and_a_new_teaser_is_not(seed: int) -> None:
    rng = random.Random(seed)
    first = _sketch(page(seed, rng))
    assert is_another_page(first, _sketch(_wall("Are you human?")))
    assert is_another_page(first, _sketch(page(seed + 1, rng)))
    assert not is_another_page(first, _sketch(page(seed, rng)))


def test_a_page_that_has_nothing_in_common_is_another_whatever_its_heading() -> None:
    quotes = [f"<title>Quotes</title><p>{' '.join(WORDS[n : n + 60])}</p>" for n in (0, 30, 60)]
    one, half, other = (_sketch(quote.encode()) for quote in quotes)
    assert is_another_page(one, other)
    assert not is_another_page(one, half)


def test_a_page_with_another_heading_or_another_text_alone_is_no_other() -> None:
    wall = _sketch(_wall("Are you human?"))
    assert not is_another_page(wall, _sketch(_wall("(3) Are you human?")))
    assert not is_another_page(wall, _sketch(_wall("Please wait")))
    assert not is_another_page(_sketch(_wall("x", 5)), _sketch(_wall("y", 4)))
