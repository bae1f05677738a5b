"""The second trial: what a suspended rule holds is asked, a few URLs at a time.

If a site changes after its last link was found, its rules predict nothing any more. Without this
trial, a rule would hold its URLs for ever, even those that have become pages of their own.
"""

from collections import Counter
from collections.abc import Iterable
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
_APART = 3  # the first ones are every third of a trial
_LOOKED_AT = 2_000  # URLs that the rule holds


class SecondTrials:
    """The suspended rules of a crawl, with the URLs that were released for each."""

    def __init__(self) -> None:
        """Start without any."""
        self._released: dict[str, list[int]] = {}
        self._longer = Counter[str]()  # by how many URLs a trial was made longer
        self._planned: dict[str, list[int]] = {}  # what comes next for each rule, by its id ...
        self._exhausted: set[str] = set()  # ids of rules that hold nothing any more ...
        self._rules: RulesInForce | None = None  # ... as long as these rules are in force

    def clear(self) -> None:
        """Forget what was released, as after a transaction that was rolled back."""
        self._released.clear()
        self._longer.clear()
        self._planned.clear()
        self._exhausted.clear()

    def extend(self, rule: TrackedRule) -> bool:
        """Let a rule's trial go on with one more URL; return False if it was twice as long already.

        So there is another answer, after which the rule is decided on, also at the end of a crawl.
        """
        if self._longer[rule.id] >= REHABILITATION:
            return False
        self._longer[rule.id] += 1
        return True

    def undecided(self, connection: Connection, rules: Iterable[TrackedRule]) -> list[TrackedRule]:
        """Return the suspended rules whose trial is over, and did not decide about them.

        All URLs of the trial have answered, but some answers say nothing.
        """
        return [
            rule
            for rule in rules
            if rule.state == "suspended"
            and len(self._released.get(rule.id, ())) >= (size := self._size(rule))
            and len(asked := self._asked(connection, rule)) >= size
            and not still_awaited(connection, asked)
        ]

    def _size(self, rule: TrackedRule) -> int:
        """Return how many URLs a rule's trial has."""
        return REHABILITATION + self._longer[rule.id]

    def _asked(self, connection: Connection, rule: TrackedRule) -> list[int]:
        """Return what was released for a rule, without what another rule holds meanwhile.

        That does not answer: others are released in its place.
        """
        asked = self._released.setdefault(rule.id, [])
        again = held_again(connection, asked)
        if again:
            asked[:] = [row for row in asked if row not in again]
        return asked

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
            self._planned.clear()
            self._exhausted.clear()
        released: list[int] = []
        for rule in rules:
            if rule.state != "suspended":
                if self._released:
                    self._released.pop(rule.id, None)
                    self._planned.pop(rule.id, None)
                    self._longer.pop(rule.id, None)
                    self._exhausted.discard(rule.id)
                continue
            asked = self._asked(connection, rule)
            size = self._size(rule)
            if rule.id in self._exhausted or len(asked) >= size:
                continue
            answered = max(rule.trial_agree, len(asked) - still_awaited(connection, asked))
            wanted = min(_AT_ONCE + answered, size) - len(asked)
            if wanted <= 0:
                continue
            chosen = self._next(connection, rule, in_force, wanted)
            asked += release(connection, chosen)
            released += chosen
        return released

    def _next(
        self, connection: Connection, rule: TrackedRule, in_force: RulesInForce, wanted: int
    ) -> list[int]:
        """Return so many of the rows that a rule holds, from all over the host.

        To look at what it holds takes long. So all of its trial are chosen at once.
        """
        planned = self._planned.get(rule.id)
        if not planned:
            rows = _held_by(connection, rule, in_force)
            planned = rows[:: max(1, len(rows) // REHABILITATION)][:REHABILITATION]
            planned = [*planned[::_APART], *(row for n, row in enumerate(planned) if n % _APART)]
        chosen, self._planned[rule.id] = planned[:wanted], planned[wanted:]
        if not chosen:
            self._exhausted.add(rule.id)
        return chosen


def _held_by(connection: Connection, rule: TrackedRule, in_force: RulesInForce) -> list[int]:
    """Return the rows of the latest URLs that a rule holds."""
    history.index(connection)
    held = held_on(connection, in_force.hosts_of(connection, rule.rewrite))
    return [one.row for one in islice(held_by(rule, held, in_force), _LOOKED_AT)]
