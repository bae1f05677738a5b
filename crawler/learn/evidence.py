"""Cases: what speaks for a lesson and against it, and what follows from that."""

from dataclasses import dataclass, field
from math import sqrt

from canonry.canon.learned.families import Lesson
from canonry.canon.learned.ruleset import Evidence, LearnedRule, id_of
from canonry.crawler.learn.thresholds import Threshold

_Z = 1.959964  # of 95 % of a normal distribution
_SAMPLES = 5
_REMEMBERED = 256  # paths; then the memory begins anew
_BACK = 16  # cases in a row that bring a suspended rule back


def lower_bound(agree: int, disagree: int) -> float:
    """Return the lower end of Wilson's score interval at 95 % for a share (Wilson 1927)."""
    n = agree + disagree
    if n == 0:
        return 0.0
    share, z2 = agree / n, _Z * _Z
    spread = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (share + z2 / (2 * n) - spread) / (1 + z2 / n))


@dataclass(slots=True)
class Case:
    """A lesson, its state, and its evidence in distinct paths; times are seconds since 1970.

    ``trial_agree`` and ``trial_disagree`` count what came since the state was entered: only what a
    lesson predicted before it was seen can tell whether it holds.
    """

    lesson: Lesson
    state: str = "candidate"
    agree: int = 0
    disagree: int = 0
    moved: int = 0  # of those that agree, how many by a permanent redirect
    trial_agree: int = 0
    trial_disagree: int = 0
    reversed: int = 0  # redirects seen in the opposite direction
    hsts: bool = False  # the host asks for https itself (RFC 6797)
    first_seen: float = 0.0
    last_seen: float = 0.0
    entered_at: float = 0.0
    verified_at: float = 0.0
    spared: int = 0  # fetches
    samples: list[tuple[str, str]] = field(default_factory=list)
    against: list[tuple[str, str]] = field(default_factory=list)
    fresh: list[tuple[bool, str, str]] = field(default_factory=list)  # samples not yet kept
    heard: set[int] = field(default_factory=set)  # hashes of the paths that were counted

    @property
    def id(self) -> str:
        """Return the rule's name."""
        return id_of(self.lesson)

    def hear(self, path: str, pair: tuple[str, str], now: float, *, agrees: bool) -> bool:
        """Take one piece of evidence; return whether it counts: each path does once."""
        mark = hash((path, agrees))
        if mark in self.heard:
            return False
        if len(self.heard) >= _REMEMBERED:
            self.heard.clear()
        self.heard.add(mark)
        self.first_seen = self.first_seen or now
        self.last_seen = self.verified_at = now
        shown = self.samples if agrees else self.against
        if len(shown) < _SAMPLES:
            shown.append(pair)
            self.fresh.append((agrees, *pair))
        if agrees:
            self.agree += 1
            self.trial_agree += 1
        else:
            self.disagree += 1
            self.trial_disagree += 1
        return True

    def enter(self, state: str, now: float) -> None:
        """Enter a state; what comes from now on is counted anew."""
        self.state, self.entered_at = state, now
        self.trial_agree = self.trial_disagree = 0

    def rule(self) -> LearnedRule:
        """Return the case as a rule, for applying and for people."""
        evidence = Evidence(
            agree=self.agree,
            disagree=self.disagree,
            first_seen=self.first_seen,
            last_seen=self.last_seen,
            samples=tuple(self.samples),
            against=tuple(self.against),
        )
        return LearnedRule(**self.lesson._asdict(), state=self.state, evidence=evidence)  # type: ignore[arg-type]


def next_state(case: Case, threshold: Threshold) -> str:
    """Return the state that a case is in by its evidence.

    candidate → probation → active → suspended → revoked; ``frozen`` is what goes both ways. From
    revoked and frozen there is no way back but by hand.
    """
    if case.state in {"revoked", "frozen"}:
        return case.state
    if case.reversed and case.reversed * 10 >= case.agree:
        return "frozen"
    bound = lower_bound(case.agree, case.disagree)
    asked = threshold.doubted if case.disagree else threshold.active
    if case.state == "candidate":
        return "probation" if bound >= threshold.probation else "candidate"
    if case.state == "probation":
        return _after_probation(case, threshold, bound, asked)
    return _after_publication(case, bound, asked)


def _after_probation(case: Case, threshold: Threshold, bound: float, asked: float) -> str:
    """Return where a case on probation stands: back, still there, or active."""
    if bound < threshold.probation:
        return "candidate"
    trial = lower_bound(case.trial_agree, case.trial_disagree)
    if case.hsts and not case.disagree:  # the host says so itself: a short trial is enough
        return "active" if case.trial_agree >= 1 else "probation"
    held = bound >= asked and trial >= threshold.trial
    return "active" if held and case.last_seen - case.first_seen >= threshold.span else "probation"


def _after_publication(case: Case, bound: float, asked: float) -> str:
    """Return where a case stands that was active: one failure suspends it, another revokes it."""
    if case.trial_disagree:
        return "suspended" if case.state == "active" else "revoked"
    if case.state == "suspended" and case.trial_agree >= _BACK and bound >= asked:
        return "active"
    return case.state
