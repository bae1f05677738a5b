"""The life of a rule: which state its evidence puts it in."""

from math import sqrt

from canonry.canon.learned import RuleState
from canonry.crawler.learn.life.thresholds import Threshold
from canonry.storage.learned.tracked_rule import TrackedRule

IN_FORCE: tuple[RuleState, ...] = ("active", "suspended")  # these rules hold URLs
_Z = 1.959964  # of 95 % of a normal distribution
_REHABILITATION = 16  # agreeing paths in a row that make a suspended rule active again


def lower_bound(agree: int, disagree: int) -> float:
    """Return the lower end of Wilson's score interval at 95 % for a share (Wilson 1927)."""
    n = agree + disagree
    if n == 0:
        return 0.0
    share, z2 = agree / n, _Z * _Z
    spread = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (share + z2 / (2 * n) - spread) / (1 + z2 / n))


def next_state(rule: TrackedRule, threshold: Threshold) -> RuleState:
    """Return the state that a rule's evidence puts it in.

    candidate → probation → active → suspended → revoked; a rule whose redirects go both ways is
    frozen. Only people can bring a rule back from revoked and frozen.
    """
    if rule.state in {"revoked", "frozen"}:
        return rule.state
    if rule.reversed and rule.reversed * 10 >= rule.agree:
        return "frozen"
    bound = lower_bound(rule.agree, rule.disagree)
    needed = threshold.doubted if rule.disagree else threshold.active
    if rule.state == "candidate":
        return "probation" if bound >= threshold.probation else "candidate"
    if rule.state == "probation":
        return _after_probation(rule, threshold, bound, needed)
    return _after_activation(rule, bound, needed)


def _after_probation(
    rule: TrackedRule, threshold: Threshold, bound: float, needed: float
) -> RuleState:
    """Return the next state of a rule on probation: candidate, probation or active."""
    if bound < threshold.probation:
        return "candidate"
    trial = lower_bound(rule.trial_agree, rule.trial_disagree)
    if rule.hsts and not rule.disagree:  # the host itself says so: a short trial is enough
        return "active" if rule.trial_agree >= 1 else "probation"
    passed = bound >= needed and trial >= threshold.trial
    lasted = rule.last_seen - rule.first_seen >= threshold.span
    return "active" if passed and lasted else "probation"


def _after_activation(rule: TrackedRule, bound: float, needed: float) -> RuleState:
    """Return the next state of a rule that was active: a failure suspends, another revokes it."""
    if rule.trial_disagree:
        return "suspended" if rule.state == "active" else "revoked"
    if rule.state == "suspended" and rule.trial_agree >= _REHABILITATION and bound >= needed:
        return "active"
    return rule.state
