"""Words for people: every state has its words, and everything that holds back a rule."""

from typing import get_args

from canonry.canon.learned import RULE_STATES
from canonry.crawler.learn.life.in_words import HELD_BACK, IN_STATE
from canonry.storage.learned.tracked_rule import Hindrance


def test_every_state_has_its_words() -> None:
    assert set(IN_STATE) == set(RULE_STATES)


def test_everything_that_holds_back_a_rule_has_its_words() -> None:
    assert list(HELD_BACK) == list(get_args(Hindrance))
