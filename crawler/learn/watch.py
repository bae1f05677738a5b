"""The watch: some of the URLs that active rules hold are asked all the same.

When a rule becomes active, a sample of what it holds is asked soon, from all over the host: the few
paths that made it active tell little about rare exceptions. Then it is one URL now and then, since
a site may change.
"""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt

from sqlalchemy import Connection

from canonry.canon.learned import without_port
from canonry.crawler.learn.in_force import RulesInForce
from canonry.crawler.learn.life.thresholds import Verification
from canonry.crawler.learn.second_trial import is_held_by
from canonry.storage.learned.classes import release
from canonry.storage.learned.held_names import HeldName, held_near
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.rows.leases import queued_on

_EVERY = 50  # answers of a site, for each URL that is asked
_MORE = 1_000  # answers of a site, after which one more URL is asked at once ...
_AT_ONCE = 4  # ... up to so many: that takes less than to ask them one by one
_TRIED = 3  # rules, if one holds nothing at the place that is looked at
_STRIDE = 0.6180339887498949  # multiples of the golden section spread evenly over the host
_REMEMBERED = 65_536  # sites, and rules


@dataclass(slots=True)
class _Round:
    """How a site is watched."""

    since: float  # seconds since 1970, when the last round was
    answers: int = 0  # since then
    before: int = 0  # answers until then
    unsampled: int = 0  # answers since a URL of a sample was asked
    place: float = 0.0  # among the URLs of the host

    def next_place(self) -> float:
        """Return another place, far from the latest ones."""
        self.place = (self.place + _STRIDE) % 1
        return self.place


@dataclass(slots=True)
class _Sample:
    """How much of what a rule holds was asked."""

    agreed: int  # paths, before the first was asked
    asked: int = 0

    def size(self, rule: TrackedRule) -> int:
        """Return how many paths were tested, those included that have not answered."""
        return max(rule.agree, self.agreed + self.asked)


class Watch:
    """Chooses held URLs to ask: a sample soon, then one for so many answers of a site."""

    def __init__(self, limits: Verification) -> None:
        """Start with no site.

        Args:
            limits: how large the samples are.
        """
        self._limits = limits
        self._rounds: OrderedDict[str, _Round] = OrderedDict()
        self._samples: OrderedDict[str, _Sample] = OrderedDict()  # by rule

    def sample(
        self,
        connection: Connection,
        site: str,
        answers: int,
        rules: Sequence[TrackedRule],
        in_force: RulesInForce,
        now: float,
    ) -> list[int]:
        """Release a part of the samples of active rules that are not yet large enough.

        With what represents them, they are compared soon. How many paths are tested before a rule
        needs no more depends on how many URLs of the site are fetched.

        Args:
            connection: in a writing transaction.
            site: the site.
            answers: how many of its URLs have answered.
            rules: that cover the site, or move others to it; those that need a sample.
            in_force: the rules that are in force now.
            now: seconds since 1970.

        Returns:
            The rows that were released, and those that represent them.
        """
        active = [rule for rule in rules if rule.state == "active"]
        if not active:
            return []
        here = self._round(site, now)
        here.unsampled += answers
        most, here.unsampled = divmod(here.unsampled, self._limits.sample_every)
        if not most or all(self._size(rule) >= self._limits.sample for rule in active):
            return []
        size = queued_on(connection, without_port(site)) + here.before + here.answers
        wanted = min(self._limits.sample, self._limits.sample_share * size) / sqrt(len(active))
        found: dict[int, HeldName] = {}
        for _ in range(most):
            small = [rule for rule in active if self._size(rule) < wanted]
            if not small:
                break
            rule = min(small, key=lambda rule: (self._size(rule), rule.id))
            one = _held(connection, site, [rule], in_force, here.next_place())
            self._samples[rule.id].asked += 1  # also in vain: what it holds may be elsewhere
            if one is not None:
                found[one.row] = one
        released = release(connection, found) if found else []
        return [row for name in released for row in (name, found[name].representative)]

    def _size(self, rule: TrackedRule) -> int:
        """Return how many paths of a rule were tested."""
        if rule.id not in self._samples:
            self._samples[rule.id] = _Sample(rule.agree)
            if len(self._samples) > _REMEMBERED:
                self._samples.popitem(last=False)
        return self._samples[rule.id].size(rule)

    def _round(self, site: str, now: float) -> _Round:
        """Return how a site is watched."""
        here = self._rounds.setdefault(site, _Round(now))
        self._rounds.move_to_end(site)
        if len(self._rounds) > _REMEMBERED:
            self._rounds.popitem(last=False)
        return here

    def release(
        self,
        connection: Connection,
        site: str,
        answers: int,
        rules: Iterable[TrackedRule],
        in_force: RulesInForce,
        now: float,
    ) -> list[int]:
        """Release what a rule holds that was not verified for longest; return the rows.

        Args:
            connection: in a writing transaction.
            site: the site.
            answers: how many of its URLs have answered.
            rules: that cover the site, or move others to it.
            in_force: the rules that are in force now.
            now: seconds since 1970.
        """
        active = [rule for rule in rules if rule.state == "active"]
        if not active:
            return []
        here = self._round(site, now)
        here.answers += answers
        most = min(1 + here.before // _MORE, _AT_ONCE)
        if here.answers < most * _EVERY:
            return []
        due = [rule for rule in active if rule.verified_at <= here.since]
        due.sort(key=lambda rule: (rule.verified_at, rule.id))
        here.before += here.answers
        here.answers, here.since = 0, now
        rows: dict[int, None] = {}
        for turn in range(most):
            first = turn % max(1, len(due))
            one = _held(connection, site, due[first:], in_force, here.next_place())
            if one is not None:
                rows[one.row] = None
        return release(connection, rows) if rows else []


def _held(
    connection: Connection,
    site: str,
    rules: Sequence[TrackedRule],
    in_force: RulesInForce,
    place: float,
) -> HeldName | None:
    """Return a URL that one of the first of some rules holds, near a place."""
    for rule in rules[:_TRIED]:
        host = without_port(site if rule.rewrite.subdomains else rule.rewrite.host)
        for one in held_near(connection, host, place):
            if is_held_by(one, rule, in_force):
                return one
    return None
