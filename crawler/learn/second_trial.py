"""The second trial: what a suspended rule holds is asked, a few URLs at a time.

Where a site changes after its last link was found, nothing is predicted any more; so the rule would
keep what it holds for ever, pages of their own among it.
"""

from collections.abc import Iterable
from itertools import islice

from sqlalchemy import Connection

from canonry.canon import Canonicalizer
from canonry.canon.learned import act
from canonry.canon.syntax import Parts
from canonry.crawler.learn.in_force import RulesInForce
from canonry.crawler.learn.life.lifecycle import REHABILITATION
from canonry.storage.learned import history
from canonry.storage.learned.classes import held_on, release
from canonry.storage.learned.tracked_rule import TrackedRule

_AT_ONCE = 5
_LOOKED_AT = 2_000  # held URLs of the rule's host


class SecondTrials:
    """The suspended rules of a crawl, with the number of URLs that were released for each."""

    def __init__(self) -> None:
        """Start without any."""
        self._released: dict[str, int] = {}

    def clear(self) -> None:
        """Forget what was released, as after a transaction that was rolled back."""
        self._released.clear()

    def release(
        self,
        connection: Connection,
        changed: Iterable[TrackedRule],
        in_force: RulesInForce,
        canonicalizer: Canonicalizer,
    ) -> list[int]:
        """Release some of what suspended rules hold; return the rows, to be asked soon.

        At first these are five URLs; then one more for each that agrees, until they are enough to
        make the rule active again.

        Args:
            connection: in a writing transaction.
            changed: rules with new evidence or a new state.
            in_force: the rules that are in force now.
            canonicalizer: makes identities, without learned rules.
        """
        released: list[int] = []
        for rule in changed:
            if rule.state != "suspended":
                self._released.pop(rule.id, None)
                continue
            before = self._released.get(rule.id, 0)
            wanted = min(_AT_ONCE + rule.trial_agree, REHABILITATION) - before
            if wanted <= 0:
                continue
            rows = _held_by(connection, rule, in_force, canonicalizer)
            chosen = rows[:: max(1, len(rows) // wanted)][:wanted]  # from all over the host
            released += release(connection, chosen)
            self._released[rule.id] = before + len(chosen)
        return released


def _held_by(
    connection: Connection,
    rule: TrackedRule,
    in_force: RulesInForce,
    canonicalizer: Canonicalizer,
) -> list[int]:
    """Return the rows of held URLs that a rule changes."""
    history.index(connection)
    held = held_on(connection, in_force.hosts_of(connection, rule.rewrite))
    found = []
    for row, url in islice(held, _LOOKED_AT):
        parts = Parts.of(canonicalizer.identity(url))
        if act(rule.rewrite, parts) is not parts:
            found.append(row)
    return found
