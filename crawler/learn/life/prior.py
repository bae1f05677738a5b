"""Priors: what is known of a family of rules before a host has said anything. Pure.

How often a rule's predictions are true differs from host to host. A prior describes these shares
as a Beta distribution, fitted on hosts that are known (empirical Bayes; Casella 1985). The
evidence of one host updates it: Beta(a + agree, b + disagree).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from math import ceil, exp, inf, lgamma, log, log1p
from typing import NamedTuple

_TAIL = 0.025  # the lower end of an interval at 95 %
_TINY = 1e-300
_PRECISE = 1e-12
_CLOSE = 1e-9  # in probability
_MEANS = (0.02, 0.99)  # bounds for what a fit may find
_STRENGTHS = (0.5, 40.0)
_PATHS = 64  # of one host; more say little about other hosts, and would make the fit slow
_PSEUDO_PATHS = 24  # of each host that the shipped experience counts for
_STEPS = (0.8, 0.4, 0.2, 0.1, 0.05, 0.02)  # of the fit, in log-odds of the mean and in log strength


class Prior(NamedTuple):
    """What is expected of a rule: it counts like ``a`` paths that agree and ``b`` that do not.

    Attributes:
        a: paths that agree.
        b: paths that disagree.
        hosts: how many known hosts it was fitted on, apart from the shipped experience.
    """

    a: float
    b: float
    hosts: int = 0

    @classmethod
    def of(cls, mean: float, strength: float, hosts: int = 0) -> "Prior":
        """Return a prior by its mean share of true predictions, and for how many paths it counts.

        Both are kept within bounds, so that no prior alone can make a rule.
        """
        mean = min(max(mean, _MEANS[0]), _MEANS[1])
        strength = min(max(strength, _STRENGTHS[0]), _STRENGTHS[1])
        return cls(mean * strength, (1 - mean) * strength, hosts)

    def bound(self, agree: int, disagree: int) -> float:
        """Return what a rule's share of true predictions is above, with 97.5 % probability."""
        return lower_quantile(self.a + agree, self.b + disagree)


def incomplete_beta(a: float, b: float, x: float) -> float:
    """Return the regularized incomplete beta function (DLMF 8.17.2)."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    front = exp(_log_front(a, b, x))
    if x < (a + 1) / (a + b + 2):
        return front / a * _fraction(a, b, x)
    return 1 - front / b * _fraction(b, a, 1 - x)  # DLMF 8.17.4


@lru_cache(maxsize=1 << 16)
def lower_quantile(a: float, b: float) -> float:
    """Return the 2.5 % quantile of a Beta distribution.

    Newton's method on the logarithms of share and probability, where the tail is nearly a line;
    kept within a bracket by bisection.
    """
    low, high = 0.0, 1.0
    x = a / (a + b)
    for _ in range(100):
        below = incomplete_beta(a, b, x)
        if below > _TAIL:
            high = x
        else:
            low = x
        if abs(below - _TAIL) < _CLOSE or high - low < _PRECISE:
            break
        slope = exp(_log_front(a, b, x)) / (1 - x) / below if below > 0 else inf
        guess = x * exp(max(-50.0, min(50.0, (log(_TAIL) - log(below)) / slope))) if below else 0.0
        x = guess if low < guess < high else (low + high) / 2
    return x


def _log_front(a: float, b: float, x: float) -> float:
    """Return the logarithm of x^a (1 - x)^b / B(a, b)."""
    return a * log(x) + b * log1p(-x) - _log_beta(a, b)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


def _fraction(a: float, b: float, x: float) -> float:
    """Return the continued fraction of DLMF 8.17.22, by Lentz's method."""
    c, d = 1.0, 1 - (a + b) * x / (a + 1)
    d = 1 / (d or _TINY)
    found = d
    for m in range(1, 300):
        for step in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / (1 + step * d or _TINY)
            c = 1 + step / c or _TINY
            found *= d * c
        if abs(d * c - 1) < _PRECISE:
            break
    return found


def fit(cases: Iterable[tuple[int, int]], default: Prior, weight: float) -> Prior:
    """Return the prior that best explains how rules of one family ended on several hosts.

    It is the maximum of the Beta-binomial likelihood. The shipped experience takes part as hosts
    that ended as the default expects; so without any case the result is the default.

    Args:
        cases: for each host, how many distinct paths agreed and disagreed.
        default: the shipped experience.
        weight: for how many hosts it counts.
    """
    counted = Counter(_reduced(*case) for case in cases)
    hosts = counted.total()
    weighted: dict[tuple[int, int], float] = dict(counted)
    for agree in range(_PSEUDO_PATHS + 1):
        case = agree, _PSEUDO_PATHS - agree
        share = exp(_log_likelihood({case: 1.0}, default.a, default.b) + _log_choose(*case))
        weighted[case] = weighted.get(case, 0.0) + weight * share
    strength = default.a + default.b
    place = log(default.a / default.b), log(strength)
    best = _log_likelihood(weighted, default.a, default.b)
    found = Prior(default.a, default.b, hosts)
    for step in _STEPS if hosts else ():
        moving = True
        while moving:
            moving = False
            for one, other in ((step, 0.0), (-step, 0.0), (0.0, step), (0.0, -step)):
                odds, size = place[0] + one, place[1] + other
                tried = Prior.of(1 / (1 + exp(-odds)), exp(size), hosts)
                likely = _log_likelihood(weighted, tried.a, tried.b)
                if likely > best + _PRECISE:
                    best, found, moving = likely, tried, True
                    place = log(tried.a / tried.b), log(tried.a + tried.b)
    return found


def _reduced(agree: int, disagree: int) -> tuple[int, int]:
    """Return a case with fewer paths; it keeps a path that disagrees."""
    paths = agree + disagree
    if paths <= _PATHS:
        return agree, disagree
    against = ceil(disagree * _PATHS / paths)
    return _PATHS - against, against


def _log_likelihood(cases: Mapping[tuple[int, int], float], a: float, b: float) -> float:
    """Return the logarithm of the likelihood of weighted cases, without binomial coefficients."""
    known = _log_beta(a, b)
    return sum(
        weight * (_log_beta(a + agree, b + disagree) - known)
        for (agree, disagree), weight in cases.items()
    )


def _log_choose(agree: int, disagree: int) -> float:
    return lgamma(agree + disagree + 1) - lgamma(agree + 1) - lgamma(disagree + 1)
