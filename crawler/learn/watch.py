"""The watch: some of the URLs that active rules hold are asked all the same.

When a rule becomes active, a sample of what it holds is asked soon, from all over the host: the few
paths that made it active tell little about rare exceptions. Then it is one URL now and then, since
a site may change.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, TypeAlias

from sqlalchemy import Connection

from canonry.canon.learned import site_in, without_port
from canonry.crawler.learn.evidence.copies import is_of_copies
from canonry.crawler.learn.in_place import InPlace
from canonry.crawler.learn.life.thresholds import Verification
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.second_trial import held_by
from canonry.storage.learned import history
from canonry.storage.learned.classes import release
from canonry.storage.learned.held_names import HeldName, held_among, held_near
from canonry.storage.learned.tracked_rule import TrackedRule
from canonry.storage.rows.leases import queued_on
from canonry.storage.seen.key_rows import rows_of_keys

_EVERY = 50  # answers of a site, for each URL that is asked
_MORE = 1_000  # answers of a site, after which one more URL is asked at once ...
_AT_ONCE = 4  # ... up to so many: that takes less than to ask them one by one
_TRIED = 3  # rules, if one holds nothing at the place that is looked at
_STRIDE = 0.6180339887498949  # multiples of the golden section spread evenly over the host
_REMEMBERED = 65_536  # sites, and rules
_LOOK_AGAIN = 16  # answers of a site, until it is looked at where its rules are likely to fail
_LARGER = 32  # a site that has answered so often is looked at again after one more answer
_NAMES = 1_000  # that are likely to contradict a rule, and may be held
_LIKELY = 24  # URLs of each rule that are asked because of that
_LOOKS = 8  # for each answer, if the first ones find nothing
_VAIN = 16  # looks for what a rule holds that found nothing, until other rules are in force
_SEVERAL = 2  # rules that make one directory another
_ON_THEIR_WAY = 64  # URLs of a host that are requested next, or are requested already


Likely: TypeAlias = Callable[[str, Sequence[TrackedRule]], Mapping[str, Sequence[str]]]


@dataclass(slots=True)
class _Round:
    """How a site is watched."""

    since: float  # seconds since 1970, when the last round was
    answers: int = 0  # since then
    before: int = 0  # answers until then
    unsampled: int = 0  # answers since a URL of a sample was asked
    copied: int = 0  # answers while rules were active for copies of a directory ...
    unlooked: int = 0  # ... and since it was looked at where they are likely to fail
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
    likely: int = 0  # URLs that were likely to contradict it

    def size(self, rule: TrackedRule) -> int:
        """Return how many paths were tested, those included that have not answered."""
        return max(rule.agree, self.agreed + self.asked)


class Sampled(NamedTuple):
    """What follows from the choice of a sample.

    Attributes:
        sooner: rows that were released, and those that represent them and are to be asked as well.
        later: rows that were deferred, since other names are asked in their place.
        tests: rows as in `sooner`, that no other rule may hold meanwhile.
    """

    sooner: list[int]
    later: list[int]
    tests: Sequence[int] = ()


class Watch:
    """Chooses held URLs to ask: a sample soon, then one for so many answers of a site.

    Attributes:
        in_place: those that are asked in place of what represents them.
    """

    def __init__(self, limits: Verification) -> None:
        """Start with no site.

        Args:
            limits: how large the samples are.
        """
        self._limits = limits
        self._rounds: OrderedDict[str, _Round] = OrderedDict()
        self._samples: OrderedDict[str, _Sample] = OrderedDict()  # by rule
        self._rules: RulesInForce | None = None  # in force
        self._vain = Counter[str]()  # looks for what a rule holds that found nothing, since then
        self.in_place = InPlace()

    def sample(
        self,
        connection: Connection,
        site: str,
        answers: int,
        rules: Sequence[tuple[TrackedRule, bool]],
        in_force: RulesInForce,
        now: float,
    ) -> Sampled:
        """Release a part of the samples of active rules that are not yet large enough.

        With what represents them, they are compared soon. How many paths are tested before a rule
        needs no more depends on how many URLs of the site are fetched. Where canonical links speak
        for a rule, and a page still waits in the queue, a name of it is asked in its place: that
        costs nothing, so it only depends on the rule's sample.

        Args:
            connection: in a writing transaction.
            site: the site.
            answers: how many of its URLs have answered.
            rules: that need a sample, of those that cover the site, or move others to it; each
                with True if canonical links speak for it.
            in_force: the rules that are in force now.
            now: seconds since 1970.
        """
        by_word = {rule.id: is_by_word for rule, is_by_word in rules}
        active, here = self._active(site, (rule for rule, _is_by_word in rules), now)
        here.unsampled += answers if active else 0
        most, here.unsampled = divmod(here.unsampled, self._limits.sample_every)
        if not most or all(self._size(rule) >= self._limits.sample for rule in active):
            return Sampled([], [])
        size = queued_on(connection, without_port(site)) + here.before + here.answers
        largest = self._limits.sample / sqrt(len(active))
        paid = min(largest, self._limits.sample_share * size / len(active))
        found: dict[int, HeldName] = {}
        in_place: dict[int, int] = {}
        may_wait = _waiting(connection)
        for _ in range(most):
            small = [r for r in active if self._size(r) < (largest if by_word[r.id] else paid)]
            if not small:
                break
            rule = min(small, key=lambda rule: (self._size(rule), rule.id))
            place, one = here.next_place(), None
            if by_word[rule.id]:
                one = _held(connection, site, [rule], in_force, place, may_wait)
            if one is not None:
                in_place[one.row] = one.representative
            elif self._size(rule) < paid:
                one = _held(connection, site, [rule], in_force, place)
            self._sample_of(rule).asked += 1  # also in vain: what it holds may be elsewhere
            if one is not None:
                found[one.row] = one
        paired = [one for one in found.values() if one.row not in in_place]
        released = release(connection, in_place) if in_place else []
        waiting = {row: in_place[row] for row in released}
        sooner = released + _released_in_pairs(connection, paired, in_force)
        return Sampled(sooner, self.in_place.add(connection, waiting))

    def sample_copies(
        self,
        connection: Connection,
        site: str,
        answers: int,
        rules: Iterable[TrackedRule],
        in_force: RulesInForce,
        likely: Likely,
        now: float,
    ) -> list[int]:
        """Release more of what rules hold for copies of a directory; return the rows.

        Of several directories that have the same pages, some are releases or branches: nearly the
        same, but for what was changed. So their rules need a sample in any case, however small the
        site is; and what differs between two of them is asked of the others, too.

        Args:
            connection: in a writing transaction.
            site: the site.
            answers: how many of its URLs have answered.
            rules: that cover the site, or move others to it.
            in_force: the rules that are in force now.
            likely: returns by the ids of rules of a site identities that may contradict them; not
                all of these are held.
            now: seconds since 1970.
        """
        copies = [rule for rule in rules if is_of_copies(rule)]
        if len(copies) < _SEVERAL or not self._limits.sample:
            return []
        if in_force is not self._rules:  # a rule may hold what another one held
            self._rules = in_force
            self._vain.clear()
        active, here = self._active(site, copies, now)
        found: dict[int, HeldName] = {}
        here.unlooked += answers
        here.copied += answers
        if here.unlooked >= max(_LOOK_AGAIN, here.copied // _LARGER):
            here.unlooked = 0
            left = [rule for rule in active if self._sample_of(rule).likely < _LIKELY]
            names = likely(site, left) if left else {}
            for rule in left:
                sample = self._sample_of(rule)
                held = held_among(connection, in_force.keys_of(names[rule.id][:_NAMES]))
                some = held[: _LIKELY - sample.likely]
                sample.likely += len(some)
                found |= {one.row: one for one in some}
        for _ in range(_LOOKS * answers):
            small = [
                rule
                for rule in active
                if self._size(rule) < self._limits.sample and self._vain[rule.id] < _VAIN
            ]
            if not small or len(found) >= answers:
                break
            rule = min(small, key=lambda rule: (self._size(rule), rule.id))
            one = _held(connection, site, [rule], in_force, here.next_place())
            if one is None or one.row in found:
                self._vain[rule.id] += 1
            else:
                self._sample_of(rule).asked += 1
                found[one.row] = one
        return _released_in_pairs(connection, list(found.values()), in_force)

    def _active(
        self, site: str, rules: Iterable[TrackedRule], now: float
    ) -> tuple[list[TrackedRule], _Round]:
        """Return which rules of a site are active, and how the site is watched."""
        return [rule for rule in rules if rule.state == "active"], self._round(site, now)

    def _size(self, rule: TrackedRule) -> int:
        """Return how many paths of a rule were tested."""
        return self._sample_of(rule).size(rule)

    def _sample_of(self, rule: TrackedRule) -> _Sample:
        """Return how much of what a rule holds was asked."""
        if rule.id not in self._samples:
            self._samples[rule.id] = _Sample(rule.agree)
            if len(self._samples) > _REMEMBERED:
                self._samples.popitem(last=False)
        return self._samples[rule.id]

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
        active, here = self._active(site, rules, now)
        if not active:
            return []
        here.answers += answers
        most = min(1 + here.before // _MORE, _AT_ONCE)
        if here.answers < most * _EVERY:
            return []
        due = [rule for rule in active if rule.verified_at <= here.since]
        due.sort(key=lambda rule: (rule.verified_at, rule.id))
        here.before += here.answers
        here.answers, here.since = 0, now
        found: dict[int, HeldName] = {}
        for turn in range(most):
            first = turn % max(1, len(due))
            one = _held(connection, site, due[first:], in_force, here.next_place())
            if one is not None:
                found[one.row] = one
        return _released(connection, found.values(), in_force)


def _released(
    connection: Connection, names: Iterable[HeldName], in_force: RulesInForce
) -> list[int]:
    """Release held names, and those between them and what represents them; return the rows.

    Where several rules in turn make a name what represents it, each of them is tested by what it
    makes of what the one before it has made. That is held as well.
    """
    rows = {one.row: None for one in names}
    keys = [key for one in names for key in in_force.keys_on_the_way(one.url)]
    rows |= dict.fromkeys(rows_of_keys(connection, keys).values())
    return release(connection, rows) if rows else []


def _released_in_pairs(
    connection: Connection, names: Collection[HeldName], in_force: RulesInForce
) -> list[int]:
    """Do as `_released`; return the rows, also of what represents the names."""
    released = _released(connection, names, in_force)
    known = set(released)
    return released + [one.representative for one in names if one.row in known]


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
            next_of[host] = frozenset(row for row, _url in first)
        return one.representative not in next_of[host]

    return may_wait


def _held(
    connection: Connection,
    site: str,
    rules: Sequence[TrackedRule],
    in_force: RulesInForce,
    place: float,
    suits: Callable[[HeldName], bool] = lambda _one: True,
) -> HeldName | None:
    """Return a URL that suits and that one of the first of some rules holds, near a place."""
    for rule in rules[:_TRIED]:
        host = without_port(site if rule.rewrite.subdomains else rule.rewrite.host)
        names = filter(suits, held_near(connection, host, place))
        one = next(held_by(rule, names, in_force), None)
        if one is not None:
            return one
    return None
