"""The second trial: what a suspended rule holds is asked, a few URLs at a time.

If a site changes after its last link was found, its rules predict nothing any more. Without this
trial, a rule would hold its URLs for ever, even those that have become pages of their own.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice

from sqlalchemy import Connection

from canonry.crawler.learn.life.lifecycle import REHABILITATION
from canonry.crawler.learn.rules.in_force import RulesInForce
from canonry.crawler.learn.trials.held_urls import held_by
from canonry.storage.learned import history
from canonry.storage.learned.classes import release
from canonry.storage.learned.held_names import held_again, held_on, still_awaited
from canonry.storage.learned.tracked_rule import TrackedRule

_AT_ONCE = 5
_APART = 3  # a trial begins with every third of its URLs, then come those between
_LOOKED_AT = 2_000  # URLs that the rule holds


@dataclass(slots=True)
class _Trial:
    """The trial of one rule.

    Attributes:
        asked: rows of URLs that were released.
        size: how many URLs it has.
        planned: rows that come next ...
        exhausted: True if the rule holds nothing any more ...
    """

    asked: list[int] = field(default_factory=list)
    size: int = REHABILITATION
    planned: list[int] = field(default_factory=list)
    exhausted: bool = False

    def forget_held(self) -> None:
        """... as long as the same rules are in force: forget what is known of that."""
        self.planned.clear()
        self.exhausted = False


class SecondTrials:
    """The suspended rules of a crawl, with the URLs that were released for each."""

    def __init__(self) -> None:
        """Start without any."""
        self._trials: dict[str, _Trial] = {}  # by the ids of rules
        self._rules: RulesInForce | None = None  # in force

    def clear(self) -> None:
        """Forget what was released, as after a transaction that was rolled back."""
        self._trials.clear()

    def extend(self, rule: TrackedRule) -> bool:
        """Let a rule's trial go on with one more URL; return False if it was twice as long already.

        So there is another answer, after which the rule is decided on, also at the end of a crawl.
        """
        trial = self._trials.setdefault(rule.id, _Trial())
        if trial.size >= 2 * REHABILITATION:
            return False
        trial.size += 1
        return True

    def undecided(self, connection: Connection, rules: Iterable[TrackedRule]) -> list[TrackedRule]:
        """Return the suspended rules whose trial is over, and did not decide about them.

        All URLs of the trial have answered, but some answers say nothing.
        """
        return [
            rule
            for rule in rules
            if rule.state == "suspended"
            and (trial := self._trials.get(rule.id)) is not None
            and len(trial.asked) >= trial.size
            and len(asked := _asked(connection, trial)) >= trial.size
            and not still_awaited(connection, asked)
        ]

    def release(
        self, connection: Connection, rules: Iterable[TrackedRule], in_force: RulesInForce
    ) -> list[int]:
        """Release some of what suspended rules hold; return the rows, to be asked soon.

        At first these are five URLs; then one more for each that has answered, until they are
        enough to make the rule active again.

        Args:
            connection: in a writing transaction.
            rules: of the sites that have answered.
            in_force: the rules that are in force now.
        """
        if in_force is not self._rules:
            self._rules = in_force
            for trial in self._trials.values():
                trial.forget_held()
        released: list[int] = []
        for rule in rules:
            if rule.state != "suspended":
                self._trials.pop(rule.id, None)
                continue
            trial = self._trials.setdefault(rule.id, _Trial())
            asked = _asked(connection, trial)
            if trial.exhausted or len(asked) >= trial.size:
                continue
            answered = max(rule.trial_agree, len(asked) - still_awaited(connection, asked))
            wanted = min(_AT_ONCE + answered, trial.size) - len(asked)
            if wanted <= 0:
                continue
            if not trial.planned:
                trial.planned = _plan(_held_by(connection, rule, in_force))
                trial.exhausted = not trial.planned
            chosen = release(connection, trial.planned[:wanted])
            del trial.planned[:wanted]
            asked += chosen
            released += chosen
        return released


def _asked(connection: Connection, trial: _Trial) -> list[int]:
    """Return what was released for a trial, without what another rule holds meanwhile.

    That does not answer: others are released in its place.
    """
    again = held_again(connection, trial.asked)
    if again:
        trial.asked[:] = [row for row in trial.asked if row not in again]
    return trial.asked


def _plan(held: Sequence[int]) -> list[int]:
    """Return a trial's rows of those that a rule holds, from all over the host: the first ones too.

    To look at what a rule holds takes long, so they are chosen at once.
    """
    some = held[:: max(1, len(held) // REHABILITATION)][:REHABILITATION]
    return [row for start in range(_APART) for row in some[start::_APART]]


def _held_by(connection: Connection, rule: TrackedRule, in_force: RulesInForce) -> list[int]:
    """Return the rows of the latest URLs that a rule holds."""
    history.index(connection)
    held = held_on(connection, in_force.hosts_of(connection, rule.rewrite))
    return [one.row for one in islice(held_by(rule, held, in_force), _LOOKED_AT)]
