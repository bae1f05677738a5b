"""A rule as a store has it: what it says, its state, and what was counted for it."""

from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec.structs import astuple

from canonry.canon.learned import Evidence, LearnedRule, Rewrite, RuleState

SAMPLES = 5  # that a rule shows, of those for it and of those against it
IN_FORCE: tuple[RuleState, ...] = ("active", "suspended")  # these rules hold URLs
URLPair: TypeAlias = tuple[str, str]  # identities, in their order


@dataclass(slots=True)
class TrackedRule:
    """A rule with its counters, in classes of URLs; times are seconds since 1970."""

    rewrite: Rewrite
    state: RuleState = "candidate"
    agree: int = 0
    disagree: int = 0
    moved: int = 0  # of those that agree, how many by the site's own word
    tests: int = 0  # URLs that were requested although it could hold them
    first_seen: float = 0.0
    last_seen: float = 0.0
    entered_at: float = 0.0
    spared: int = 0  # URLs that it holds, about: for the order of lists
    samples: list[URLPair] = field(default_factory=list)  # the first few that agree ...
    against: list[URLPair] = field(default_factory=list)  # ... and that do not
    id: str = field(init=False)  # that of what it says

    def __post_init__(self) -> None:
        """Make the id once."""
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
