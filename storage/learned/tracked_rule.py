"""A rule while it is being learned: what it says, its state, and all that was counted for it."""

from dataclasses import dataclass, field
from typing import Literal, NamedTuple, TypeAlias

from msgspec.structs import astuple

from canonry.canon.learned import Evidence, LearnedRule, Rewrite, RuleState

# Why a rule with evidence enough does not act; see `canonry.crawler.learn.life.in_words`.
Hindrance: TypeAlias = Literal[
    "exceptions",
    "selects",
    "copies-differ",
    "undecided",
    "covered",
    "parts",
    "unlike",
    "chance",
    "unproven",
]
SAMPLES = 5  # that a rule shows, of those for it and of those against it


class Counts(NamedTuple):
    """Evidence, in distinct paths."""

    agree: int = 0
    disagree: int = 0
    moved: int = 0  # of those that agree, how many by redirects and canonical links
    reversed: int = 0  # redirects in the opposite direction


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
    moved: int = 0  # of those that agree, how many by redirects and canonical links
    trial_agree: int = 0
    trial_disagree: int = 0
    reversed: int = 0  # redirects in the opposite direction
    hsts: bool = False  # the host itself requires https (RFC 6797)
    first_seen: float = 0.0
    last_seen: float = 0.0
    entered_at: float = 0.0
    verified_at: float = 0.0
    spared: int = 0  # fetches
    held_back: Hindrance | None = None  # although its evidence is enough
    samples: list[tuple[str, str]] = field(default_factory=list)
    against: list[tuple[str, str]] = field(default_factory=list)
    unsaved: list[Sample] = field(default_factory=list)  # not yet in the store
    withdrawn: list[Sample] = field(default_factory=list)  # still in the store
    given: Counts = field(
        default_factory=Counts
    )  # evidence that rests on facts which are not at hand
    id: str = field(init=False)  # that of what it says

    def __post_init__(self) -> None:
        """Make the id once: it is asked for with every answer of a site."""
        self.id = self.rewrite.id

    def set_counts(self, counts: Counts) -> None:
        """Set what the facts at hand say; what rests on other facts is added to it."""
        agree, disagree, moved, reverse = map(int.__add__, self.given, counts)
        self.agree, self.disagree, self.moved, self.reversed = agree, disagree, moved, reverse

    def restart(self, counts: Counts) -> None:
        """Take what was stored as given, as far as the facts at hand do not say it as well."""
        stored = (self.agree, self.disagree, self.moved, self.reversed)
        self.given = Counts(*(max(0, n - m) for n, m in zip(stored, counts, strict=True)))
        self.set_counts(counts)

    def update(self, counts: Counts, at: float, *, predicted: bool) -> tuple[int, int]:
        """Set what the facts at hand say, after a fact or a judgement has changed it.

        Args:
            counts: the evidence of all facts at hand.
            at: when what changed it became known; seconds since 1970.
            predicted: True if the rule was known before the fact, so that it counts for the trial.

        Returns:
            How many paths more (or fewer) speak for the rule, and against it.
        """
        agree, disagree = self.agree, self.disagree
        self.set_counts(counts)
        more, against = self.agree - agree, self.disagree - disagree
        if predicted or more < 0:
            self.trial_agree = max(0, self.trial_agree + more)
        if predicted or against < 0:
            self.trial_disagree = max(0, self.trial_disagree + against)
        if more > 0 or against > 0:
            self.first_seen = self.first_seen or at
            self.last_seen = self.verified_at = max(at, self.last_seen)
        return more, against

    def add_sample(self, url: str, found: str, *, agrees: bool) -> None:
        """Remember a piece of evidence by name: the first few of each side."""
        samples = self.samples if agrees else self.against
        if len(samples) < SAMPLES and (url, found) not in samples:
            samples.append((url, found))
            self.unsaved.append(Sample(agrees, url, found))

    def shows_enough(self, *, agrees: bool) -> bool:
        """Return True if evidence is named, or there is none to name."""
        return bool(self.samples if agrees else self.against) or not (
            self.agree if agrees else self.disagree
        )

    def withdraw_sample(self, url: str, *, agrees: bool) -> None:
        """Forget a piece of evidence: more is known of the URL, and it says that no more."""
        samples = self.samples if agrees else self.against
        for pair in [pair for pair in samples if pair[0] == url]:
            samples.remove(pair)
            sample = Sample(agrees, *pair)
            if sample in self.unsaved:
                self.unsaved.remove(sample)
            else:
                self.withdrawn.append(sample)

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
