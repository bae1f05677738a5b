"""A rule while it is being learned: what it says, its state, and all that was counted for it."""

from dataclasses import dataclass, field
from typing import NamedTuple

from msgspec.structs import astuple

from canonry.canon.learned import Evidence, LearnedRule, Rewrite, RuleState

_SAMPLES = 5
_REMEMBERED = 256  # paths; then it forgets all of them


class Sample(NamedTuple):
    """A piece of evidence: a URL, and what it was found to be."""

    agrees: bool
    url: str
    found: str


@dataclass(slots=True)
class TrackedRule:
    """A rule with its counters, in distinct paths; times are seconds since 1970.

    ``trial_agree`` and ``trial_disagree`` count what came since the rule entered its state: only
    what a rule predicted before it was seen can show whether it holds.
    """

    rewrite: Rewrite
    state: RuleState = "candidate"
    agree: int = 0
    disagree: int = 0
    moved: int = 0  # of those that agree, how many by a permanent redirect
    trial_agree: int = 0
    trial_disagree: int = 0
    reversed: int = 0  # redirects in the opposite direction
    hsts: bool = False  # the host itself requires https (RFC 6797)
    first_seen: float = 0.0
    last_seen: float = 0.0
    entered_at: float = 0.0
    verified_at: float = 0.0
    spared: int = 0  # fetches
    samples: list[tuple[str, str]] = field(default_factory=list)
    against: list[tuple[str, str]] = field(default_factory=list)
    unsaved: list[Sample] = field(default_factory=list)  # not yet in the store
    counted: set[int] = field(default_factory=set)  # hashes of the paths that were counted

    @property
    def id(self) -> str:
        """Return the rule's id."""
        return self.rewrite.id

    def count(self, path: str, pair: tuple[str, str], now: float, *, agrees: bool) -> bool:
        """Count a piece of evidence; return False if its path was counted before."""
        mark = hash((path, agrees))
        if mark in self.counted:
            return False
        if len(self.counted) >= _REMEMBERED:
            self.counted.clear()
        self.counted.add(mark)
        self.first_seen = self.first_seen or now
        self.last_seen = self.verified_at = now
        samples = self.samples if agrees else self.against
        if len(samples) < _SAMPLES:
            samples.append(pair)
            self.unsaved.append(Sample(agrees, *pair))
        if agrees:
            self.agree += 1
            self.trial_agree += 1
        else:
            self.disagree += 1
            self.trial_disagree += 1
        return True

    def enter(self, state: RuleState, now: float) -> None:
        """Enter a state, and start to count its trial."""
        self.state, self.entered_at = state, now
        self.trial_agree = self.trial_disagree = 0

    def as_learned(self) -> LearnedRule:
        """Return the rule as users see it and as rule sets apply it."""
        evidence = Evidence(
            agree=self.agree,
            disagree=self.disagree,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
            samples=tuple(self.samples),
            against=tuple(self.against),
        )
        return LearnedRule(*astuple(self.rewrite), state=self.state, evidence=evidence)
