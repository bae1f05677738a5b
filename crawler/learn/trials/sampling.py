"""The sample: some of what a rule holds is asked soon after it became active, all over the host.

The few paths that made it active tell little about rare exceptions.
"""

from collections.abc import Callable, Sequence
from math import sqrt
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from canonry.canon.learned import site_in, without_port
from canonry.crawler.learn.life.thresholds import Verification
from canonry.crawler.learn.questions.to_sample import ToSample
from canonry.crawler.learn.trials.held_urls import count_as_asked, held_at, release_in_pairs
from canonry.crawler.learn.trials.in_place import InPlace
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.watched import Watched
from canonry.storage.learned import history
from canonry.storage.learned.classes import release
from canonry.storage.learned.held_names import HeldName
from canonry.storage.rows.leases import queued_on

if TYPE_CHECKING:
    from canonry.storage.learned.tracked_rule import TrackedRule

_FEWEST = 4  # URLs of a rule that are asked, however small the share is
_PACE = 6  # answers of a site, for each URL of a rule that rests on pages that were read
_ON_THEIR_WAY = 64  # URLs of a host that are requested next, or are requested already


class Sampled(NamedTuple):
    """What follows from the choice of a sample.

    Attributes:
        sooner: rows that were released, and those that represent them and are to be asked as well.
        later: rows that were deferred, since other names are asked in their place.
    """

    sooner: list[int]
    later: list[int]


class _Budget(NamedTuple):
    """How much of each rule is tested.

    Attributes:
        watched: how much was.
        largest: paths of a rule, if tests cost nothing.
        paid: paths of a rule, if they do.
    """

    watched: Watched
    largest: float
    paid: float = 0.0

    def tested(self, one: ToSample) -> float:
        """Return how many paths of a rule were tested, for a sample of the usual size."""
        count = self.watched.asked if one.is_by_asking else self.watched.tested
        return count(one.rule) / one.size

    def is_enough(self, one: ToSample) -> bool:
        """Return True if a rule needs no more tests."""
        return self.tested(one) >= self.largest

    def is_paid(self, one: ToSample) -> bool:
        """Return True if there may be one more test of a rule that costs requests."""
        return self.tested(one) < min(self.largest, self.paid)

    def are_few(self, one: ToSample) -> bool:
        """Return True if so few URLs of a rule were asked that one more is, whatever it costs."""
        return self.watched.asked(one.rule) < _FEWEST and not self.is_enough(one)

    def wants(self, one: ToSample) -> bool:
        """Return True if there may be one more test of a rule."""
        is_free = one.is_by_word and not self.is_enough(one)
        return is_free or self.is_paid(one) or self.are_few(one)


def sample(
    occasion: Occasion,
    rules: Sequence[ToSample],
    watched: Watched,
    in_place: InPlace,
    limits: Verification,
) -> Sampled:
    """Release a part of the samples of active rules that are not yet large enough.

    With what represents them, they are compared soon. How many paths are tested before a rule
    needs no more depends on how many URLs of the site are fetched. Where canonical links speak
    for a rule, and a page still waits in the queue, a name of it is asked in its place: that
    costs nothing, so it only depends on the rule's sample. A rule that rests on pages that were
    read is tested by what is met later, as long as the crawl goes on: what it was proven with were
    the first pages. A mix of parameters is tested more, whatever it was proven with: what is asked
    tests some of its names.

    Every second name of a sample is that of a large page: a parameter that limits how much of a
    list is shown selects nothing where the list is short. Where a sample is very small, since most
    pages were fetched before the rule was proven, the first few are all of that kind.

    Args:
        occasion: at which that may be due; its rules are not looked at.
        rules: of the site that need a sample once they are active.
        watched: where it is noted.
        in_place: gets the names that are asked in place of what represents them.
        limits: how large the samples are.
    """
    active = [one for one in rules if one.rule.state == "active"]
    here = watched.site(occasion.site, occasion.now)
    here.unsampled += occasion.answers if active else 0
    most, here.unsampled = divmod(here.unsampled, limits.sample_every)
    if not most or not active:
        return Sampled([], [])
    budget = _Budget(watched, limits.sample / sqrt(len(active)))
    if all(budget.is_enough(one) for one in active):
        return Sampled([], [])
    waiting = queued_on(occasion.connection, without_port(occasion.site))
    share = limits.sample_share * (waiting + here.in_all)
    budget = budget._replace(paid=share / len(active))
    found: dict[HeldName, TrackedRule] = {}
    instead: dict[int, int] = {}
    may_wait = _waiting(occasion.connection)
    for _ in range(most):
        small = [
            one
            for one in active
            if budget.wants(one)
            and (not one.is_by_reading or watched.is_due(one.rule, here, _PACE))
        ]
        if not small:
            break
        least = min(small, key=lambda one: (budget.tested(one), one.rule.id))
        rule, place, name = least.rule, here.next_place(), None
        if least.is_by_word:
            name = held_at(place, occasion, rule, may_wait)
        if name is not None:
            instead[name.row] = name.representative
        elif budget.is_paid(least) or budget.are_few(least):
            is_large = here.has_turned or not budget.is_paid(least)
            name = held_at(place, occasion, rule, largest=is_large)
        watched.sample_of(rule).asked += 1  # also in vain: what it holds may be elsewhere
        if name is not None:
            found[name] = rule
    paired = {one: rule for one, rule in found.items() if one.row not in instead}
    released = release(occasion.connection, instead) if instead else []
    count_as_asked(occasion, found, released)
    sooner = released + release_in_pairs(occasion, paired)
    added = in_place.add(occasion.connection, {row: instead[row] for row in released})
    return Sampled(sooner, added)


def _waiting(connection: Connection) -> Callable[[HeldName], bool]:
    """Return what tells whether the page that represents a name waits, and is not asked soon.

    What is requested next may be on its way already; then the page would be fetched twice.
    """
    next_of: dict[str, frozenset[int]] = {}  # rows, by host

    def may_wait(one: HeldName) -> bool:
        if not one.may_wait:
            return False
        host = without_port(site_in(one.represented_by))
        if host not in next_of:
            first = history.queued_of(connection, host, _ON_THEIR_WAY, 0)
            next_of[host] = frozenset(row for some in first for row, _url in some)
        return one.representative not in next_of[host]

    return may_wait
