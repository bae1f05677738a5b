"""The samples of copies: directories that are nearly the same are tested where they may differ."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from canonry.crawler.learn.life.thresholds import Verification
from canonry.crawler.learn.trials.held_urls import held_at, release_in_pairs
from canonry.crawler.learn.trials.occasion import Occasion
from canonry.crawler.learn.trials.watched import Watched, WatchedSite
from canonry.storage.learned.held_names import HeldName, held_among
from canonry.storage.learned.tracked_rule import TrackedRule

if TYPE_CHECKING:
    from canonry.crawler.learn.rules.in_force import RulesInForce

_LOOK_AGAIN = 16  # answers of a site, until it is looked at where its rules are likely to fail
_LARGER = 32  # a site that has answered so often is looked at again after one more answer
_NAMES = 1_000  # that are likely to contradict a rule, and may be held
_LIKELY = 24  # URLs of each rule that are asked because of that
_LOOKS = 8  # for each answer, if the first ones find nothing
_VAIN = 16  # looks in turn that found nothing a rule holds, until other rules are in force


class Copies(Protocol):
    """What is known of directories that are copies of each other."""

    def copies(self, site: str, rules: Sequence[TrackedRule]) -> Sequence[TrackedRule]:
        """Return which rules of a site make one directory another that is nearly the same."""
        ...

    def likely_exceptions(
        self, site: str, rules: Sequence[TrackedRule]
    ) -> Mapping[str, Sequence[str]]:
        """Return by the id of each rule identities that may contradict it; not all are held."""
        ...


class CopiesSampler:
    """Chooses what is asked of directories that are copies of each other.

    Of several directories that have the same pages, some are releases or branches: nearly the
    same, but for what was changed. So their rules need a sample in any case, however small the
    site is; and what differs between two of them is asked of the others, too.
    """

    def __init__(self, limits: Verification, watched: Watched, known: Copies) -> None:
        """Start with no site.

        Args:
            limits: how large the samples are.
            watched: where it is noted.
            known: what is known of copies.
        """
        self._limits = limits
        self._watched = watched
        self._known = known
        self._rules: RulesInForce | None = None  # in force
        self._vain = Counter[str]()  # looks in turn that found nothing of a rule, since then

    def release(self, occasion: Occasion, copies: Sequence[TrackedRule]) -> list[int]:
        """Release more of what rules hold for copies of a directory; return the rows.

        Args:
            occasion: at which that may be due.
            copies: those of its rules that are about copies.
        """
        if not copies or not self._limits.sample:
            return []
        if occasion.in_force is not self._rules:  # a rule may hold what another one held
            self._rules = occasion.in_force
            self._vain.clear()
        active = [rule for rule in copies if rule.state == "active"]
        here = self._watched.site(occasion.site, occasion.now)
        found: dict[HeldName, TrackedRule] = {}
        here.unlooked += occasion.answers
        here.copied += occasion.answers
        if here.unlooked >= max(_LOOK_AGAIN, here.copied // _LARGER):
            here.unlooked = 0
            found |= self._likely_ones(occasion, active)
        self._add_any(found, occasion, active, here)
        return release_in_pairs(occasion, found)

    def _likely_ones(
        self, occasion: Occasion, active: Sequence[TrackedRule]
    ) -> dict[HeldName, TrackedRule]:
        """Return held URLs that may well contradict the rules that hold them."""
        found: dict[HeldName, TrackedRule] = {}
        left = [rule for rule in active if self._watched.sample_of(rule).likely < _LIKELY]
        names = self._known.likely_exceptions(occasion.site, left) if left else {}
        for rule in left:
            sample = self._watched.sample_of(rule)
            keys = occasion.in_force.keys_of(names[rule.id][:_NAMES])
            some = held_among(occasion.connection, keys)[: _LIKELY - sample.likely]
            sample.likely += len(some)
            found |= dict.fromkeys(some, rule)
        return found

    def _add_any(
        self,
        found: dict[HeldName, TrackedRule],
        occasion: Occasion,
        active: Sequence[TrackedRule],
        here: WatchedSite,
    ) -> None:
        """Add held URLs from all over the host, until there is one for each answer."""
        for _ in range(_LOOKS * occasion.answers):
            small = [
                rule
                for rule in active
                if self._watched.tested(rule) < self._limits.sample and self._vain[rule.id] < _VAIN
            ]
            if not small or len(found) >= occasion.answers:
                break
            rule = min(small, key=lambda rule: (self._watched.tested(rule), rule.id))
            one = held_at(here.next_place(), occasion, rule)
            if one is None or one in found:
                self._vain[rule.id] += 1
            else:
                self._vain[rule.id] = 0
                self._watched.sample_of(rule).asked += 1
                found[one] = rule
