"""How often a page changes, and when it is due again: a Poisson process. Pure.

A visit shows only whether a page has changed since the last one, not how often. The likelihood of
what irregular visits show is that of J. Cho and H. Garcia-Molina, "Estimating frequency of change"
(ACM TOIT 3(3), 2003), section 5. Pages of one host are alike, so instead of the rate that is most
likely, we keep how likely each of a few rates is; what the host's pages show comes before the first
visit.

The interval is that of their "Effective page refresh policies for web crawlers" (ACM TODS 28(4),
2003): it gives most freshness for all requests together. One more request to a page has to be worth
as much as one more to any other. So a page that changes ten times as often is not asked ten times
as often, and one that changes faster than it can be followed is asked less again. Their optimum
drops it; we do not.
"""

from collections.abc import Callable, Sequence
from functools import partial
from math import exp, expm1, log, sqrt
from typing import NamedTuple

_MINUTE, _YEAR, _STEP = 60.0, 31_557_600.0, 3.0
# Changes a second: from one in ten minutes to one in three years, and never.
RATES = (*(1 / (10 * _MINUTE * _STEP**n) for n in range(12)), 1 / (300 * _YEAR))
_MOST_VISITS = 32  # the weight of all visits together: sites change their habits
_ALIKE = 1e-9  # the least share of a rate on a host, since any page may be the first of its kind
_PEAK = 1.79328  # changes in an interval, where the best interval is shortest: 1 + r + r*r = exp(r)
_WORTH = (1 - exp(-_PEAK) * (1 + _PEAK)) / _PEAK  # of a request there, in intervals
_TOO_FAST = 0.5  # a chance of change within the least interval
# Times the least interval: the longest one of pages that change too fast. With longer ones, a page
# that just can be followed looks like one that cannot: it has changed at every visit, either way.
_SELDOM = 2.0
_PRECISE = 1.01  # the interval is found to a hundredth

Shares = Sequence[float]  # how likely each of `RATES` is; their sum is 1


class IntervalLimits(NamedTuple):
    """The intervals of pages, in seconds."""

    least: float  # of pages that change most; shorter ones are worth no request
    first: float  # of pages of which nothing is known
    most: float  # of pages that never change


class PageHistory(NamedTuple):
    """What visits of a page have shown; older visits count less."""

    visits: float = 0.0
    changes: float = 0.0  # visits that found a change
    changed_for: float = 0.0  # seconds before these visits, each since the visit before
    same_for: float = 0.0  # the same, before visits that found none

    def after(self, seconds: float, *, changed: bool) -> "PageHistory":
        """Return the history with one more visit.

        Args:
            seconds: since the last visit.
            changed: True if the page is another one since.
        """
        kept = 1.0 if self.visits < _MOST_VISITS else 1 - 1 / _MOST_VISITS
        visits, changes, changed_for, same_for = (kept * value for value in self)
        return PageHistory(
            visits + 1,
            changes + changed,
            changed_for + seconds * changed,
            same_for + seconds * (not changed),
        )


class HostHistory(NamedTuple):
    """How the pages of a host change: by rate, the seconds for which pages were watched."""

    watched: tuple[float, ...] = (0.0,) * len(RATES)

    def is_known(self, limits: IntervalLimits) -> bool:
        """Return True if pages were watched for the least interval: a seed may be read sooner."""
        return sum(self.watched) >= limits.least

    def shares(self, limits: IntervalLimits) -> list[float]:
        """Return how likely each rate is for a page that was not visited again yet.

        Before anything is known, all are equally likely; that counts as one page.
        """
        own = limits.first / len(RATES)
        total = sum(self.watched) + limits.first
        return [max((seconds + own) / total, _ALIKE) for seconds in self.watched]

    def after(self, seconds: float, shares: Shares) -> "HostHistory":
        """Return the history with one more visit of a page, of which this is known now.

        A page counts by the time for which it was watched, not by its visits: else those that are
        visited most would stand for all.
        """
        return HostHistory(
            tuple(
                known + seconds * share for known, share in zip(self.watched, shares, strict=True)
            )
        )


