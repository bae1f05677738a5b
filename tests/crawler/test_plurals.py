"""Counts with their nouns: one is no plural."""

import pytest

from canonry.crawler.plurals import counted


def test_one_is_no_plural() -> None:
    assert counted(1, "queued URL") == "1 queued URL"
    assert counted(0, "queued URL") == "0 queued URLs"
    assert counted(2_000, "queued URL") == "2,000 queued URLs"


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 pages"), (1, "1 page"), (2, "2 pages"), (1234, "1,234 pages")]
)
def test_counts_have_their_noun(count: int, text: str) -> None:
    assert counted(count, "page") == text
