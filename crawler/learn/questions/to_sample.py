"""To sample: which active rules are tested by a sample of what they hold, and how. Pure."""

from math import sqrt
from typing import NamedTuple

from canonry.crawler.learn.evidence.mixes import MIX
from canonry.crawler.learn.questions.choosing import is_by_word
from canonry.crawler.learn.tallies.tally import RuleTally
from canonry.storage.learned.tracked_rule import TrackedRule


class ToSample(NamedTuple):
    """A rule that may be wrong now and then, so that a sample would tell.

    Attributes:
        rule: it.
        is_by_word: True if it is mostly the site's canonical links that speak for it.
        is_by_reading: True if it merges many pages that only count if others were read. Those were
            the first that were met, and tell little of what comes later.
        names: how many it is about, if it is a mix of parameters. What is asked tests some of them.
    """

    rule: TrackedRule
    is_by_word: bool = False
    is_by_reading: bool = False
    names: int = 1

    @property
    def size(self) -> float:
        """How large its sample is, if that of most rules is 1."""
        return sqrt(self.names)

    @property
    def is_by_asking(self) -> bool:
        """True if it is tested by what is asked for its sample, and not by what has proven it."""
        return self.is_by_reading or self.names > 1


def to_sample(rule: TrackedRule, tally: RuleTally | None) -> ToSample | None:
    """Return how a rule is tested; None if it need not be.

    It need not if the host itself requires https, or if it is about parameters that look like
    sessions: nothing can be selected by a value that is new in each link.
    """
    if rule.hsts or (tally is not None and tally.suspected):
        return None
    names = rule.rewrite.old.count("&") + 1 if rule.rewrite.family == MIX else 1
    if tally is None:
        return ToSample(rule, names=names)
    return ToSample(rule, is_by_word(tally), tally.is_by_reading, names)