def shares_of(history: PageHistory, before: Shares) -> list[float]:
    """Return how likely each rate is after the visits of a page.

    Args:
        history: of the page.
        before: how likely each rate is without these visits.
    """
    gap = history.changed_for / history.changes if history.changes else 0.0
    logs = [
        log(share) - rate * history.same_for + history.changes * _log_of_change(rate * gap)
        for share, rate in zip(before, RATES, strict=True)
    ]
    highest = max(logs)
    weights = [exp(one - highest) for one in logs]
    total = sum(weights)
    return [weight / total for weight in weights]


def _log_of_change(expected: float) -> float:
    """Return the logarithm of the chance to see a change where so many are expected."""
    return log(-expm1(-expected)) if expected > 0 else 0.0


def interval(shares: Shares, limits: IntervalLimits, *, is_followed: bool = False) -> float:
    """Return the seconds until the next visit of a page.

    Args:
        shares: how likely each rate is.
        limits: of intervals. The least one says what a request has to be worth.
        is_followed: True if the page is worth its requests even if it changes too fast.
    """
    price = _WORTH * limits.least
    low, high = limits.least, max(limits.least, limits.most)
    if is_too_fast(shares, limits):
        high = low if is_followed else min(high, low * _SELDOM)
    while high > low * _PRECISE:
        middle = sqrt(low * high)
        worth = _by_rate(shares, partial(_worth, seconds=middle))
        low, high = (low, middle) if worth > price else (middle, high)
    return low


def is_too_fast(shares: Shares, limits: IntervalLimits) -> bool:
    """Return True if a page has probably changed again by the time of the next request."""
    return _by_rate(shares, lambda rate: -expm1(-rate * limits.least)) > _TOO_FAST


def _by_rate(shares: Shares, of: Callable[[float], float]) -> float:
    """Return what is to be expected of something that depends on the rate."""
    return sum(share * of(rate) for share, rate in zip(shares, RATES, strict=True))


def _worth(rate: float, seconds: float) -> float:
    """Return the seconds of freshness that one more request adds, at an interval."""
    expected = rate * seconds
    return -(expm1(-expected) + expected * exp(-expected)) / rate


# Dates in sitemaps and feeds are believed on hosts where they were right.
_ENOUGH = 3  # changes that were told
_SURE = 4  # times as many have to be right as wrong
_MOST = 200.0
PATIENCE = 4.0  # times the interval, for pages whose date would tell


class LastmodTrust(NamedTuple):
    """How often dates were right on a host; older visits count less."""

    moved_changed: float = 0.0  # visits of pages with a new date, which had changed
    moved_same: float = 0.0  # ... and had not
    rested_changed: float = 0.0  # the same, of pages with the old date
    rested_same: float = 0.0

    def after(self, *, moved: bool, changed: bool) -> "LastmodTrust":
        """Return it with one more visit."""
        kept = self if sum(self) < _MOST else LastmodTrust(*(number / 2 for number in self))
        at = 2 * (not moved) + (not changed)
        return LastmodTrust(*(number + (place == at) for place, number in enumerate(kept)))

    @property
    def is_believed(self) -> bool:
        """True if pages with a new date have changed, and those that have changed have a new date.

        Where all dates are new, they tell no page from another, however often pages change.
        """
        wrong = _SURE * max(self.moved_same, self.rested_changed)
        return self.moved_changed >= max(_ENOUGH, wrong) and self.rested_same >= _ENOUGH


def is_moved(listed: float, listed_then: float | None, seen_at: float) -> bool:
    """Return True if a date says that a page has changed since the last visit.

    Args:
        listed: the date; it may be a day without a time.
        listed_then: as of the last visit; None: there was none.
        seen_at: when that was.
    """
    return listed > (seen_at if listed_then is None else listed_then)
