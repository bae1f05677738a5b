"""A rule as a store holds it: its rewrite, its state and its counters."""

from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import astuple

from canonry.canon.learned import Evidence, LearnedRule, Rewrite, RuleState

SAMPLES = 5  # pairs that a rule shows, for it and against it each
IN_FORCE: tuple[RuleState, ...] = ("active", "suspended")  # these rules hold URLs
URLPair: TypeAlias = tuple[str, str]  # two identities, sorted


@dataclass(slots=True)
class TrackedRule:
    """A rule with counts of classes that agree and disagree; times are seconds since 1970."""

    rewrite: Rewrite
    state: RuleState = "candidate"
    agree: int = 0
    disagree: int = 0
    confirmed: int = 0  # of those that agree, how many by the site's own word
    tests: int = 0  # URLs that were requested although it could hold them
    first_seen: float = 0.0
    last_seen: float = 0.0
    entered_at: float = 0.0
    spared: int = 0  # approximate number of URLs that it holds; sorts lists
    samples: list[URLPair] = field(default_factory=list)  # the first few that agree ...
    against: list[URLPair] = field(default_factory=list)  # ... and that do not
    id: str = field(init=False)  # the id of its rewrite

    def __post_init__(self) -> None:
        """Compute the id once."""
        self.id = self.rewrite.id

    def enter(self, state: RuleState, now: float) -> None:
        """Enter a state."""
        self.state, self.entered_at = state, now

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
