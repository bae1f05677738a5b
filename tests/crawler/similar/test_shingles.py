"""Shingles against plain sets of words, and sketches against exact resemblance."""

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from canonry.crawler.similar.differences import only_in
from canonry.crawler.similar.shingles import (
    MOST_WORDS,
    SHINGLE,
    SKETCH,
    Resemblance,
    Vocabulary,
    band_rows,
    bands_of,
    is_in,
    resemblance,
    shingles_of,
    sketch_of,
)

VOCABULARY = Vocabulary()
PASSAGES = st.lists(
    st.lists(st.sampled_from(["ab", "cd", "ef", "gh", "ij", "kl"]), max_size=9).map(" ".join),
    max_size=6,
)


def plain(passages: list[str]) -> list[tuple[str, ...]]:
    """Return the shingle that begins at each word, as the oracle."""
    found = []
    for passage in passages:
        words = passage.split()
        found += [tuple(words[at : at + SHINGLE]) for at in range(len(words))]
    return found


@given(PASSAGES, PASSAGES)
def test_shingles_are_equal_exactly_where_the_words_are(one: list[str], two: list[str]) -> None:
    here, there = plain(one), plain(two)
    first, second = (shingles_of(text, VOCABULARY)[0] for text in (one, two))
    assert len(first) == len(here)
    assert is_in(first, np.unique(second)).tolist() == [shingle in there for shingle in here]
    if here and there:
        shared, every = len(set(here) & set(there)), len(set(here) | set(there))
        smaller = min(len(set(here)), len(set(there)))
        found = resemblance(np.unique(first), np.unique(second))
        assert found == Resemblance(shared / every, shared / smaller)


def test_words_are_compared_without_case_and_by_letters_where_there_are_no_spaces() -> None:
    one, counts = shingles_of(["Straße, 24.99 EUR!"], VOCABULARY)
    assert one.tolist() == shingles_of(["STRASSE 24 99 eur"], VOCABULARY)[0].tolist()
    assert counts == [4]
    assert shingles_of(["日本語です"], VOCABULARY)[1] == [5]


def test_a_text_without_end_is_cut() -> None:
    shingles, counts = shingles_of(["word " * MOST_WORDS, "more"], VOCABULARY)
    assert len(shingles) == MOST_WORDS
    assert counts == [MOST_WORDS, 0]


@pytest.mark.parametrize("shared", [200, 500, 800, 950])
def test_a_sketch_estimates_the_resemblance(shared: int) -> None:
    numbers = random.Random(shared).sample(range(1 << 62), 2000 - shared)
    one = np.array(sorted(numbers[:1000]), np.uint64)
    two = np.array(sorted(numbers[1000 - shared :]), np.uint64)
    exact = resemblance(one, two).score
    assert abs((sketch_of(one) == sketch_of(two)).mean() - exact) < 4 * 0.5 / SKETCH**0.5


@pytest.mark.parametrize("least", [0.3, 0.5, 0.8, 0.95, 1.0])
def test_bands_miss_few(least: float) -> None:
    rows = band_rows(least)
    assert (1 - least**rows) ** (SKETCH // rows) <= 1 / 200
    if rows < SKETCH:
        assert (1 - least ** (rows + 1)) ** (SKETCH // (rows + 1)) > 1 / 200


def test_only_what_another_text_shares_is_in_a_bucket() -> None:
    random_places = np.random.Generator(np.random.PCG64(1)).integers(0, 1 << 32, (3, SKETCH))
    sketches = random_places.astype(np.uint32)
    sketches[2, :8] = sketches[0, :8]
    first, second, *others = bands_of(sketches, 8)
    assert first[0] == first[2] >= 0
    assert first[1] == -1
    assert all((band == -1).all() for band in (second, *others))


@given(st.lists(st.sampled_from([f"w{n}" for n in range(30)]), min_size=5), st.data())
def test_a_changed_word_is_shown(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words) - 1))
    changed = " ".join([*words[:at], "QQQ", *words[at + 1 :]])
    shingles, counts = shingles_of([changed], VOCABULARY)
    there = np.unique(shingles_of([" ".join(words)], VOCABULARY)[0])
    assert "QQQ" in only_in([changed], counts, shingles, there)
    assert only_in([changed], counts, shingles, np.unique(shingles)) == ""


def test_an_excerpt_has_two_words_around_what_differs() -> None:
    here = ["One two three four, FIVE six seven eight nine.", "The same in both texts."]
    there = ["One two three four, 5 six seven eight nine.", "The same in both texts."]
    shingles, counts = shingles_of(here, VOCABULARY)
    elsewhere = np.unique(shingles_of(there, VOCABULARY)[0])
    assert only_in(here, counts, shingles, elsewhere) == "three four, FIVE six seven"


def test_excerpts_are_short() -> None:
    passages = [" ".join(f"{side}{n}x{k}" for n in range(40)) for k in range(9) for side in "ab"]
    shingles, counts = shingles_of(passages, VOCABULARY)
    shown = only_in(passages, counts, shingles, np.zeros(0, np.uint64))
    assert 100 < len(shown) <= 200
    assert shown.startswith("a0x0 a1x0")
