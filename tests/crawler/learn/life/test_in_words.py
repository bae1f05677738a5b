"""Words for people: every state has its words."""

from canonry.canon.learned import RULE_STATES
from canonry.crawler.learn.life.in_words import IN_STATE


def test_every_state_has_its_words() -> None:
    assert set(IN_STATE) == set(RULE_STATES)
