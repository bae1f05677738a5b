"""Counts with their nouns: one is no plural."""

import pytest

from canonry.crawler.plurals import agreement, counted


def test_one_is_no_plural() -> None:
    assert counted(1, "queued URL") == "1 queued URL"
    assert counted(0, "queued URL") == "0 queued URLs"
    assert counted(2_000, "queued URL") == "2,000 queued URLs"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1234, "1,234 pages")]
)
def test_counts_have_their_noun(count: int, text: str) -> None:
    assert counted(count, "page") == text


def test_pages_agree_and_a_page_disagrees() -> None:
    assert agreement(20, 0) == "20 pages agree, 0 disagree"
    assert agreement(1, 1) == "1 page agrees, 1 disagrees"
    assert agreement(2_000, 2, " and") == "2,000 pages agree and 2 disagree"
