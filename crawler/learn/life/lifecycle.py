"""The life of a rule: which state its evidence puts it in. Pure functions of the evidence."""

from bisect import bisect_left
from dataclasses import replace
from math import sqrt
from typing import NamedTuple

from canonry.canon.learned import RuleState
from canonry.crawler.learn.life.prior import Prior
from canonry.crawler.learn.life.thresholds import Threshold
from canonry.storage.learned.tracked_rule import TrackedRule

UNDECIDED: tuple[RuleState, ...] = ("candidate", "probation")  # more evidence is looked for
IN_FORCE: tuple[RuleState, ...] = ("active", "suspended")  # these rules hold URLs
WITHDRAWN: tuple[RuleState, ...] = ("revoked", "frozen")  # only people bring them back
_Z = 1.959964  # of 95 % of a normal distribution
REHABILITATION = 16  # agreeing paths in a row that make a suspended rule active again
_SECOND = 2  # the disagreement that revokes a rule
MOST_MISSING = 10_000  # paths that are looked for


class Standing(NamedTuple):
    """How sure the evidence of a rule makes us, and how sure an active rule has to be.

    Attributes:
        bound: the share of true predictions is above it, with 97.5 % probability.
        needed: the bound of an active rule.
        by_prior: True if experience with other hosts counted.
    """

    bound: float
    needed: float
    by_prior: bool


class Missing(NamedTuple):
    """What a rule still needs to become active, if nothing speaks against it any more.

    Attributes:
        paths: that agree, at most `MOST_MISSING`.
        trial: predictions that hold, in its state; of a candidate, once it is on probation.
        seconds: between the first and the last evidence.
    """

    paths: int
    trial: int
    seconds: float


def lower_bound(agree: int, disagree: int) -> float:
    """Return the lower end of Wilson's score interval at 95 % for a share (Wilson 1927)."""
    n = agree + disagree
    if n == 0:
        return 0.0
    share, z2 = agree / n, _Z * _Z
    spread = _Z * sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    return max(0.0, (share + z2 / (2 * n) - spread) / (1 + z2 / n))


def clean_paths(bound: float) -> float:
    """Return how many agreeing paths, and none against, have a bound by `lower_bound`."""
    return bound / (1 - bound) * _Z * _Z


def standing(rule: TrackedRule, threshold: Threshold, prior: Prior) -> Standing:
    """Return how sure the evidence of a rule makes us.

    Experience with other hosts counts only for rules for a whole host. A rule for a part of a host
    matters where the rule for the whole host has failed; one for subdomains speaks for hosts that
    have not been asked. Once anything contradicts a rule, experience counts at most against it.
    """
    own = lower_bound(rule.agree, rule.disagree)
    whole = rule.rewrite.below == "/" and not rule.rewrite.subdomains
    experienced = prior.bound(rule.agree, rule.disagree) if whole else own
    if rule.disagree:
        return Standing(min(own, experienced), threshold.doubted, by_prior=False)
    if whole:
        return Standing(experienced, threshold.active, by_prior=True)
    needed = threshold.alone if rule.rewrite.subdomains else threshold.part
    return Standing(own, needed, by_prior=False)


def has_paths(rule: TrackedRule, threshold: Threshold) -> bool:
    """Return True if a rule has the fewest agreeing paths that an active rule may have.

    A redirect or a canonical link is the site's own word; equal content is our judgement, and
    needs more paths.
    """
    return min(rule.moved, rule.agree) >= threshold.floor or rule.agree >= threshold.content_floor


def is_proven(rule: TrackedRule, threshold: Threshold, prior: Prior) -> bool:
    """Return True if the evidence of a rule is enough for an active rule, apart from its trial."""
    found = standing(rule, threshold, prior)
    return has_paths(rule, threshold) and found.bound >= found.needed


def next_state(rule: TrackedRule, threshold: Threshold, prior: Prior) -> RuleState:
    """Return the state that a rule's evidence puts it in.

    candidate → probation → active → suspended → revoked; a rule whose redirects go both ways is
    frozen. Only people can bring a rule back from revoked and frozen. Evidence may come late or
    be judged anew, so its counters may grow and shrink between two calls.

    Args:
        rule: with its evidence and its state.
        threshold: of its family.
        prior: of its family.
    """
    if rule.state in WITHDRAWN:
        return rule.state
    if rule.reversed and rule.reversed * 10 >= rule.agree:
        return "frozen"
    if rule.state in IN_FORCE:
        return _after_activation(rule, threshold, prior)
    found = standing(rule, threshold, prior)
    if rule.agree < threshold.probation_floor or found.bound < threshold.probation:
        return "candidate"
    if rule.state == "candidate":
        return "probation"
    return _after_probation(rule, threshold, prior)


def _after_probation(rule: TrackedRule, threshold: Threshold, prior: Prior) -> RuleState:
    """Return the next state of a rule on probation that stays above its bound."""
    if rule.hsts and not rule.disagree:  # the host itself says so: a short trial is enough
        return "active" if rule.trial_agree >= 1 else "probation"
    tried = rule.trial_agree >= _trial(rule, threshold, prior)
    lasted = rule.last_seen - rule.first_seen >= threshold.span
    passed = tried and lasted and is_proven(rule, threshold, prior)
    return "active" if passed else "probation"


def _trial(rule: TrackedRule, threshold: Threshold, prior: Prior) -> int:
    """Return how many predictions have to hold in a probation, or while a rule is suspended."""
    if rule.state == "suspended":
        return REHABILITATION if rule.disagree else threshold.trial_floor
    by_prior = standing(rule, threshold, prior).by_prior
    return threshold.trial_floor if by_prior else threshold.trial_alone


def _after_activation(rule: TrackedRule, threshold: Threshold, prior: Prior) -> RuleState:
    """Return the next state of a rule that was active: a failure suspends, another revokes it."""
    contradicted = rule.disagree > 0 and lower_bound(rule.agree, rule.disagree) < threshold.doubted
    if rule.state == "active":
        return "suspended" if rule.trial_disagree or contradicted else "active"
    if rule.trial_disagree or (contradicted and rule.disagree >= _SECOND):
        return "revoked"
    tried = rule.trial_agree >= _trial(rule, threshold, prior)
    return "active" if tried and is_proven(rule, threshold, prior) else "suspended"


def missing_for(rule: TrackedRule, threshold: Threshold, prior: Prior) -> Missing:
    """Return what a rule that is not active still needs to become active.

    Further paths are taken to be like those for the rule, and their predictions to hold.

    Args:
        rule: a candidate, on probation or suspended.
        threshold: of its family.
        prior: of its family.
    """
    is_suspended = rule.state == "suspended"
    is_short = rule.hsts and not (rule.disagree or is_suspended)  # see `_after_probation`

    def suffices(more: int) -> bool:
        moved = rule.moved + more * bool(rule.moved)
        grown = replace(rule, agree=rule.agree + more, moved=moved)
        bound = standing(grown, threshold, prior).bound
        few = grown.agree < threshold.probation_floor or bound < threshold.probation
        return (is_suspended or not few) and (is_short or is_proven(grown, threshold, prior))

    done = 0 if rule.state == "candidate" else rule.trial_agree
    trial = 1 if is_short else _trial(rule, threshold, prior)
    lasted = rule.last_seen - rule.first_seen
    return Missing(
        bisect_left(range(MOST_MISSING), True, key=suffices),  # noqa: FBT003 - a value
        max(0, trial - done),
        0.0 if is_short or is_suspended else max(0.0, threshold.span - lasted),
    )
