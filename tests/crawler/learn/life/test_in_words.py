"""Words for people: one is no plural, and every state has its words."""

from canonry.canon.learned import RULE_STATES
from canonry.crawler.learn.life.in_words import IN_STATE, counted


def test_one_is_no_plural() -> None:
    assert counted(1, "queued URL") == "1 queued URL"
    assert counted(0, "queued URL") == "0 queued URLs"
    assert counted(2_000, "queued URL") == "2,000 queued URLs"


def test_every_state_has_its_words() -> None:
    assert set(IN_STATE) == set(RULE_STATES)
