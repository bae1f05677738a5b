"""Counts with their nouns: one is no plural."""

from canonry.crawler.plurals import counted


def test_one_is_no_plural() -> None:
    assert counted(1, "queued URL") == "1 queued URL"
    assert counted(0, "queued URL") == "0 queued URLs"
    assert counted(2_000, "queued URL") == "2,000 queued URLs"
