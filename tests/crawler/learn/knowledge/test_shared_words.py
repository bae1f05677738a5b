"""Pages that share all words: of each name one, whatever order they come in."""

import random

from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.learn.knowledge.shared_words import SharedWords

WORDS = b"all words"
URLS = [f"http://h.example/{n % 40}?v={n}" for n in range(120)]


def shared(urls: list[str]) -> SharedWords:
    """Return pages with the same words."""
    found = SharedWords()
    for url in urls:
        found.add(WORDS, url)
    return found


def test_one_page_of_each_name_is_kept() -> None:
    assert not shared([]).pages(WORDS)
    assert shared(URLS[:1]).pages(WORDS) == [URLS[0]]
    assert shared(URLS[:1] + URLS[40:41]).pages(WORDS) == [URLS[0]]
    assert sorted(shared(URLS[:3] + URLS[40:43]).pages(WORDS)) == URLS[:3]
    assert len(shared(URLS).pages(WORDS)) == 16
    assert not shared(URLS).pages(b"others")


@given(st.randoms(use_true_random=False))
def test_no_order_of_pages_matters(rng: random.Random) -> None:
    some = rng.sample(URLS, len(URLS))
    assert shared(some).pages(WORDS) == shared(URLS).pages(WORDS)
