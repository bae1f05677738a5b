"""The trials of a site's rules, one after the other, whenever URLs of it have answered."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from canonry.crawler.learn.life.thresholds import Verification
from canonry.crawler.learn.questions.to_sample import ToSample
from canonry.crawler.learn.trials.in_place import InPlace
from canonry.crawler.learn.trials.last_look import PairReader, last_look
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.sampling import sample
from canonry.crawler.learn.trials.sampling_copies import Copies, CopiesSampler
from canonry.crawler.learn.trials.second_trial import SecondTrials
from canonry.crawler.learn.trials.watched import Watched
from canonry.crawler.learn.trials.watching import watch
from canonry.storage.learned.tracked_rule import TrackedRule


class TrialEvidence(Copies, PairReader, Protocol):
    """What is known of rules."""

    def to_sample(self, rules: Sequence[TrackedRule]) -> Sequence[ToSample]:
        """Return which rules need a sample."""
        ...


class Released(NamedTuple):
    """What was released to be asked, and what need not be asked soon because of that.

    Attributes:
        sooner: rows that were released, and those that represent them and are to be asked as well.
        later: rows that were deferred, since other names are asked in their place.
        tests: rows as in `sooner`, that no other rule may hold meanwhile.
    """

    sooner: list[int]
    later: list[int]
    tests: list[int]


class SiteTrials:
    """Chooses which held URLs are asked: samples soon, then one for so many answers of a site.

    Attributes:
        second: those of suspended rules.
        in_place: names that are asked in place of what represents them.
    """

    def __init__(self, limits: Verification, evidence: TrialEvidence) -> None:
        """Start with no site.

        Args:
            limits: how large the samples are.
            evidence: what is known of the rules.
        """
        self._limits = limits
        self._evidence = evidence
        self._watched = Watched()
        self._copies = CopiesSampler(limits, self._watched, evidence)
        self.second = SecondTrials()
        self.in_place = InPlace()

    def clear(self) -> None:
        """Forget what was released, as after a transaction that was rolled back."""
        self.second.clear()
        self.in_place.clear()

    def release(self, occasion: Occasion) -> Released:
        """Release some of what the active rules of a site hold.

        Args:
            occasion: at which that may be due.
        """
        single = watch(occasion, self._watched)
        copies = self._evidence.copies(occasion.site, occasion.rules)
        tests = self._copies.release(occasion, copies)
        paired = {rule.id for rule in copies}  # that a page is named does not say it is the same
        rules = [
            one._replace(is_by_word=one.is_by_word and one.rule.id not in paired)
            for one in self._evidence.to_sample(occasion.rules)
        ]
        sampled = sample(occasion, rules, self._watched, self.in_place, self._limits)
        last = last_look(occasion, rules, self._watched, self._evidence)
        return Released(single + sampled.sooner + last, sampled.later, tests)
